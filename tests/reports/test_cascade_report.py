"""A cascade on the report: what went on, who decided, what it cost."""

from __future__ import annotations

import pytest
from answers import answer, changed
from pages import unfolded

from ragassay.evaluators.registry import group_asked_verdicts
from ragassay.metrics.stats.joint_judgments import summarize_cascade
from ragassay.metrics.stats.summary import summarize
from ragassay.records import (
    AnswerSentence,
    Escalation,
    Evaluation,
    Failure,
    FileFingerprint,
    Judgment,
    Manifest,
    PanelJudge,
    SentenceLabel,
    Summary,
    Usage,
)
from ragassay.reports.display import describe_escalation
from ragassay.reports.html import render_html
from ragassay.reports.markdown import render_markdown
from ragassay.reports.panel_view import describe_cascade, format_usd, view_cascade

HOSTILE = "<script>alert('x')</script> | **bold**"
ONE = AnswerSentence(index=1, text="x", start=0, end=1)


def rated(rating: int, **more: object) -> Judgment:
    given = {"rubric": "cohesion", "rating": rating, "score": float(rating)}
    return Judgment.model_validate(given | more)


@pytest.fixture
def evaluations() -> list[Evaluation]:
    """One rating that stayed, one that was decided, one that came back, and a label that stayed."""
    usage = Usage(n_calls=1, n_prompt_tokens=1000, n_completion_tokens=50, cost_usd=0.0012)
    sent = Escalation(judge="b", usage=usage)
    lost = Escalation(judge="b", failure=Failure(reason="timeout", detail=HOSTILE))
    decided = rated(5, escalation=sent, escalated_from=rated(2), rationale=HOSTILE)
    judgments = (rated(4), decided, rated(3, escalation=lost))
    found = [answer(f"r{n}", judgments=(j,)) for n, j in enumerate(judgments)]
    label = SentenceLabel(sentence=1, label="required")
    return [changed(e, sentences=(ONE,), labels=(label,)) for e in found]


def summary_of(evaluations: list[Evaluation]) -> Summary:
    found = summarize(evaluations, len(evaluations), 0, 0)
    cascade = summarize_cascade(group_asked_verdicts(evaluations), "a", "b", "entropy>1")
    return found.model_copy(update={"cascade": cascade})


@pytest.fixture
def manifest() -> Manifest:
    fingerprint = FileFingerprint(name="answers.jsonl", sha256="0" * 64, n_items=3)
    return Manifest(ragassay="0", judge="a", second=PanelJudge(judge="b"), answers=fingerprint)


def test_the_cascade_in_words(evaluations):
    split, back, spent = describe_cascade(summary_of(evaluations).cascade)
    # Three ratings and three labels; one rating and all labels stayed.
    assert split.replace("\N{NO-BREAK SPACE}", " ") == (
        "Of 6 questions, a decided 4 (67 %). 2 were sent to b (entropy>1)."
    )
    assert back == (
        "For 1 of these questions, the second judge failed, and the first judge's verdict is kept."
    )
    # .0012 for the one call, times three ratings; labels have no price.
    assert spent == (
        "Cost of the second judge: 1 call, 1,000 tokens sent and 50 received, 0.0012 USD. Sending "
        "every question to the second judge would cost about 0.0036 USD (an estimate, without "
        "sentence labels, which the second judge never judged)."
    )


def test_a_price_that_is_not_listed_is_unknown_and_never_nothing(evaluations):
    unknown = Escalation(judge="b", usage=Usage(n_calls=1, n_prompt_tokens=10, cost_usd=None))
    told = evaluations[1].judgments[0].model_copy(update={"escalation": unknown})
    found = summary_of([changed(evaluations[1], judgments=(told,))]).cascade
    spent = describe_cascade(found)[-1]
    assert "judge is unknown, because the price of the second judge is not listed" in spent
    assert next(view_cascade(found).sheet.shown)[-1].text == "unknown"
    assert "0.0000" not in spent


def test_where_nothing_went_on_that_is_said(evaluations):
    lines = describe_cascade(summary_of(evaluations[:1]).cascade)
    assert "0 were sent to b" in lines[0]
    assert lines[1].endswith("is unknown, because the second judge decided nothing.")
    assert describe_cascade(summary_of([]).cascade) == (
        "No questions were asked, so none were sent to b.",
    )
    assert view_cascade(None) is None


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (None, "price unknown"),
        (0.0, "0.0000 USD"),
        (0.00004, "less than 0.0001 USD"),
        (12.5, "12.5000 USD"),
    ],
)
def test_prices_in_words(cost, text):
    assert format_usd(cost) == text


def test_a_verdict_says_who_decided_and_what_had_been_said(evaluations):
    texts = [describe_escalation(e.judgments[0]) for e in evaluations]
    assert texts == ["", "decided by b, first judge: 2.00", "b returned no verdict (time-out)"]
    decided = {"label": "required", "escalation": Escalation(judge="b")}
    lost = SentenceLabel(sentence=1, failure=Failure(reason="refused"))
    label = SentenceLabel(sentence=1, escalated_from=lost, **decided)
    assert describe_escalation(label) == "decided by b, first judge: unscored (refused)"
    borderline = label.model_copy(update={"escalated_from": label})
    assert describe_escalation(borderline).endswith("first judge: required")


def test_markdown_shows_the_cascade_and_keeps_its_tables(manifest, evaluations):
    text = render_markdown(manifest, summary_of(evaluations), evaluations)
    assert "## Cascade\n" in text
    row = "| Rubric ratings | 3 | 1 (33 %) | **1** | 1 | 1,050 | 0.0012 USD | 0.0036"
    assert row in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "| Sentence labels | 3 |" in text
    assert "decided by b, first judge: 2.00" in text
    assert "Uncertain cases were decided by **b**" in text
    assert "| Second judge | b |" in text
    assert HOSTILE not in text


def test_the_page_shows_the_cascade_and_escapes_what_its_judges_wrote(manifest, evaluations):
    page = unfolded(render_html(manifest, summary_of(evaluations), evaluations))
    assert "<summary>Cascade <small>two judges</small></summary>" in page
    assert "decided by b, first judge: 2.00" in page
    assert "b returned no verdict (time-out)" in page
    assert HOSTILE not in page


def test_without_a_cascade_nothing_is_said_of_one(manifest, evaluations):
    alone = manifest.model_copy(update={"second": None})
    single = evaluations[:1]
    summary = summarize(single, 1, 0, 0)
    for text in (render_html(alone, summary, single), render_markdown(alone, summary, single)):
        assert "cascade" not in text.lower()
        assert "econd judge" not in text

"""A panel and a cascade of judges on the report: who said what, who decided, what it cost."""

from __future__ import annotations

import pytest
from answers import answer, changed
from pages import unfolded

from ragassay.evaluators.registry import group_asked_verdicts
from ragassay.metrics.stats.joint_judgments import merge_judgments, summarize_cascade
from ragassay.metrics.stats.panel_agreement import estimate_effective_judges
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
    PanelPair,
    Score,
    SentenceLabel,
    Summary,
    Usage,
)
from ragassay.reports.display import describe_escalation
from ragassay.reports.findings_view import view_open
from ragassay.reports.html import render_html
from ragassay.reports.markdown import render_markdown
from ragassay.reports.panel_view import (
    describe_cascade,
    describe_panel,
    describe_redundancy,
    format_usd,
    view_cascade,
    view_members,
    view_panel,
)

HOSTILE = "<script>alert('x')</script> | **bold**"


def said(judge: str, rating: int | None, first: Judgment | None = None, **more: object) -> Judgment:
    failure = Failure(reason="timeout", detail=HOSTILE) if rating is None else None
    score = None if rating is None else float(rating)
    given = {"rating": rating, "score": score, "failure": failure, "first": first}
    return Judgment.model_validate({"rubric": "cohesion", "judge": judge, **given, **more})


@pytest.fixture
def evaluations() -> list[Evaluation]:
    """A dispute that was settled, one rating that could not be had, and one agreement."""
    moved = said("openai/b", 4, said("openai/b", 2), sentences=(1, 3), rationale=HOSTILE)
    panels = (
        [said("openai/a", 5, said("openai/a", 5), rationale="It flows."), moved],
        [said("openai/a", 3, rationale="So so."), said("openai/b", None)],
        [said("openai/a", 4), said("openai/b", 4)],
    )
    merged = [(merge_judgments(members),) for members in panels]
    return [answer(f"r{n}", f"t{n}", judgments=each) for n, each in enumerate(merged)]


@pytest.fixture
def manifest() -> Manifest:
    fingerprint = FileFingerprint(name="answers.jsonl", sha256="0" * 64, n_items=3)
    members = (PanelJudge(judge="openai/b"),)
    return Manifest(ragassay="0", judge="openai/a", panel=members, answers=fingerprint)


def test_a_member_is_shown_with_what_it_said_before_and_where_it_points(evaluations):
    one, other = view_members(evaluations[0].judgments[0])
    assert one.line == "openai/a 5.00 (5.00 before the discussion): It flows."
    assert (other.text, other.before) == ("4.00", "2.00 before the discussion")
    assert other.sentences == ", sentences 1, 3"
    lost = view_members(evaluations[1].judgments[0])[1]
    assert (lost.text, lost.detail) == ("unscored (time-out)", HOSTILE)
    assert view_members(Judgment(rubric="cohesion", rating=3, score=3.0)) == ()
    assert view_open(evaluations).unscored == ("1 rubric rating: time-out",)


def test_the_agreement_is_said_in_words(evaluations):
    summary = summarize(evaluations, 3, 0, 0)
    assert summary.panel is not None
    told = [line.replace("\N{NO-BREAK SPACE}", " ") for line in describe_panel(summary.panel)]
    alone, disputes, final, alike = told
    # Alone 5 and 2, 4 and 4: one of two judgments, as in the end (5 and 4, 4 and 4).
    assert alone.startswith("Without discussion, the judges gave the same rating in 50 %")
    assert "of 2 judgments; Krippendorff's alpha (ordinal) is -0.50" in alone
    assert disputes == (
        "In 1 judgment, two judges differed by 2 points or more and read each other's reasons "
        "once. They repeated 2 ratings and changed 1. This resolved 1 of 1 dispute."
    )
    assert final.startswith("After the discussion, the judges gave the same rating in 50 %")
    # Ratings that differ beyond chance count as unrelated, not as worth more than two judges.
    assert alike.endswith("the 2 judges are worth at least 2.0 independent judges.")


def test_judges_that_are_alike_are_named_with_what_the_second_adds():
    pair = PanelPair(first="openai/a", second="openai/b", alike=Score(value=0.9, n=20))
    count, named = describe_redundancy([pair], estimate_effective_judges([pair]))
    assert "worth at least 1.1 independent judges" in count  # 2 / (1 + .9)
    assert named.startswith("openai/a and openai/b agree so often (alpha 0.90)")
    of_errors = pair.model_copy(update={"is_of_errors": True})
    count, named = describe_redundancy([of_errors], estimate_effective_judges([of_errors]))
    assert "worth 1.1 independent judges" in count and "their errors" in count
    assert named.startswith("openai/a and openai/b make similar errors (correlation 0.90)")
    for value, n_lines in ((0.79, 1), (0.8, 2), (-0.5, 1), (None, 0)):
        other = [pair.model_copy(update={"alike": Score(value=value, n=20)})]
        assert len(describe_redundancy(other, estimate_effective_judges(other))) == n_lines, value


def test_where_nobody_differs_that_is_all_that_is_said(evaluations):
    found = summarize(evaluations[2:], 1, 0, 0).panel
    assert found is not None
    assert describe_panel(found)[1] == "No two judges differed by two points or more."
    assert "undefined" in describe_panel(found)[0], "one equal pair has no alpha"
    only_lost = summarize(evaluations[1:2], 1, 0, 0).panel
    assert only_lost is not None
    assert "no judgment has two ratings" in describe_panel(only_lost)[0]


def test_the_page_shows_the_panel_and_escapes_what_its_judges_wrote(manifest, evaluations):
    page = unfolded(render_html(manifest, summarize(evaluations, 3, 0, 0), evaluations))
    assert "<summary>Panel <small>2 judges</small></summary>" in page
    assert "Rubrics were also rated by <b>openai/b</b>" in page
    assert "Reasons for the ratings" in page
    assert "2.00 before the discussion" in page
    assert "judges: 5.00, 4.00" in page
    assert HOSTILE not in page and "&lt;script&gt;alert" in page


def test_markdown_shows_the_panel_and_keeps_its_tables(manifest, evaluations):
    text = render_markdown(manifest, summarize(evaluations, 3, 0, 0), evaluations)
    assert "## Panel\n" in text
    assert "openai/b 4.00 (2.00 before the discussion), sentences 1, 3: " in text
    assert "| openai/b | **4.00** |" in text
    assert "1 (1 changed)" in text
    assert HOSTILE not in text
    assert "| Additional rubric judge | openai/b |" in text


def test_without_a_panel_nothing_is_said_of_one(manifest):
    single = [answer("r", judgments=(Judgment(rubric="cohesion", rating=3, score=3.0),))]
    summary, alone = summarize(single, 1, 0, 0), manifest.model_copy(update={"panel": ()})
    assert view_panel(summary.panel) is None
    for text in (render_html(alone, summary, single), render_markdown(alone, summary, single)):
        assert "panel" not in text.lower().replace("panels", "")
        assert "judges:" not in text


ONE = AnswerSentence(index=1, text="x", start=0, end=1)


def rated(rating: int, **more: object) -> Judgment:
    given = {"rubric": "cohesion", "rating": rating, "score": float(rating)}
    return Judgment.model_validate(given | more)


@pytest.fixture
def cascaded() -> list[Evaluation]:
    """One rating that stayed, one that was decided, one that came back, and a label that stayed."""
    usage = Usage(n_calls=1, n_prompt_tokens=1000, n_completion_tokens=50, cost_usd=0.0012)
    sent = Escalation(judge="b", usage=usage)
    lost = Escalation(judge="b", failure=Failure(reason="timeout", detail=HOSTILE))
    decided = rated(5, escalation=sent, escalated_from=rated(2), rationale=HOSTILE)
    judgments = (rated(4), decided, rated(3, escalation=lost))
    found = [answer(f"r{n}", judgments=(j,)) for n, j in enumerate(judgments)]
    label = SentenceLabel(sentence=1, label="required")
    return [changed(e, sentences=(ONE,), labels=(label,)) for e in found]


def summary_of(cascaded: list[Evaluation]) -> Summary:
    found = summarize(cascaded, len(cascaded), 0, 0)
    cascade = summarize_cascade(group_asked_verdicts(cascaded), "a", "b", "entropy>1")
    return found.model_copy(update={"cascade": cascade})


@pytest.fixture
def cascade_manifest(manifest: Manifest) -> Manifest:
    return manifest.model_copy(update={"judge": "a", "panel": (), "second": PanelJudge(judge="b")})


def test_the_cascade_in_words(cascaded):
    split, back, spent = describe_cascade(summary_of(cascaded).cascade)
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


def test_a_price_that_is_not_listed_is_unknown_and_never_nothing(cascaded):
    unknown = Escalation(judge="b", usage=Usage(n_calls=1, n_prompt_tokens=10, cost_usd=None))
    told = cascaded[1].judgments[0].model_copy(update={"escalation": unknown})
    found = summary_of([changed(cascaded[1], judgments=(told,))]).cascade
    spent = describe_cascade(found)[-1]
    assert "judge is unknown, because the price of the second judge is not listed" in spent
    assert next(view_cascade(found).sheet.shown)[-1].text == "unknown"
    assert "0.0000" not in spent


def test_where_nothing_went_on_that_is_said(cascaded):
    lines = describe_cascade(summary_of(cascaded[:1]).cascade)
    assert "0 were sent to b" in lines[0]
    assert lines[1].endswith("is unknown, because the second judge decided nothing.")
    (line,) = describe_cascade(summary_of([]).cascade)
    assert line == "No questions were asked, so none were sent to b."
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


def test_a_verdict_says_who_decided_and_what_had_been_said(cascaded):
    texts = [describe_escalation(e.judgments[0]) for e in cascaded]
    assert texts == ["", "decided by b, first judge: 2.00", "b returned no verdict (time-out)"]
    decided = {"label": "required", "escalation": Escalation(judge="b")}
    lost = SentenceLabel(sentence=1, failure=Failure(reason="refused"))
    label = SentenceLabel(sentence=1, escalated_from=lost, **decided)
    assert describe_escalation(label) == "decided by b, first judge: unscored (refused)"
    borderline = label.model_copy(update={"escalated_from": label})
    assert describe_escalation(borderline).endswith("first judge: required")


def test_markdown_shows_the_cascade_and_keeps_its_tables(cascade_manifest, cascaded):
    text = render_markdown(cascade_manifest, summary_of(cascaded), cascaded)
    assert "## Cascade\n" in text
    row = "| Rubric ratings | 3 | 1 (33 %) | **1** | 1 | 1,050 | 0.0012 USD | 0.0036"
    assert row in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "| Sentence labels | 3 |" in text
    assert "decided by b, first judge: 2.00" in text
    assert "Uncertain cases were decided by **b**" in text
    assert "| Second judge | b |" in text
    assert HOSTILE not in text


def test_the_page_shows_the_cascade_and_escapes_what_its_judges_wrote(cascade_manifest, cascaded):
    page = unfolded(render_html(cascade_manifest, summary_of(cascaded), cascaded))
    assert "<summary>Cascade <small>two judges</small></summary>" in page
    assert "decided by b, first judge: 2.00" in page
    assert "b returned no verdict (time-out)" in page
    assert HOSTILE not in page


def test_without_a_cascade_nothing_is_said_of_one(cascade_manifest, cascaded):
    alone = cascade_manifest.model_copy(update={"second": None})
    single = cascaded[:1]
    summary = summarize(single, 1, 0, 0)
    for text in (render_html(alone, summary, single), render_markdown(alone, summary, single)):
        assert "cascade" not in text.lower()
        assert "econd judge" not in text

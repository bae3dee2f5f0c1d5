"""A panel of judges on the report: what each said, and how far they agree."""

from __future__ import annotations

import pytest
from answers import answer
from pages import unfolded

from ragassay.metrics.stats.joint_judgments import merge_judgments
from ragassay.metrics.stats.panel_agreement import estimate_effective_judges
from ragassay.metrics.stats.summary import summarize
from ragassay.records import (
    Evaluation,
    Failure,
    FileFingerprint,
    Judgment,
    Manifest,
    PanelJudge,
    PanelPair,
    Score,
)
from ragassay.reports.findings_view import view_open
from ragassay.reports.html import render_html
from ragassay.reports.markdown import render_markdown
from ragassay.reports.panel_view import (
    describe_panel,
    describe_redundancy,
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
    return [
        answer(f"r{n}", f"t{n}", judgments=(merge_judgments(members),))
        for n, members in enumerate(panels)
    ]


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

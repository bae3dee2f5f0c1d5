"""What was measured of an answer, on the report."""

from __future__ import annotations

from answers import answer
from pages import unfolded

from ragassay.metrics.stats.summary import summarize
from ragassay.records import FileFingerprint, Judgment, Manifest, Signals, SourceGap
from ragassay.reports.html import render_html
from ragassay.reports.markdown import render_markdown
from ragassay.reports.provenance import UNKNOWN_JUDGE, build_provenance_sheet, view_judges

HOSTILE = "<script>alert('x')</script> | **bold**"
GAP = SourceGap(document="999", text=HOSTILE, nearness=0.213)
RATED = Judgment(rubric="relevancy", rating=2, score=1.9, rationale="Sentence 3.", sentences=(3,))
MANIFEST = Manifest(
    ragassay="1",
    judge="ragassay/smollm2-135m",
    rater="ragassay/unheard-of",
    rater_digest="abc",
    answers=FileFingerprint(name="a.jsonl", sha256="0", n_items=1),
)


def render_signals(render, *, signals: Signals | None) -> str:
    evaluations = [answer("r1", judgments=(RATED,), signals=signals)]
    text = render(MANIFEST, summarize(evaluations, 1, 0, 0), evaluations, [], [])
    return unfolded(text) if render is render_html else text


def test_what_the_answer_hardly_covers_is_shown_escaped():
    page = render_signals(render_html, signals=Signals(gaps=(GAP,)))
    assert "Relevant source sentences that the answer barely covers: 1" in page
    assert "similarity to the closest answer sentence: 0.21" in page
    assert "<script>alert" not in page
    text = render_signals(render_markdown, signals=Signals(gaps=(GAP,)))
    assert "**Source sentence barely covered by the answer:**" in text and "| **bold**" not in text


def test_nothing_is_said_of_gaps_where_there_are_none():
    assert "Hardly covered" not in render_signals(render_html, signals=None)
    assert "Hardly covered" not in render_signals(render_markdown, signals=Signals())


def test_a_rating_shows_the_sentences_that_it_points_to():
    assert "sentence 3" in render_signals(render_html, signals=None)
    assert "sentence 3" in render_signals(render_markdown, signals=None)


def test_what_rates_in_the_judges_place_is_named_with_what_is_known_of_it():
    judge, rater = view_judges(MANIFEST)
    assert (judge.role, rater.role, rater.model) == ("Judged", "Rubrics were rated", MANIFEST.rater)
    assert rater.warning == UNKNOWN_JUDGE
    sheet = build_provenance_sheet(MANIFEST, summarize([], 0, 0, 0).usage)
    rows = {name.text: value.text for name, value in sheet.shown}
    assert rows["Rubric rater"] == MANIFEST.rater
    assert rows["Rater, SHA-256"] == "abc"
    alone = MANIFEST.model_copy(update={"rater": "", "rater_digest": ""})
    assert len(view_judges(alone)) == 1

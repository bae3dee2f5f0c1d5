"""Scores averaged over answers, over questions and over verdicts, in every report."""

from __future__ import annotations

import pytest

from ragassay.records import Score
from ragassay.reports.html import render_html
from ragassay.reports.markdown import render_markdown
from ragassay.reports.run_sheets import build_averages_sheet


@pytest.fixture
def summary(run):
    shares = {key: s for key, s in run.summary.scores.items() if s.scale == (0.0, 1.0)}
    return run.summary.model_copy(
        update={
            "by_question": {
                key: s.model_copy(update={"value": 0.123}) for key, s in run.summary.scores.items()
            },
            "pooled": shares | {"nuggets.recall": Score(value=0.456, n=9)},
        }
    )


def test_each_score_has_three_averages_and_a_rating_two(summary):
    rows = {title.text: cells for title, *cells in build_averages_sheet(summary).shown}
    shown = [cell.text for cell in rows["Nugget recall"]]
    assert shown == ["50\u00a0%", "12\u00a0%", "46\u00a0%"]
    assert rows["Cohesion"][-1].text == "n/a"


def test_reports_say_which_average_is_which(run, summary):
    page = render_html(run.manifest, summary, run.evaluations)
    text = render_markdown(run.manifest, summary, run.evaluations)
    for report in (page, text):
        assert "Over questions" in report
        assert "means over answers" in report
        assert "46\u00a0%" in report
    assert (
        "| Cohesion | **3.40** \\[2.90\u20133.90\\] | **0.12** \\[2.90\u20133.90\\] | n/a |" in text
    )


def test_runs_of_earlier_versions_show_what_they_have(run):
    assert build_averages_sheet(run.summary).rows == ()
    assert "Over questions" not in render_html(*run)
    assert "Over questions" not in render_markdown(*run)

"""Tables of how sure a judge is of itself: distributions, and what a repetition changes."""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.metrics.papers.answer_scores import LIKERT
from ragassay.records import RepeatFigure, Repeats
from ragassay.reports.display import format_interval, format_value, score_text
from ragassay.reports.sheets import (
    Column,
    Sheet,
    Shown,
    none_text,
    number,
    score_cell,
    score_cells,
    score_columns,
)
from ragassay.reports.text import count_text, join_words, question_title

NOTHING_REPEATED = (
    "No model was asked: instruments give the same verdict every time, so nothing was asked twice."
)


def repeats_text(repeats: Repeats) -> str:
    """Say in a line how often the judge contradicts itself."""
    if not repeats.figures:
        return NOTHING_REPEATED
    known = [figure for figure in repeats.figures if figure.changed.value is not None]
    parts = [
        f"{score_text(one.changed)} [{format_interval(one.changed)}] of {_in_sentence(one)}"
        for one in known
    ]
    if not parts:
        return f"Of what was judged {repeats.n_times} times, nothing has a verdict each time."
    return f"Judged {repeats.n_times} times, verdicts changed in {join_words(parts)}."


def confidence_text(counts: Mapping[str, int]) -> str:
    """Say where the distributions over ratings and labels come from; "" where no model was asked.

    Args:
        counts: Number of verdicts by source, from `Summary.confidence_from`.

    Example:
        >>> confidence_text({"5 samples": 9})
        'Ratings and labels rest on 5 samples (9 verdicts).'
    """
    if not counts:
        return ""
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    parts = [f"{source} ({count_text(n, 'verdict')})" for source, n in ranked]
    return f"Ratings and labels rest on {join_words(parts)}."


def _in_sentence(figure: RepeatFigure) -> str:
    title = figure_title(figure)
    return title[:1].lower() + title[1:]


def figure_title(figure: RepeatFigure) -> str:
    """Return the title of a kind of question, with the panel's judge if there is one."""
    title = question_title(figure.kind)
    return f"{title} by {figure.judge}" if figure.judge else title


def repeats_sheet(repeats: Repeats) -> Sheet:
    """Return the table of a judge measured against itself, a row for each kind of question."""
    columns = (
        *(Column("kind", "Question"), Column("judge"), number("n_times")),
        *(number("changed", "Verdicts that changed"), number("", "95 % interval")),
        *score_columns("changed", "", "Compared", "Lacking a verdict")[1:],
        number("mean_spread", "Mean spread of scores"),
    )
    rows = tuple(
        (
            *(figure_title(one), one.judge, repeats.n_times),
            *(score_cell(one.changed, has_interval=False), format_interval(one.changed)),
            *score_cells(one.changed)[1:6],
            Shown(none_text(one.changed.n_unscored), one.changed.n_unscored),
            Shown(format_value(one.mean_spread, LIKERT), one.mean_spread),
        )
        for one in repeats.figures
    )
    return Sheet("The judge against itself", columns, rows, caption=repeats_text(repeats))

"""View of how sure a judge is of itself: where its distributions come from, what changes again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragassay.records import RepeatFigure, Repeats
from ragassay.reports.text import (
    count_text,
    format_interval,
    join_words,
    question_title,
    score_text,
)

NOTHING_REPEATED = (
    "No model was asked: instruments give the same verdict every time, so nothing was asked twice."
)
REPEAT_COLUMNS = (
    "Question",
    "Verdicts that changed",
    "95 % interval",
    "Compared",
    "Lacking a verdict",
    "Mean spread of scores",
)


@dataclass(frozen=True, slots=True)
class RepeatRow:
    """One kind of question, judged several times."""

    title: str
    changed: str
    interval: str
    n: int
    n_unscored: int
    spread: str


@dataclass(frozen=True, slots=True)
class RepeatsView:
    """The changes between repetitions: a sentence, and a row for each kind of question."""

    line: str
    rows: tuple[RepeatRow, ...]


def view_repeats(repeats: Repeats | None) -> RepeatsView | None:
    """Return the view of a judge measured against itself; None where it was not."""
    if repeats is None:
        return None
    return RepeatsView(repeats_text(repeats), tuple(map(_row, repeats.figures)))


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


def _row(figure: RepeatFigure) -> RepeatRow:
    return RepeatRow(
        title=figure_title(figure),
        changed=score_text(figure.changed),
        interval=format_interval(figure.changed),
        n=figure.changed.n,
        n_unscored=figure.changed.n_unscored,
        spread="n/a" if figure.mean_spread is None else f"{figure.mean_spread:.2f}",
    )

"""Tables for the terminal; they fit 80 columns.

Untrusted text is shown as text, never as Rich markup, and without control characters.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragassay.records import Outlined, Score, Summary
from ragassay.reports.cost_view import view_costs
from ragassay.reports.labels import is_serious, one_line
from ragassay.reports.report_view import view_systems
from ragassay.reports.text import (
    NBSP,
    RUBRIC_MEAN,
    format_bounds,
    format_interval,
    group_title,
    is_number,
    rubric_mean,
    rubric_mean_text,
    score_direction,
    score_group,
    score_text,
    score_title,
)

if TYPE_CHECKING:
    from rich.containers import Lines
    from rich.table import Table
    from rich.text import Text

_HELD = "\ue000"
"""Of private use: in place of a no-break space while a line is wrapped."""

ANSWER_SCORES = ("nuggets.recall", "citations.support", "correctness.score")
"""Scores in the table of answers."""


def score_table(summary: Summary) -> Table:
    """Return the scores of a run: title, mean over answers, 95 % interval, n, unscored.

    With unscored verdicts, the worst and the best case stand below their number.
    """
    table = plain_table(
        "Scores, means over answers", ("Score",), ("Mean", "95 % interval", "n", "Unscored")
    )
    group = None
    for key, score in summary.scores.items():
        if score_group(key) != group:
            if group is not None:
                table.add_section()
            group = score_group(key)
        title = cell_text(score_title(key, score.judge))
        if score_direction(key) == "lower":
            title.append(" (lower better)", style="dim")
        unscored = cell_text(str(score.n_unscored) if score.n_unscored else "none")
        if bounds := format_bounds(score):
            unscored.append(f"\n{bounds.replace(', ', chr(10))}", style="dim")
        value = value_text(score_text(score), is_number(score.value))
        table.add_row(title, value, cell_text(format_interval(score)), str(score.n), unscored)
    table.caption = _captions(summary)
    return table


def system_table(summary: Summary) -> Table:
    """Return systems in rows, the main scores in columns; no row if no record names a system."""
    systems = view_systems(summary.systems)
    columns = systems.columns if systems.rows else (RUBRIC_MEAN,)
    table = plain_table("Systems", ("System",), ("Answers", *columns))
    for row in systems.rows:
        cells = [value_text(cell.value, cell.scored) for cell in row.cells]
        table.add_row(cell_text(row.name), str(row.n), *cells)
    return table


def answer_table(evaluations: Sequence[Outlined]) -> Table:
    """Return one row for each answer, in the given order; a score only if some answer has it.

    A serious finding makes the number of findings bold and red.
    """
    keys = {key for evaluation in evaluations for key in evaluation.scores}
    rubrics = [RUBRIC_MEAN] if any(score_group(key) == "rubric" for key in keys) else []
    shares = [key for key in ANSWER_SCORES if key in keys]
    numbers = (*rubrics, *map(score_title, shares), "Findings")
    table = plain_table("Answers", ("Answer", "System"), numbers)
    for evaluation in evaluations:
        scores = evaluation.scores
        serious = any(is_serious(finding.kind) for finding in evaluation.heads)
        mean = rubric_mean(scores)
        rated = value_text(rubric_mean_text(scores), mean is not None and is_number(mean.value))
        table.add_row(
            cell_text(evaluation.record_id),
            cell_text(evaluation.system or "not named"),
            *(rated for _ in rubrics),
            *(_score_cell(scores.get(key)) for key in shares),
            cell_text(str(len(evaluation.heads)), "bold red" if serious else ""),
        )
    return table


def cost_table(summary: Summary) -> Table | None:
    """Return the bill by part; None where one part has cost all, or nothing cost anything."""
    rows = view_costs(summary)
    if len(rows) < 3 or summary.usage.cost_usd == 0:
        return None
    table = plain_table("What it cost", ("Part",), ("Calls", "Sent", "Cached", "Received", "USD"))
    for row in rows:
        counts = (row.n_calls, row.n_sent, row.n_cached, row.n_received)
        table.add_row(cell_text(row.title), *(f"{count:,}" for count in counts), row.usd)
    table.caption = cell_text("Tokens sent, read from a cache, received.", "dim")
    return table


def _score_cell(score: Score | None) -> Text:
    return value_text(score_text(score), score is not None and is_number(score.value))


def plain_table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """Return an empty table: columns of words flush left, then columns of numbers flush right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", overflow="fold")
    return table


def cell_text(text: str, style: str = "") -> Text:
    """Return untrusted text as a cell."""
    return _unbroken_text()(one_line(text), style=style)


@functools.cache
def _unbroken_text() -> type[Text]:
    """Return text that is not wrapped at no-break spaces, at which rich wraps."""
    from rich.text import Text

    class UnbrokenText(Text):
        def wrap(self, *arguments: Any, **given: Any) -> Lines:
            held = self.copy()
            held.plain = held.plain.replace(NBSP, _HELD)
            lines = held.wrap(*arguments, **given)
            for line in lines:
                line.plain = line.plain.replace(_HELD, NBSP)
            return lines

    return UnbrokenText


def value_text(text: str, scored: bool) -> Text:
    """Return a value as a cell in bold; a missing one faint."""
    return cell_text(text, "bold" if scored else "dim italic")


def _captions(summary: Summary) -> Text | None:
    judges: dict[str, list[str]] = {}
    for key, score in summary.scores.items():
        groups = judges.setdefault(score.judge, [])
        if score.judge and group_title(score_group(key)) not in groups:
            groups.append(group_title(score_group(key)))
    lines = [f"{', '.join(groups)}: judged by {judge}" for judge, groups in judges.items() if judge]
    return cell_text("; ".join(lines)) if lines else None

"""Tables for the terminal; they read well at 80 columns.

Untrusted text goes in as text, never as Rich markup, and without control characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.records import Evaluation, Summary
from ragassay.reports.labels import is_serious, one_line
from ragassay.reports.report_view import view_systems
from ragassay.reports.text import (
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
    from rich.table import Table
    from rich.text import Text


def score_table(summary: Summary) -> Table:
    """The scores of a run: title, mean over answers, 95 % interval, n, unscored.

    Where something is unscored, the worst and the best case stand below its number.
    """
    table = _table("Scores", ("Score",), ("Mean", "95 % interval", "n", "Unscored"))
    group = None
    for key, score in summary.scores.items():
        if score_group(key) != group:
            if group is not None:
                table.add_section()
            group = score_group(key)
        title = _text(score_title(key))
        if score_direction(key) == "lower":
            title.append(" (lower better)", style="dim")
        unscored = _text(str(score.n_unscored) if score.n_unscored else "none")
        if score.n_unscored:
            unscored.append(f"\n{format_bounds(score).replace(', ', chr(10))}", style="dim")
        value = _value(score_text(score), is_number(score.value))
        table.add_row(title, value, _text(format_interval(score)), str(score.n), unscored)
    table.caption = _captions(summary)
    return table


def system_table(summary: Summary) -> Table:
    """Systems in rows, the main scores in columns; no row where no record names a system."""
    systems = view_systems(summary.systems)
    columns = systems.columns if systems.rows else (RUBRIC_MEAN,)
    table = _table("Systems", ("System",), ("Answers", *columns))
    for row in systems.rows:
        cells = [_value(cell.value, cell.scored) for cell in row.cells]
        table.add_row(_text(row.name), str(row.n), *cells)
    return table


def answer_table(evaluations: Sequence[Evaluation]) -> Table:
    """One row for each answer, in the given order.

    A serious finding makes the number of findings bold and red.
    """
    numbers = (RUBRIC_MEAN, "Nugget recall", "Citations support", "Findings")
    table = _table("Answers", ("Answer", "System"), numbers)
    for evaluation in evaluations:
        scores = evaluation.scores
        serious = any(is_serious(finding.kind) for finding in evaluation.findings)
        mean = rubric_mean(scores)
        shares = [scores.get(key) for key in ("nuggets.recall", "citations.support")]
        table.add_row(
            _text(evaluation.record_id),
            _text(evaluation.system or "not named"),
            _value(rubric_mean_text(scores), mean is not None and is_number(mean.value)),
            *(_value(score_text(s), s is not None and is_number(s.value)) for s in shares),
            _text(str(len(evaluation.findings)), "bold red" if serious else ""),
        )
    return table


def _table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", overflow="fold")
    return table


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(one_line(text), style=style)


def _value(text: str, scored: bool) -> Text:
    return _text(text, "bold" if scored else "dim italic")


def _captions(summary: Summary) -> Text | None:
    judges: dict[str, list[str]] = {}
    for key, score in summary.scores.items():
        groups = judges.setdefault(score.judge, [])
        if score.judge and group_title(score_group(key)) not in groups:
            groups.append(group_title(score_group(key)))
    lines = [f"{', '.join(groups)}: judged by {judge}" for judge, groups in judges.items() if judge]
    return _text("; ".join(lines)) if lines else None

"""The table of a judge measured against itself, for a terminal and as CSV."""

from __future__ import annotations

from ragassay.records import Repeats
from ragassay.reports.repeats_view import REPEAT_COLUMNS, figure_title, repeats_text
from ragassay.reports.sheets import Column, Sheet, number, score_cells, score_columns, sheet_csv


def repeats_sheet(repeats: Repeats) -> Sheet:
    """Return the table of a judge measured against itself."""
    columns = (
        Column("kind", REPEAT_COLUMNS[0]),
        Column("judge"),
        number("n_times"),
        *score_columns("changed", *REPEAT_COLUMNS[1:2], *REPEAT_COLUMNS[3:5]),
        number("mean_spread", REPEAT_COLUMNS[5]),
    )
    rows = tuple(
        (
            figure_title(figure),
            figure.judge,
            repeats.n_times,
            *score_cells(figure.changed),
            figure.mean_spread,
        )
        for figure in repeats.figures
    )
    return Sheet("The judge against itself", columns, rows, caption=repeats_text(repeats))


def repeats_csv(repeats: Repeats) -> str:
    """Return the table as CSV; its header alone where nothing was judged again."""
    return sheet_csv(repeats_sheet(repeats))

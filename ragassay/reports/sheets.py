"""A table of rows for the terminal, as CSV and as JSON: said once, shown three ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.records import Score
from ragassay.reports.labels import one_line
from ragassay.reports.tables import cell_text, plain_table
from ragassay.reports.tabular import Cell, csv_text
from ragassay.reports.text import NBSP, NOT_DEFINED

if TYPE_CHECKING:
    from rich.table import Table

SCORE_KEYS = ("", "_low", "_high", "_worst", "_best")


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        key: Its name in files.
        title: Its heading on the terminal; empty keeps it out of there.
        is_number: Whether it is flush right.
        n_most: Most characters of a cell on the terminal.
    """

    key: str
    title: str = ""
    is_number: bool = False
    n_most: int = 200


@dataclass(frozen=True)
class Sheet:
    """Rows with their columns.

    Attributes:
        title: Of the table.
        columns: In order.
        rows: Rows with one cell per column.
        caption: Below the table.
        is_whole: Whether all rows are shown, whatever the limit.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    is_whole: bool = False


def number(key: str, title: str = "") -> Column:
    """Return a column of numbers."""
    return Column(key, title, is_number=True)


def score_columns(
    key: str, title: str, n_title: str = "", unscored_title: str = ""
) -> tuple[Column, ...]:
    """Return the columns of a score; on the terminal those that have a title, in files all."""
    return (
        *(number(f"{key}{end}", title if not end else "") for end in SCORE_KEYS),
        *(number(f"{key}_n", n_title), number(f"{key}_n_unscored", unscored_title)),
    )


def score_cells(score: Score) -> tuple[Cell, ...]:
    """Return the cells of a score, as `score_columns` names them."""
    ends = (score.low, score.high, score.worst, score.best)
    return (score.value, *ends, score.n, score.n_unscored)


def sheet_table(sheet: Sheet, n_most: int | None = None) -> Table:
    """Return a sheet for the terminal.

    Args:
        sheet: The rows.
        n_most: Most rows; what is left out is said below. None shows all.
    """
    shown = [(i, column) for i, column in enumerate(sheet.columns) if column.title]
    table = plain_table("", (), ())
    table.title = cell_text(sheet.title)
    for _, column in shown:
        justify = "right" if column.is_number else "left"
        table.add_column(column.title, justify=justify, overflow="fold")
    n_most = None if sheet.is_whole else n_most
    for row in sheet.rows[:n_most]:
        table.add_row(*(cell_text(_shown_in(sheet, row, i, column)) for i, column in shown))
    captions = [sheet.caption] if sheet.caption else []
    if n_most is not None and len(sheet.rows) > n_most:
        captions.append(f"{n_most:,} of {len(sheet.rows):,} rows; --limit 0 shows all")
    table.caption = cell_text("; ".join(captions)) if captions else None
    table.caption_justify = "left"
    return table


def sheet_csv(sheet: Sheet) -> str:
    """Return a sheet as CSV, all columns and rows."""
    return csv_text([column.key for column in sheet.columns], sheet.rows)


def sheet_rows(sheet: Sheet) -> list[dict[str, Cell]]:
    """Return a sheet as objects, one a row."""
    keys = [column.key for column in sheet.columns]
    return [dict(zip(keys, row, strict=True)) for row in sheet.rows]


def joined(sheets: Sequence[Sheet], key: str) -> Sheet:
    """Return sheets of the same columns as one, with each sheet's title in front of its rows.

    Args:
        sheets: One or more.
        key: The name of the column of titles.
    """
    rows = tuple((sheet.title, *row) for sheet in sheets for row in sheet.rows)
    return Sheet("", (Column(key), *sheets[0].columns), rows)


def _shown_in(sheet: Sheet, row: Sequence[Cell], place: int, column: Column) -> str:
    """Return a cell as it is shown; of a score without a value its range, where that is known."""
    if row[place] is None:
        cells = dict(zip((one.key for one in sheet.columns), row, strict=True))
        ends = (cells.get(f"{column.key}{end}") for end in ("_worst", "_best"))
        known = sorted(end for end in ends if isinstance(end, float))
        if cells.get(f"{column.key}_n") and len(known) > 1:
            return f"{NBSP}to{NBSP}".join(f"{end:.3f}" for end in known)
    return shown_text(row[place], column)


def shown_text(cell: Cell, column: Column) -> str:
    """Return a cell as it is shown: in one line, cut at the column's width."""
    if cell is None:
        return NOT_DEFINED
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.3f}"
    text = one_line(str(cell))
    return text if len(text) <= column.n_most else f"{text[: column.n_most - 1]}…"

"""Tables of JATS as text: a row a line, cells separated by tabs."""

from __future__ import annotations

from lxml.etree import _Element as Element

from ragassay.formats.papers.jats_text import text_of

_ROWS = ("tr", "row")
_CELLS = frozenset({"td", "th", "entry"})
_MOST_SPANNED = 100
"""A cell that claims to span more is taken for one; hostile files claim millions."""

_MOST_COLUMNS = 500
"""Beyond, no column is left empty for a cell that spans it."""


def table_text(wrap: Element) -> str:
    """Return the rows of a table, or of the several tables in one frame.

    A cell over several columns or rows is told once, in the first; the others are empty.
    """
    lines: list[str] = []
    open_cells: dict[int, int] = {}
    for row in wrap.iter(*_ROWS):
        cells = _row_cells(row, open_cells)
        if any(cells):
            lines.append("\t".join(cells).rstrip("\t"))
    return "\n".join(lines)


def _row_cells(row: Element, open_cells: dict[int, int]) -> list[str]:
    """Return a row's cells; `open_cells` has the rows that a column is yet taken for, by column."""
    cells: list[str] = []

    def skip_taken() -> None:
        while open_cells.get(len(cells), 0) > 0 and len(cells) < _MOST_COLUMNS:
            open_cells[len(cells)] -= 1
            cells.append("")

    for cell in row:
        if cell.tag not in _CELLS:
            continue
        skip_taken()
        width = _span(cell.get("colspan"))
        height = _span(cell.get("rowspan") or str(_more_rows(cell)))
        for i in range(width if len(cells) < _MOST_COLUMNS else 1):
            if height > 1:
                open_cells[len(cells)] = height - 1
            cells.append("" if i else text_of(cell).replace("\t", " "))
    skip_taken()
    return cells


def _more_rows(cell: Element) -> int:
    more = cell.get("morerows") or ""
    return int(more) + 1 if more.isdecimal() and len(more) < 4 else 1


def _span(value: str | None) -> int:
    number = int(value) if value and value.isdecimal() and len(value) < 4 else 1
    return number if 1 <= number <= _MOST_SPANNED else 1

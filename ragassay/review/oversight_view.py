"""The oversight page: the sheets of `ragassay grades`, their rows linked to the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ragassay.metrics.oversight import Grid
from ragassay.reports.exam_oversight import (
    grader_sheets,
    grid_sheet,
    legend_sheet,
    missing_sheet,
    spurious_sheet,
    verify_sheets,
)
from ragassay.reports.sheets import Column, Sheet, sheet_rows, shown_text
from ragassay.reports.tabular import Cell as Value
from ragassay.review.desk import Desk
from ragassay.review.oversight import LEVELS, RATINGS, Asked, Found, Oversight
from ragassay.review.oversight_links import Cell, Links, Row, item_name, named
from ragassay.review.pages import render

N_ROWS = 100
"""Rows of a table; a note counts the others."""

N_CHECKED = 10
"""Rows of each item's table beside what was extracted: the surest, which are worth a check."""

LONGEST = 240
"""Characters of a cell."""


NONE_RELEVANT = "No graded passage is known to be relevant."
ONE_GRADER = (
    "There is a single grader of each kind of item: grade with another one, and merge the files "
    "with `ragassay grades merge`."
)
DIFFERING = ("/?state=judges", "Open what they differ on")


@dataclass(frozen=True, slots=True)
class Table:
    """A sheet as shown; `note` counts what is left out, `is_grid` has cells of equal width."""

    title: str
    heads: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    is_grid: bool = False


WORDS = {
    "verify": (
        "Verify grading",
        "Where a high rating stands beside text that does not answer the item, open the passage "
        "and say another rating; where that is common, change the prompt or the model.",
    ),
    "grid": (
        "Grid",
        "Look for a row or a column that stands out, and open its cells to check the grades.",
    ),
    "missing": (
        "Missing from the bank",
        "Add an item to the test bank that these relevant passages cover: no item of it does.",
    ),
    "spurious": (
        "Spurious entries",
        "Reword or remove an item that passages cover though they are not relevant, that any "
        "passage covers, or that none does.",
    ),
    "agreement": (
        "Agreement of graders",
        "Where kappa is low, grade by hand what the graders differ on before you trust either.",
    ),
}
"""The heading of each part, and what to do about what it shows."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the five parts of the page.

    Attributes:
        key: Of `WORDS`.
        size: How much there is.
        tables: Its tables.
        nothing: What is shown where there are none, in place of the advice.
        is_folded: Whether each table is folded but the first.
        more: An address with its link text.
    """

    key: str
    size: str
    tables: tuple[Table, ...]
    nothing: str
    is_folded: bool = False
    more: tuple[str, str] = ("", "")


def oversight_page(desk: Desk, tables: Oversight, asked: Asked, who: str, nonce: str) -> str:
    """Return the page.

    Args:
        desk: The graded file's.
        tables: Its oversight.
        asked: What a person asked for.
        who: The person; may be empty.
        nonce: Of the content security policy.
    """
    found = tables.found(asked)
    links = Links(desk, found.grader, who)
    return render(
        "oversight.html.j2",
        source=desk.source,
        nonce=nonce,
        tables=tables,
        asked=asked,
        ratings=RATINGS,
        levels=LEVELS,
        notes=found.notes,
        parts=tuple(_parts(found, asked, links)),
        words=WORDS,
    )


def _parts(found: Found, asked: Asked, links: Links) -> Iterator[Part]:
    checks = verify_sheets(found.checked)
    none = "This grader graded no passage of the query." if asked.query else "Choose a query."
    checked = tuple(_checked_table(sheet, links) for sheet in checks)
    yield Part("verify", _count(len(checks), "item"), checked, none, is_folded=True)
    cells = _grid_tables(found.grid, links) if found.grid else ()
    yield Part("grid", _grid_size(found.grid), cells, none)
    query = "" if asked.query else "Query"
    missing = _titled(missing_sheet(found.missing), "query_id", query)
    tables = (_table(missing, links.to_passage),) if missing.rows else ()
    is_known = any(one.relevant.n for one in found.uses)
    none = "Every relevant passage covers an item." if is_known else NONE_RELEVANT
    yield Part("missing", _count(len(missing.rows), "passage"), tables, none)
    n_spurious = sum(bool(one.finding) for one in found.uses)
    size = f"{n_spurious:,} of {_count(len(found.uses), 'item')}"
    uses = _titled(spurious_sheet(found.uses), "query_id", query)
    tables = (_table(uses, links.to_item),) if found.uses else ()
    yield Part("spurious", size, tables, "There are no items.")
    n_pairs = len(found.agreement.pairs)
    sheets = grader_sheets(found.agreement) if n_pairs else ()
    tables = tuple(_table(sheet, _plain) for sheet in sheets)
    differs = any("judges" in item.states for item in links.desk.items)
    more = DIFFERING if sheets and differs else ("", "")
    yield Part("agreement", _count(n_pairs, "pair"), tables, ONE_GRADER, more=more)


def _plain(key: str, row: Row) -> Cell:
    return Cell()


def _table(
    sheet: Sheet, marks: Callable[[str, Row], Cell], n_most: int = N_ROWS, order: str = ""
) -> Table:
    """Return a sheet's titled columns; `marks` tells what a cell has beside its words."""
    n_most = len(sheet.rows) if sheet.is_whole else n_most
    shown = [(i, column) for i, column in enumerate(sheet.columns) if column.title]
    rows = tuple(
        tuple(_cell(column, cells[i], marks(column.key, row)) for i, column in shown)
        for cells, row in zip(sheet.rows[:n_most], sheet_rows(sheet)[:n_most], strict=True)
    )
    heads = tuple(Cell(column.title, is_number=column.is_number) for _, column in shown)
    return Table(sheet.title, heads, rows, _note(sheet, n_most, order))


def _titled(sheet: Sheet, key: str, title: str) -> Sheet:
    """Return a sheet with another title of a column; an empty one hides it."""
    columns = (replace(c, title=title) if c.key == key else c for c in sheet.columns)
    return replace(sheet, columns=tuple(columns))


def _note(sheet: Sheet, n_most: int, order: str = "") -> str:
    n = len(sheet.rows)
    left_out = f"{n_most:,} of {n:,} rows{order}" if n > n_most else ""
    return "; ".join(part for part in (sheet.caption, left_out) if part)


def _cell(column: Column, value: Value, mark: Cell) -> Cell:
    text = mark.text or shown_text(value, replace(column, n_most=LONGEST))
    return replace(mark, text=text, is_number=column.is_number)


def _checked_table(sheet: Sheet, links: Links) -> Table:
    some = sheet_rows(sheet)[0]
    with_texts = _titled(sheet, "passage", "Text")
    found = _table(with_texts, links.to_checked, N_CHECKED, ", the surest first")
    return replace(found, title=named(some, "text"))


def _grid_tables(grid: Grid, links: Links) -> tuple[Table, ...]:
    sheet, legend = grid_sheet(grid), legend_sheet(grid)
    names = {item: text or item_name(item) for item, text in grid.items.items()}

    def marks(key: str, row: Row) -> Cell:
        cell = grid.cells.get((str(row["paragraph_id"]), key)) if key in grid.items else None
        if cell is None:
            return Cell()
        tone = "open" if cell.is_covered is None else "covered" if cell.is_covered else ""
        found = replace(links.grade(vars(cell)), tone=tone)
        extracted = f"extracted: {cell.extracted}" if cell.extracted else ""
        hints = (names[key], extracted[:LONGEST], found.hint)
        return replace(found, hint="\n".join(part for part in hints if part))

    return (
        replace(_table(legend, links.to_item), title="Items"),
        replace(_table(sheet, marks, order=", the best first"), title="Ratings", is_grid=True),
    )


def _grid_size(grid: Grid | None) -> str:
    if grid is None:
        return ""
    return f"{_count(len(grid.passages), 'passage')} by {_count(len(grid.items), 'item')}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"

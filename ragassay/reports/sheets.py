"""Tables that can be written to the terminal, HTML, Markdown, LaTeX, CSV and JSON.

Cell text is untrusted, so every output format escapes it. `sheet.html.j2` renders the HTML.
"""

from __future__ import annotations

import csv
import functools
import io
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ragassay.records import Score
from ragassay.reports.display import (
    NBSP,
    NOT_DEFINED,
    format_bounds,
    format_interval,
    format_score,
    is_number,
)
from ragassay.reports.labels import flatten_text

if TYPE_CHECKING:
    from rich.containers import Lines
    from rich.table import Table
    from rich.text import Text

Style = Literal[
    "", "strong", "missing", "faint", "good", "wary", "bad", "unscored", "undone", "code"
]
RICH_STYLES: dict[Style, str] = {
    "": "",
    "strong": "bold",
    "missing": "dim italic",
    "faint": "dim",
    "good": "bold blue",
    "wary": "yellow",
    "bad": "bold red",
    "unscored": "dim italic",
    "undone": "dim strike",
    "code": "",
}

NEEDS_BOOKTABS = "% Needs \\usepackage{booktabs}.\n"

SCORE_KEYS = ("", "_low", "_high", "_worst", "_best")

NUMBER_WIDTH, LINE_WIDTH = 13, 10
"""Maximum length in characters of an unwrapped cell in a number column on the terminal, and the
width to which longer cells and all headings are wrapped."""

_HELD = "\ue000"
"""Private-use character that replaces no-break spaces while rich wraps a line."""

_FORMULA = ("=", "+", "-", "@")

_LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\u00a0": "~",
    "\u2013": "--",
}
_MARKUP = re.compile(r"([\\`*_{}\[\]|~$#])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

Plain = str | float | bool | None
"""Cell value in a file; None is an empty cell."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell whose displayed text differs from its value in files.

    Attributes:
        style: Name of a font weight or colour.
        interval: Interval, shown below the text or in square brackets after it.
        notes: Notes, shown below the interval or in parentheses after it.
    """

    text: str
    value: Plain = None
    style: Style = ""
    interval: str = ""
    notes: tuple[str, ...] = ()

    @property
    def below(self) -> str:
        """Interval and notes, which are shown below the text."""
        return ", ".join(filter(None, (self.interval, *self.notes)))

    @property
    def line(self) -> str:
        """Text, interval and notes of the cell on one line."""
        interval = f" [{self.interval}]" if self.interval else ""
        notes = f" ({', '.join(self.notes)})" if self.notes else ""
        return f"{self.text}{interval}{notes}".replace("\n", "; ")


Cell = Plain | Shown


@dataclass(frozen=True)
class Column:
    """A table column.

    Attributes:
        key: Column name in files. Empty to omit the column from files.
        title: Heading on the terminal and in reports. Empty to write the column only to files.
        is_number: Whether the column contains numbers, which are right-aligned.
        n_most: Maximum number of characters in a cell.
        is_once: Whether the terminal leaves a cell empty if the cell above has the same text.
        is_unbroken: Whether the terminal never wraps the cells.
        has_names: Whether the cells are untrusted names, which HTML isolates with `<bdi>`.
        is_name: Whether the title is an untrusted name.
        is_below: Whether HTML shows the cells on a separate line below the row.
    """

    key: str
    title: str = ""
    is_number: bool = False
    n_most: int = 200
    is_once: bool = False
    is_unbroken: bool = False
    has_names: bool = False
    is_name: bool = False
    is_below: bool = False


@dataclass(frozen=True)
class Sheet:
    """A table.

    Attributes:
        shows_all_rows: Whether to show all rows even if there is a limit.
        sections: Section headings by the position of the first row. The terminal draws a line
            instead of the heading.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    shows_all_rows: bool = False
    sections: Mapping[int, Shown] = field(default_factory=dict)

    @property
    def column_heads(self) -> tuple[Column, ...]:
        """Displayed columns."""
        return tuple(column for column in self.columns if column.title)

    @property
    def shown(self) -> Iterator[tuple[Shown, ...]]:
        """Displayed rows."""
        for row in self.rows:
            cells = zip(self.columns, row, strict=True)
            yield tuple(format_cell(cell, column) for column, cell in cells if column.title)


def build_number_column(key: str, title: str = "") -> Column:
    """Return a number column."""
    return Column(key, title, is_number=True)


def build_text_columns(*titles: str) -> tuple[Column, ...]:
    """Return columns of text that are omitted from files."""
    return tuple(Column("", title) for title in titles)


def build_number_columns(*titles: str) -> tuple[Column, ...]:
    """Return right-aligned number columns that are omitted from files."""
    return tuple(build_number_column("", title) for title in titles)


def build_score_columns(
    key: str, title: str, n_title: str = "", unscored_title: str = ""
) -> tuple[Column, ...]:
    """Return the columns of a score. Columns without a title are only written to files."""
    return (
        *(build_number_column(f"{key}{end}", title if not end else "") for end in SCORE_KEYS),
        *(
            build_number_column(f"{key}_n", n_title),
            build_number_column(f"{key}_n_unscored", unscored_title),
        ),
    )


def build_score_cells(score: Score) -> tuple[Cell, ...]:
    """Return the cells of a score, in the order of `build_score_columns`."""
    value: Cell = score.value
    ends = (score.worst, score.best)
    if value is None and score.n and None not in ends:
        known = sorted(end for end in ends if end is not None)
        value = Shown(f"{NBSP}to{NBSP}".join(f"{end:.3f}" for end in known))
    return (value, score.low, score.high, *ends, score.n, score.n_unscored)


def build_value_cell(text: str, is_scored: bool, interval: str = "", *notes: str) -> Shown:
    """Return a value in bold, or a placeholder if the value is missing."""
    return Shown(text, None, "strong" if is_scored else "missing", interval, notes)


def build_score_cell(score: Score | None, has_interval: bool = True) -> Shown:
    """Return a cell with the value and interval of a score, or the reason why it is missing."""
    if score is None or not is_number(score.value):
        return Shown(format_score(score), None, "missing")
    interval = format_interval(score) if has_interval else ""
    return Shown(format_score(score), score.value, "strong", interval)


def build_counted_cell(score: Score, text: str, interval: str = "") -> Shown:
    """Return a cell with a value, its interval and the number of items."""
    unscored = f", {score.n_unscored:,} unscored" if score.n_unscored else ""
    interval = "" if score.low is None else interval or format_interval(score)
    return build_value_cell(text, score.value is not None, interval, f"n {score.n:,}{unscored}")


def build_unscored_cell(score: Score) -> Shown:
    """Return the number of missing verdicts with the worst and best case."""
    bounds = format_bounds(score)
    notes = tuple(bounds.split(", ")) if bounds else ()
    return Shown(format_count_or_none(score.n_unscored), score.n_unscored, notes=notes)


def format_count_or_none(n: int) -> str:
    """Format a count, with "none" for zero."""
    return f"{n:,}" if n else "none"


def format_cell(cell: Cell, column: Column) -> Shown:
    """Return a cell as it is displayed, truncated to the maximum length of the column."""
    if isinstance(cell, Shown):
        return cell
    if cell is None:
        return Shown(NOT_DEFINED)
    if isinstance(cell, bool):
        return Shown("yes" if cell else "no")
    if isinstance(cell, int | float):
        return Shown(f"{cell:.3f}" if isinstance(cell, float) else f"{cell:,}")
    text = flatten_text(cell)
    return Shown(text if len(text) <= column.n_most else f"{text[: column.n_most - 1]}…")


def append_column(sheet: Sheet, key: str, value: Plain) -> Sheet:
    """Add a file-only column with the same value in all rows."""
    rows = tuple((*row, value) for row in sheet.rows)
    return replace(sheet, columns=(*sheet.columns, Column(key)), rows=rows)


def join_sheets(sheets: Sequence[Sheet], key: str) -> Sheet:
    """Concatenate sheets with the same columns, and add the title of the sheet as first column."""
    rows = tuple((sheet.title, *row) for sheet in sheets for row in sheet.rows)
    return Sheet("", (Column(key), *sheets[0].columns), rows)


def render_sheet_table(sheet: Sheet, n_most: int | None = None) -> Table:
    """Return a sheet as a `rich` table.

    Args:
        n_most: Maximum number of rows, or None for all. The caption counts omitted rows.
    """
    from rich import box
    from rich.table import Table

    title = build_cell_text(sheet.title)
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, collapse_padding=True)
    table.show_edge = False
    table.pad_edge = False
    for column in sheet.column_heads:
        justify = "right" if column.is_number else "left"
        # Without this, rich breaks numbers when the table is too wide.
        is_unbroken = column.is_unbroken or column.is_number
        head = build_cell_text(column.title, n_most=LINE_WIDTH if column.is_number else 0)
        table.add_column(head, justify=justify, overflow="fold", no_wrap=is_unbroken)
    n_most = None if sheet.shows_all_rows else n_most
    above: tuple[Shown, ...] = ()
    for position, row in enumerate(sheet.shown):
        if position == n_most:
            break
        if position and position in sheet.sections:
            table.add_section()
        is_same = [
            c.is_once and row[i : i + 1] == above[i : i + 1]
            for i, c in enumerate(sheet.column_heads)
        ]
        table.add_row(
            *(
                "" if same else _render_cell(cell, NUMBER_WIDTH if column.is_number else 0)
                for cell, same, column in zip(row, is_same, sheet.column_heads, strict=True)
            )
        )
        above = row
    captions = [sheet.caption] if sheet.caption else []
    if n_most is not None and len(sheet.rows) > n_most:
        captions.append(f"{n_most:,} of {len(sheet.rows):,} rows; --limit 0 shows all")
    table.caption = build_cell_text("; ".join(captions)) if captions else None
    table.caption_justify = "left"
    return table


def _render_cell(cell: Shown, n_most: int = 0) -> Text:
    text = build_cell_text(cell.text, RICH_STYLES[cell.style], n_most)
    for line in filter(None, (cell.interval, *cell.notes)):
        text.append(f"\n{flatten_text(line)}", style="dim not bold not italic")
    return text


def build_cell_text(text: str, style: str = "", n_most: int = 0) -> Text:
    """Return untrusted text for the terminal, wrapped if it is longer than `n_most` characters.

    Long words and text joined by no-break spaces are never broken.
    """
    line = flatten_text(text)
    if len(line) > n_most > 0:
        line = textwrap.fill(line, LINE_WIDTH, break_long_words=False, break_on_hyphens=False)
    return _create_text_class()(line, style=style)


@functools.cache
def _create_text_class() -> type[Text]:
    """Return a `Text` subclass that does not wrap at no-break spaces, unlike rich."""
    from rich.text import Text

    class UnbrokenText(Text):
        def wrap(self, *args: Any, **kwargs: Any) -> Lines:
            held = self.copy()
            held.plain = held.plain.replace(NBSP, _HELD)
            lines = held.wrap(*args, **kwargs)
            for line in lines:
                line.plain = line.plain.replace(_HELD, NBSP)
            return lines

    return UnbrokenText


def render_sheet_markdown(sheet: Sheet) -> str:
    """Return a sheet as a GitHub Flavored Markdown table without its title."""
    rows = [[escape(column.title) for column in sheet.column_heads]]
    rows.append(["---:" if column.is_number else "---" for column in sheet.column_heads])
    rows += ([_mark_up_cell(cell) for cell in row] for row in sheet.shown)
    head, rule, *body = (" | ".join(row) for row in rows)
    lines = (f"| {head} |", f"|{rule.replace(' ', '')}|", *(f"| {row} |" for row in body))
    return "\n".join(lines) + "\n"


def _mark_up_cell(cell: Shown) -> str:
    if "bold" not in RICH_STYLES[cell.style] or not cell.text.strip():
        return escape(cell.line)
    return f"**{escape(cell.text)}** {escape(replace(cell, text='').line)}".rstrip()


def escape(text: str) -> str:
    r"""Put text on one line and escape it for Markdown.

    Example:
        >>> escape("a|b <i>")
        'a\\|b &lt;i&gt;'
    """
    safe = _MARKUP.sub(r"\\\1", flatten_text(text)).strip()
    return safe.translate(_ENTITIES)


def render_sheet_latex(sheet: Sheet, label: str, caption: str = "") -> str:
    r"""Return a sheet as a LaTeX table, which needs \usepackage{booktabs}.

    Args:
        label: LaTeX label for references to the table. Characters of the label other than letters,
            digits, ".", ":" and "-" are replaced.
        caption: Caption to use instead of the sheet's title and caption.
    """
    label = "".join(c if c.isascii() and (c.isalnum() or c in ".:-") else "-" for c in label)
    caption = caption or f"{'. '.join(filter(None, (sheet.title, sheet.caption)))}."
    layout = "".join("r" if column.is_number else "l" for column in sheet.column_heads)
    rows = (
        [column.title for column in sheet.column_heads],
        *([c.line for c in r] for r in sheet.shown),
    )
    head, *body = (" & ".join(map(escape_latex, row)) + r" \\" for row in rows)
    lines = [
        r"\begin{table}[htbp]",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    r"""Escape text for LaTeX.

    Example:
        >>> escape_latex("50 % of a_b")
        '50 \\% of a\\_b'
    """
    return "".join(_LATEX.get(character, character) for character in flatten_text(text))


def render_sheet_csv(*sheets: Sheet) -> str:
    """Return the text of one CSV file for sheets with the same columns."""
    tables = [_build_file_table(sheet) for sheet in sheets]
    return render_csv(tables[0][0], [row for _, rows in tables for row in rows])


def list_sheet_rows(sheet: Sheet) -> list[dict[str, Plain]]:
    """Return a sheet as one dictionary per row."""
    keys, rows = _build_file_table(sheet)
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _build_file_table(sheet: Sheet) -> tuple[list[str], list[list[Plain]]]:
    positions = [n for n, column in enumerate(sheet.columns) if column.key]
    rows = [
        [cell.value if isinstance(cell := row[n], Shown) else cell for n in positions]
        for row in sheet.rows
    ]
    return [sheet.columns[n].key for n in positions], rows


def render_csv(columns: Sequence[str], rows: Iterable[Sequence[Plain]]) -> str:
    """Return rows as the text of a CSV file.

    Text that a spreadsheet could interpret as a formula is prefixed with an apostrophe.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_format_csv_cell(cell) for cell in row] for row in rows)
    return file.getvalue()


def _format_csv_cell(cell: Plain) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, str):
        return repr(round(cell, 6)) if isinstance(cell, float) else str(cell)
    text = flatten_text(cell)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text

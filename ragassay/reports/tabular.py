"""Tables for other programs: CSV and LaTeX. Names of systems and the like are untrusted."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ragassay.reports.labels import one_line

Cell = str | float | bool | None
"""`int` and `float` are numbers; None is an empty cell."""

_FORMULA = ("=", "+", "-", "@")

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\u00a0": "~",
    "\u2013": "--",
}


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return rows as CSV, numbers in full.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.

    Args:
        columns: The header.
        rows: Rows with one cell per column.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_plain(cell) for cell in row] for row in rows)
    return file.getvalue()


def latex_text(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str,
    label: str,
    n_words: int = 2,
) -> str:
    """Return rows as a LaTeX table in the style of booktabs, every cell escaped.

    Args:
        columns: The header.
        rows: Rows with one cell per column.
        caption: The table's caption.
        label: The label for references; letters, digits, dots, colons and dashes.
        n_words: Number of leading columns of words, flush left; the numbers are flush right.
    """
    label = "".join(c if c.isascii() and (c.isalnum() or c in ".:-") else "-" for c in label)
    layout = "l" * min(n_words, len(columns)) + "r" * max(0, len(columns) - n_words)
    head, *body = (
        " & ".join(latex_escape(cell) for cell in row) + r" \\" for row in (columns, *rows)
    )
    lines = [
        r"\begin{table}[htbp]",
        rf"\caption{{{latex_escape(caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_escape(text: str) -> str:
    r"""Return text escaped for LaTeX.

    Example:
        >>> latex_escape("50 % of a_b")
        '50 \\% of a\\_b'
    """
    return "".join(_LATEX.get(character, character) for character in one_line(text))


def _plain(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, str):
        return repr(round(cell, 6)) if isinstance(cell, float) else str(cell)
    text = one_line(cell)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text

"""Matrices of means for the terminal, as CSV, LaTeX, heatmaps and a page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.metrics.matrices import Matrix
from ragassay.records import Score
from ragassay.reports.figures import heatmap_plot
from ragassay.reports.html import content_policy, page_environment
from ragassay.reports.labels import without_controls
from ragassay.reports.tables import cell_text, plain_table
from ragassay.reports.tabular import csv_text, latex_text
from ragassay.reports.text import EN_DASH, NBSP, NOT_DEFINED, count_text

if TYPE_CHECKING:
    from rich.table import Table

NARROW_SCALE = 2.0
"""A value on a scale that ends here or before is written with three decimals, otherwise with two.
"""

_CELL_FIELDS = {"value", "low", "high", "worst", "best", "n", "n_unscored"}


def matrix_table(matrix: Matrix) -> Table:
    """Return a matrix for the terminal: each mean, its interval below, and the unscored count."""
    table = plain_table(matrix.title, (matrix.row_title.capitalize(),), matrix.columns)
    for name, cells in zip(matrix.rows, matrix.cells, strict=True):
        row = []
        for cell in cells:
            text = cell_text(value_text(cell), "bold")
            text.append(f"\n{span_text(cell)}", style="dim")
            if cell.n_unscored:
                text.append(f"\n{cell.n_unscored:,} unscored", style="dim")
            row.append(text)
        table.add_row(cell_text(name), *row)
    table.caption = cell_text(caption_text(matrix))
    return table


def matrix_fields(matrix: Matrix) -> dict[str, object]:
    """Return a matrix as fields of a JSON object, cell by cell."""
    cells = [
        {
            "row": matrix.rows[y],
            "column": matrix.columns[x],
            "is_own": (y, x) in matrix.own,
            **cell.model_dump(include=_CELL_FIELDS),
        }
        for y, row in enumerate(matrix.cells)
        for x, cell in enumerate(row)
    ]
    return {
        "key": matrix.key,
        "title": matrix.title,
        "row": matrix.row_title,
        "column": matrix.column_title,
        "unit": matrix.unit,
        "lower_is_better": matrix.lower_is_better,
        "n_questions": matrix.n_questions,
        "cells": cells,
    }


def matrices_csv(matrices: Sequence[Matrix]) -> str:
    """Return all matrices, one row for each cell."""
    columns = (
        *("matrix", "row", "column", "is_own", "value", "low", "high", "worst", "best"),
        *("n", "n_unscored", "unit"),
    )
    rows = [
        (
            *(m.key, m.rows[y], m.columns[x], (y, x) in m.own, cell.value, cell.low, cell.high),
            *(cell.worst, cell.best, cell.n, cell.n_unscored, m.unit),
        )
        for m in matrices
        for y, cells in enumerate(m.cells)
        for x, cell in enumerate(cells)
    ]
    return csv_text(columns, rows)


def matrices_latex(matrices: Sequence[Matrix]) -> str:
    r"""Return all matrices as LaTeX tables; they need \usepackage{booktabs}."""
    tables = ["% Needs \\usepackage{booktabs}."]
    for m in matrices:
        rows = [
            (name, *(f"{value_text(cell)} [{span_text(cell)}]" for cell in cells))
            for name, cells in zip(m.rows, m.cells, strict=True)
        ]
        header = (f"{m.row_title} / {m.column_title}", *m.columns)
        caption = f"{m.title}. {caption_text(m)}."
        tables.append(latex_text(header, rows, caption, f"tab:{m.key}", n_words=1))
    return "\n".join(tables)


def matrix_plot(matrix: Matrix) -> str:
    """Return a matrix as a heatmap (SVG)."""
    return heatmap_plot(matrix, [[value_text(cell) for cell in row] for row in matrix.cells])


def matrices_page(
    title: str, matrices: Sequence[tuple[Matrix, str]], lines: Sequence[str] = ()
) -> str:
    """Render matrices as one self-contained HTML page: heatmaps, and the figures behind them.

    Args:
        title: The page's title.
        matrices: Each with its heatmap (SVG).
        lines: The sentences above them.

    Returns:
        A page that loads nothing. Same input, same bytes.
    """
    environment = page_environment()
    style = environment.get_template("style.html.j2").render()
    shown = [
        {
            "title": m.title,
            "caption": caption_text(m),
            "image": base64.b64encode(plot.encode()).decode("ascii"),
            "corner": f"{m.row_title} / {m.column_title}",
            "columns": m.columns,
            "rows": [
                (name, [_shown(cell) for cell in cells])
                for name, cells in zip(m.rows, m.cells, strict=True)
            ],
        }
        for m, plot in matrices
    ]
    page = environment.get_template("matrices.html.j2").render(
        title=title,
        lines=lines,
        matrices=shown,
        style=style,
        policy=content_policy(style, ""),
    )
    return without_controls(page)


def value_text(score: Score) -> str:
    """Return a mean with as many decimals as its scale needs, or its range where that is known."""
    if score.is_open and score.range is not None:
        return f"{NBSP}to{NBSP}".join(_number(end, score) for end in score.range)
    return _number(score.value, score)


def span_text(score: Score) -> str:
    """Return the 95 % interval, as "0.12-0.20"."""
    if score.low is None or score.high is None:
        return NOT_DEFINED
    # A dash next to a minus sign would look like another minus.
    dash = EN_DASH if score.low >= 0 else " to "
    return f"{_number(score.low, score)}{dash}{_number(score.high, score)}"


def caption_text(matrix: Matrix) -> str:
    """Describe the cells' data, and what is missing."""
    n_unscored = sum(cell.n_unscored for row in matrix.cells for cell in row)
    text = f"95 % intervals resample {count_text(matrix.n_questions, 'question')}"
    if n_unscored:
        n = n_unscored + sum(cell.n for row in matrix.cells for cell in row)
        text += f"; {n_unscored:,} of {n:,} {matrix.unit} are unscored and left out"
    return text


def _number(value: float | None, score: Score) -> str:
    if value is None:
        return NOT_DEFINED
    return f"{value:.{3 if score.scale[1] <= NARROW_SCALE else 2}f}"


def _shown(score: Score) -> dict[str, str]:
    details = f"{span_text(score)}, n = {score.n:,}"
    if score.n_unscored:
        details += f", {score.n_unscored:,} unscored"
    return {"value": value_text(score), "details": details}

"""Matrices of means for terminal, CSV, LaTeX, heatmaps, page, and the answers selected."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import Matrix
from ragassay.records import Record, Score
from ragassay.reports.display import NBSP, decimals_span, decimals_text
from ragassay.reports.figures import heatmap_plot
from ragassay.reports.html import content_policy, page_environment
from ragassay.reports.labels import without_controls
from ragassay.reports.sheets import (
    NEEDS_BOOKTABS,
    Column,
    Sheet,
    Shown,
    counted_cell,
    csv_text,
    sheet_latex,
)
from ragassay.reports.text import count_text


def records_where(records: Sequence[Record], where: Sequence[str]) -> tuple[Record, ...]:
    """Return the records that have the given values.

    Args:
        records: In any order, which is kept.
        where: "FIELD=VALUE" each, the field `system`, `topic`, `id` or one of the metadata. Several
            values of one field are alternatives; several fields must all match.

    Raises:
        InputError: A condition has no "=", names a field that no record has, or nothing matches
            all.

    Example:
        >>> record = Record(id="a", question="q", answer="x", metadata={"variant": "benign"})
        >>> len(records_where([record], ["variant=benign"]))
        1
    """
    wanted: dict[str, set[str]] = {}
    for condition in where:
        field, found, value = condition.partition("=")
        if not found or not field:
            raise InputError(f"--where {condition}: write it as FIELD=VALUE")
        wanted.setdefault(field, set()).add(value)
    known = list(dict.fromkeys(field for record in records for field in _fields(record)))
    for field in wanted:
        if field not in known:
            raise InputError(f"no answer has the field {field!r}; there are {', '.join(known)}")
    kept = tuple(
        record
        for record in records
        if all(_fields(record).get(field) in values for field, values in wanted.items())
    )
    if records and not kept:
        raise InputError(f"none of {len(records)} answers has {' and '.join(where)}")
    return kept


def _fields(record: Record) -> dict[str, str]:
    fields = {"id": record.id, "system": record.system, "topic": record.topic}
    return {name: value for name, value in fields.items() if value is not None} | record.metadata


NARROW_SCALE = 2.0
"""A value on a scale that ends here or before is written with three decimals, otherwise with two.
"""

_CELL_FIELDS = {"value", "low", "high", "worst", "best", "n", "n_unscored"}


def matrix_sheet(matrix: Matrix) -> Sheet:
    """Return a matrix as a table: each mean, its interval, and the number unscored."""
    columns = (
        Column("", f"{matrix.row_title} / {matrix.column_title}", has_names=True),
        *(Column("", name, is_number=True, is_name=True) for name in matrix.columns),
    )
    rows = tuple(
        (name, *map(_cell, cells)) for name, cells in zip(matrix.rows, matrix.cells, strict=True)
    )
    return Sheet(matrix.title, columns, rows, caption_text(matrix))


def _cell(score: Score) -> Shown:
    return replace(counted_cell(score, value_text(score), span_text(score)), style="strong")


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
    tables = (sheet_latex(matrix_sheet(m), f"tab:{m.key}") for m in matrices)
    return NEEDS_BOOKTABS + "\n".join(tables)


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
            "sheet": matrix_sheet(m),
            "image": base64.b64encode(plot.encode()).decode("ascii"),
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
        return f"{NBSP}to{NBSP}".join(decimals_text(end, _digits(score)) for end in score.range)
    return decimals_text(score.value, _digits(score))


def span_text(score: Score) -> str:
    """Return the 95 % interval, as "0.12-0.20"."""
    return decimals_span(score, _digits(score))


def caption_text(matrix: Matrix) -> str:
    """Describe the cells' data, and what is missing."""
    n_unscored = sum(cell.n_unscored for row in matrix.cells for cell in row)
    text = f"95 % intervals resample {count_text(matrix.n_questions, 'question')}"
    if n_unscored:
        n = n_unscored + sum(cell.n for row in matrix.cells for cell in row)
        text += f"; {n_unscored:,} of {n:,} {matrix.unit} are unscored and left out"
    return text


def _digits(score: Score) -> int:
    return 3 if score.scale[1] <= NARROW_SCALE else 2

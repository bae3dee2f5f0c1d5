"""Render matrices of scores as tables, CSV, LaTeX, heatmaps and HTML, and select records."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import Matrix
from ragassay.records import Record, Score
from ragassay.reports.display import NBSP, format_decimals, format_decimals_span
from ragassay.reports.figures import plot_heatmap
from ragassay.reports.html import build_content_policy, create_page_environment
from ragassay.reports.labels import replace_controls
from ragassay.reports.sheets import (
    NEEDS_BOOKTABS,
    Column,
    Sheet,
    Shown,
    build_counted_cell,
    build_number_column,
    build_number_columns,
    build_text_columns,
    render_csv,
    render_sheet_latex,
)
from ragassay.reports.text import count_text, join_words
from ragassay.runs.compare import format_file_stem, write_files
from ragassay.studies.ratings import Favourite, SelfPreference, classify_excess


def select_records(records: Sequence[Record], where: Sequence[str]) -> tuple[Record, ...]:
    """Return the records that match the conditions on each field.

    Args:
        where: Conditions "FIELD=VALUE". The field is `system`, `topic`, `id` or a metadata key. If
            several conditions have the same field, one of them must match.

    Raises:
        InputError: If a condition is invalid, a field is unknown, or no record matches.

    Example:
        >>> record = Record(id="a", question="q", answer="x", metadata={"variant": "benign"})
        >>> len(select_records([record], ["variant=benign"]))
        1
    """
    conditions: dict[str, set[str]] = {}
    for condition in where:
        field, separator, value = condition.partition("=")
        if not separator or not field:
            raise InputError(f"--where {condition} is invalid; use FIELD=VALUE")
        conditions.setdefault(field, set()).add(value)
    known = list(dict.fromkeys(field for record in records for field in _collect_fields(record)))
    for field in conditions:
        if field not in known:
            raise InputError(f"no answer has the field {field!r}; use one of {', '.join(known)}")
    matching = tuple(
        record
        for record in records
        if all(_collect_fields(record).get(field) in values for field, values in conditions.items())
    )
    if records and not matching:
        raise InputError(f"none of {len(records)} answers has {' and '.join(where)}")
    return matching


def _collect_fields(record: Record) -> dict[str, str]:
    fields = {"id": record.id, "system": record.system, "topic": record.topic}
    return {name: value for name, value in fields.items() if value is not None} | record.metadata


NARROW_SCALE = 2.0
"""Values have three decimals instead of two if the upper end of the scale is at most this high."""

_CELL_FIELDS = {"value", "low", "high", "worst", "best", "n", "n_unscored"}


def build_matrix_sheet(matrix: Matrix) -> Sheet:
    """Return a matrix as a table of means, with their intervals and numbers of unscored items."""
    columns = (
        Column("", f"{matrix.row_title} / {matrix.column_title}", has_names=True),
        *(Column("", name, is_number=True, is_name=True) for name in matrix.columns),
    )
    rows = tuple(
        (name, *map(_build_cell, cells))
        for name, cells in zip(matrix.rows, matrix.cells, strict=True)
    )
    return Sheet(matrix.title, columns, rows, build_matrix_caption(matrix))


def _build_cell(score: Score) -> Shown:
    return replace(
        build_counted_cell(score, format_cell_value(score), format_cell_interval(score)),
        style="strong",
    )


def build_matrix_fields(matrix: Matrix) -> dict[str, object]:
    """Return a matrix as the fields of a JSON object."""
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


def render_matrices_csv(matrices: Sequence[Matrix]) -> str:
    """Return all matrices as CSV, with one row per cell."""
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
    return render_csv(columns, rows)


def render_matrices_latex(matrices: Sequence[Matrix]) -> str:
    r"""Return all matrices as LaTeX tables, which require \usepackage{booktabs}."""
    tables = (render_sheet_latex(build_matrix_sheet(m), f"tab:{m.key}") for m in matrices)
    return NEEDS_BOOKTABS + "\n".join(tables)


def draw_matrix(matrix: Matrix) -> str:
    """Return a matrix as an SVG heatmap."""
    return plot_heatmap(matrix, [[format_cell_value(cell) for cell in row] for row in matrix.cells])


def render_matrices_page(
    title: str, matrices: Sequence[tuple[Matrix, str]], lines: Sequence[str] = ()
) -> str:
    """Render matrices and heatmaps as a self-contained HTML page."""
    environment = create_page_environment()
    style = environment.get_template("style.html.j2").render()
    shown = [
        {"sheet": build_matrix_sheet(m), "image": base64.b64encode(plot.encode()).decode("ascii")}
        for m, plot in matrices
    ]
    page = environment.get_template("matrices.html.j2").render(
        title=title,
        lines=lines,
        matrices=shown,
        style=style,
        policy=build_content_policy(style, ""),
    )
    return replace_controls(page)


def write_matrices(
    matrices: Sequence[Matrix],
    name: str,
    title: str,
    lines: Sequence[str],
    out: Path,
    others: Mapping[str, str] | None = None,
) -> tuple[Path, ...]:
    """Write matrices as NAME.csv, NAME.tex, index.html and SVG heatmaps, and write other files.

    Raises:
        InputError: If the folder cannot be created.
    """
    plots = {f"{format_file_stem(one.key)}.svg": draw_matrix(one) for one in matrices}
    texts = {
        f"{name}.csv": render_matrices_csv(matrices),
        f"{name}.tex": render_matrices_latex(matrices),
        **(others or {}),
        "index.html": render_matrices_page(
            title, list(zip(matrices, plots.values(), strict=True)), lines
        ),
    }
    return write_files(out, texts | plots)


def format_cell_value(score: Score) -> str:
    """Format a mean, or its range if it depends on undecided verdicts."""
    if score.is_open and score.range is not None:
        return f"{NBSP}to{NBSP}".join(
            format_decimals(end, _choose_digits(score)) for end in score.range
        )
    return format_decimals(score.value, _choose_digits(score))


def format_cell_interval(score: Score) -> str:
    """Format the 95 % interval, such as "0.12-0.20"."""
    return format_decimals_span(score, _choose_digits(score))


def build_matrix_caption(matrix: Matrix) -> str:
    """Return a caption with the number of questions and the number of unscored items."""
    n_unscored = sum(cell.n_unscored for row in matrix.cells for cell in row)
    questions = count_text(matrix.n_questions, "question")
    text = f"95 % intervals are computed by resampling {questions}"
    if n_unscored:
        n = n_unscored + sum(cell.n for row in matrix.cells for cell in row)
        text += f"; {n_unscored:,} of {n:,} {matrix.unit} are unscored and excluded"
    return text


def _choose_digits(score: Score) -> int:
    return 3 if score.scale[1] <= NARROW_SCALE else 2


def describe_verdict(found: SelfPreference) -> str:
    """Describe a self-preference, as in "prefers its own answers by 0.30"."""
    if found.verdict == "unknown":
        return "unknown, because there are too few other judges, systems or questions"
    if found.verdict == "none_seen":
        return "no self-preference found"
    is_own = found.verdict == "prefers_own"
    direction = "prefers its own answers" if is_own else "rates its own answers lower"
    text = f"{direction} by {abs(found.excess.value or 0.0):.2f}"
    if len(found.against) < 2:
        return text
    if not found.seen_against:
        return f"{text} on average, but this is not certain for any single system"
    each = "only" if len(found.seen_against) == 1 else "separately"
    return f"{text}, also when compared {each} with {join_words(found.seen_against)}"


def describe_self_preference(found: SelfPreference) -> str:
    """Return a sentence about a judge's self-preference, without a period."""
    if found.excess.value is None:
        return f"{found.judge} ({join_words(found.systems)}): {describe_verdict(found)}"
    return (
        f"{found.judge}: {describe_verdict(found)} (it rates {join_words(found.systems)} "
        f"{_format_signed(found.own_gap.value)} relative to the others, the other judges "
        f"{_format_signed(found.peer_gap.value)}; excess {_format_signed(found.excess.value)}, "
        f"{_format_signed_interval(found.excess)})"
    )


def describe_favourite(found: Favourite) -> str:
    """Return a sentence about the system that a judge rates best, without a period."""
    return (
        f"{found.judge} rates {found.system} best, {_format_signed(found.margin.value)} above "
        f"{found.second} ({_format_signed_interval(found.margin)})"
    )


def build_favourite_sheet(favourites: Sequence[Favourite]) -> Sheet:
    """Return a table with each judge's best-rated system and its margin."""
    columns = (
        *(Column("judge", "Judge"), Column("system", "System"), Column("second", "Second")),
        *(
            build_number_column("margin", "Margin"),
            build_number_column("low"),
            build_number_column("high"),
            *build_number_columns("95 % interval"),
        ),
        *(build_number_column("n", "n"), build_number_column("n_unscored")),
    )
    rows = tuple(
        (
            *(one.judge, one.system, one.second),
            _build_difference_cell(one.margin, one.margin.low is not None and one.margin.low > 0),
            *(one.margin.low, one.margin.high, _format_signed_interval(one.margin)),
            *(one.margin.n, one.margin.n_unscored),
        )
        for one in favourites
    )
    caption = "n is the number of pairs of a question and a rubric with ratings of both systems"
    return Sheet("Best rated systems", columns, rows, caption)


def build_self_preference_sheet(found: Sequence[SelfPreference]) -> Sheet:
    """Return a table of self-preference, for judges that are also systems."""
    rows = tuple(
        (
            *(
                one.judge,
                describe_verdict(one),
                _build_difference_cell(one.own_gap),
                _build_difference_cell(one.peer_gap),
            ),
            _build_difference_cell(one.excess, one.verdict not in ("none_seen", "unknown")),
            *(_format_signed_interval(one.excess), one.excess.n),
        )
        for one in found
    )
    titles = ("Own gap", "Others' gap", "Excess", "95 % interval", "n")
    caption = (
        "A gap is the mean rating of the judge's own answers minus the mean rating of other "
        "answers. The excess is the judge's gap minus the gap of the other judges"
    )
    columns = (*build_text_columns("Judge", "Verdict"), *build_number_columns(*titles))
    return Sheet("Self-preference", columns, rows, caption)


def render_self_preference_csv(found: Sequence[SelfPreference]) -> str:
    """Return self-preferences as CSV, compared with all other systems and with each of them."""
    columns = (
        *("judge", "systems", "against", "verdict", "own_gap", "peer_gap", "excess"),
        *("low", "high", "n", "n_unscored"),
    )
    rows = [
        (
            *(one.judge, "; ".join(one.systems), against, classify_excess(excess)),
            *(gap.value if gap else None for gap in gaps),
            *(excess.value, excess.low, excess.high, excess.n, excess.n_unscored),
        )
        for one in found
        for against, excess, gaps in (
            ("all", one.excess, (one.own_gap, one.peer_gap)),
            *((system, excess, (None, None)) for system, excess in one.against),
        )
    ]
    return render_csv(columns, rows)


def _build_difference_cell(score: Score, is_clear: bool = False) -> Shown:
    style = "strong" if is_clear else ""
    return Shown(_format_signed(score.value), score.value, style)


def _format_signed(value: float | None) -> str:
    return format_decimals(value, 2, is_signed=True)


def _format_signed_interval(score: Score) -> str:
    return format_decimals_span(score, 2, is_signed=True)

"""Matrices of mean scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.metrics.intervals import mean_interval
from ragassay.metrics.scoring import build_score, rounded
from ragassay.records import Score


@dataclass(frozen=True)
class Matrix:
    """A mean for each pair of names.

    Attributes:
        key: Used in file names.
        title: Shown to people.
        rows: Names of the rows.
        columns: Names of the columns.
        cells: shape (n_rows, n_columns); `n` and `n_unscored` count units of `unit`.
        row_title: Title of the rows.
        column_title: Title of the columns.
        unit: What a cell counts, in the plural: "questions", "ratings".
        n_questions: Questions behind any cell.
        own: Row and column of cells that compare something with itself.
        is_reflexive: Whether own cells compare a thing with itself and are uninformative.
        lower_is_better: Whether the lowest is the best.
    """

    key: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Score, ...], ...]
    row_title: str
    column_title: str
    unit: str
    n_questions: int
    own: frozenset[tuple[int, int]] = frozenset()
    is_reflexive: bool = False
    lower_is_better: bool = False


def clustered_score(
    values: Sequence[float],
    questions: Sequence[str],
    n_unscored: int = 0,
    scale: tuple[float, float] = (0.0, 1.0),
    judge: str = "",
    lower_is_better: bool = False,
) -> Score:
    """Return a mean with a bootstrap interval over questions.

    Args:
        values: shape (n,).
        questions: shape (n,), the question of each.
        n_unscored: The number of missing values.
        scale: Least and greatest value; without a greatest, unscored values leave no upper bound.
        judge: The model that gave the values.
        lower_is_better: Whether the lowest value is the best.

    Returns:
        Rounded to four digits; without a value where there is none.
    """
    n, total = len(values), math.fsum(values)
    interval = mean_interval(values, questions)
    ends = [
        (total + n_unscored * end) / (n + n_unscored) if n + n_unscored else None for end in scale
    ]
    worst, best = (
        end if end is not None and math.isfinite(end) else None
        for end in (reversed(ends) if lower_is_better else ends)
    )
    value = total / n if n else None
    bounds = (value, value) if n and not n_unscored else (worst, best)
    return rounded(build_score(value, n, n_unscored, interval, bounds, scale, judge))

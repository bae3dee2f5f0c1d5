"""Build a score from its value, its interval and what bounds it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragassay.metrics.intervals import Interval, mean_share_interval
from ragassay.records import Score

SHARE_SCALE = (0.0, 1.0)

_FIGURES = ("value", "decided", "low", "high", "worst", "best")


def build_score(
    value: float | None,
    n: int,
    n_unscored: int = 0,
    interval: Interval | None = None,
    bounds: tuple[float | None, float | None] = (None, None),
    scale: tuple[float, float] = SHARE_SCALE,
    judge: str = "",
) -> Score:
    """Return a score; `interval` is its low and high end, `bounds` are its worst and best case."""
    low, high = interval or (None, None)
    worst, best = bounds
    return Score(
        value=value,
        n=n,
        n_unscored=n_unscored,
        low=low,
        high=high,
        worst=worst,
        best=best,
        scale=scale,
        judge=judge,
    )


def mean_score(
    values: Sequence[float | None],
    scale: tuple[float, float] = SHARE_SCALE,
    judge: str = "",
) -> Score:
    """Return the mean of values on a scale; None is unscored.

    Args:
        values: shape (n_verdicts,).
        scale: Its lowest and highest value, which bound the mean where some are unscored.
        judge: The model that gave the verdicts.

    Returns:
        Rounded to four digits; of two shares or more with an interval, without a value for none.
    """
    known = [value for value in values if value is not None]
    total, n, n_missing = math.fsum(known), len(known), len(values) - len(known)
    interval = mean_share_interval(total, n) if scale == SHARE_SCALE and n > 1 else None
    worst, best = ((total + n_missing * end) / len(values) if values else None for end in scale)
    mean = total / n if n else None
    return rounded(build_score(mean, n, n_missing, interval, (worst, best), scale, judge))


def rounded(score: Score) -> Score:
    """Return a score with its figures rounded to four digits."""
    figures = {name: getattr(score, name) for name in _FIGURES}
    return score.model_copy(
        update={name: None if one is None else round(one, 4) for name, one in figures.items()}
    )

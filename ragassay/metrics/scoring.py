"""Build a score from its value, its interval and what bounds it."""

from __future__ import annotations

from ragassay.metrics.intervals import Interval
from ragassay.records import Score

SHARE_SCALE = (0.0, 1.0)

_FIGURES = ("value", "low", "high", "worst", "best")


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


def rounded(score: Score) -> Score:
    """Return a score with its figures rounded to four digits."""
    figures = {name: getattr(score, name) for name in _FIGURES}
    return score.model_copy(
        update={name: None if one is None else round(one, 4) for name, one in figures.items()}
    )

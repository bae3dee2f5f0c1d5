"""Compute 95 % intervals, and build scores with intervals and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragassay.records import Score

Interval = tuple[float, float]

N_DRAWS = 4000
"""Number of draws for a simulated interval, so that its ends vary by at most about 0.01."""

MOST_PICKS = 1_000_000
"""Maximum number of clusters to draw at a time, to limit memory use."""

SEED = 20250714

Z_95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""


def compute_mean(values: Iterable[float]) -> float | None:
    """Return the mean, or None if there are no values."""
    known = list(values)
    return math.fsum(known) / len(known) if known else None


def cluster_names(clusters: Sequence[str] | None, n: int) -> list[str]:
    """Return the names in `clusters`, or n different names if it is None."""
    return list(map(str, range(n))) if clusters is None else list(clusters)


def compute_share_interval(total: float, n: int) -> Interval | None:
    """Return the Wilson interval for a share or for a mean in [0, 1], or None if `n` is 0.

    The interval is conservative for values other than 0 and 1.

    Args:
        total: Number of hits, or sum of the values.

    Example:
        >>> low, high = compute_share_interval(8, 10)
        >>> round(low, 3), round(high, 3)
        (0.49, 0.943)
    """
    if n == 0:
        return None
    mean, spread = total / n, Z_95**2 / n
    middle = (mean + spread / 2) / (1 + spread)
    half = math.sqrt(mean * (1 - mean) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def compute_mean_interval(
    values: Sequence[float], clusters: Sequence[str] | None = None
) -> Interval | None:
    """Return a percentile bootstrap interval for a mean, or None for fewer than two clusters.

    Args:
        values: Values, shape (n,).
        clusters: Question of each value, shape (n,), or None if all values are independent.
    """
    names = cluster_names(clusters, len(values))
    groups: dict[str, list[float]] = {}
    for name, value in zip(names, values, strict=True):
        groups.setdefault(name, []).append(value)
    if len(groups) < 2:
        return None
    # Sorted by name, so that the order in which answers finish does not matter.
    sums = np.array([math.fsum(groups[name]) for name in sorted(groups)])
    sizes = np.array([len(groups[name]) for name in sorted(groups)])
    rng = np.random.default_rng(SEED)
    n_rows = max(1, MOST_PICKS // len(groups))
    means: list[float] = []
    while len(means) < N_DRAWS:
        rows = min(n_rows, N_DRAWS - len(means))
        picks = rng.integers(len(groups), size=(rows, len(groups)))
        means.extend(sums[picks].sum(axis=1) / sizes[picks].sum(axis=1))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def compute_rating_interval(distribution: Sequence[float], lowest: int = 1) -> Interval:
    """Return the central 95 % of a distribution over ratings.

    Args:
        distribution: Probabilities that sum to 1, shape (n_ratings,).
    """
    indices = np.searchsorted(np.cumsum(distribution) + 1e-9, (0.025, 0.975))
    low, high = np.minimum(indices, len(distribution) - 1) + lowest
    return float(low), float(high)


def f1_score(precision: float | None, recall: float | None) -> float | None:
    """Return the harmonic mean of precision and recall, or None if one is undefined.

    Example:
        >>> f1_score(0.5, 1.0)
        0.6666666666666666
    """
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def compute_f1_interval(precision: tuple[int, int], recall: tuple[int, int]) -> Interval | None:
    """Return an F1 interval from Jeffreys posteriors, or None if a number of trials is 0."""
    if not precision[1] or not recall[1]:
        return None
    rng = np.random.default_rng(SEED)
    p, r = (rng.beta(hits + 0.5, n - hits + 0.5, size=N_DRAWS) for hits, n in (precision, recall))
    low, high = np.quantile(2 * p * r / (p + r), [0.025, 0.975])
    value = f1_score(precision[0] / precision[1], recall[0] / recall[1]) or 0.0
    # Draws from a Jeffreys posterior never reach 0 or 1.
    return min(float(low), value), max(float(high), value)


N_SLOW_DRAWS = 1000
"""Number of bootstrap draws for statistics that are slow to compute."""

Statistic = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Function that maps how often each cluster is drawn, shape (n_draws, n_clusters), to a statistic,
shape (n_draws,). NaN means undefined."""


def bootstrap_interval(
    statistic: Statistic, n_clusters: int, n_draws: int = N_DRAWS
) -> Interval | None:
    """Return a 95 % percentile bootstrap interval by resampling clusters.

    Undefined draws are ignored.

    Returns:
        The interval, or None if there are fewer than two clusters or at least half of the draws are
        undefined.
    """
    if n_clusters < 2:
        return None
    rng = np.random.default_rng(SEED)
    uniform = np.full(n_clusters, 1 / n_clusters)
    n_rows = max(1, MOST_PICKS // n_clusters)
    parts: list[NDArray[np.float64]] = []
    for start in range(0, n_draws, n_rows):
        counts = rng.multinomial(n_clusters, uniform, size=min(n_rows, n_draws - start))
        with np.errstate(divide="ignore", invalid="ignore"):
            parts.append(statistic(counts))
    values = np.concatenate(parts)
    defined = values[np.isfinite(values)]
    if 2 * len(defined) <= n_draws:
        return None
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)


def sum_by_cluster(values: NDArray[np.floating], clusters: Sequence[str]) -> NDArray[np.float64]:
    """Return the sum of the values in each cluster.

    Returns:
        Sums ordered by cluster name, shape (n_clusters, ...).
    """
    names, ids = np.unique(np.asarray(clusters, dtype=object), return_inverse=True)
    sums = np.zeros((len(names), *np.shape(values)[1:]))
    np.add.at(sums, ids.reshape(-1), np.asarray(values, dtype=float))
    return sums


def compute_ratio_interval(
    hits: Sequence[float], sizes: Sequence[float], clusters: Sequence[str]
) -> Interval | None:
    """Return a bootstrap interval for sum(hits) / sum(sizes), or None for only one cluster.

    `hits`, `sizes` and `clusters` have the shape (n,).
    """
    sums = sum_by_cluster(np.column_stack([hits, sizes]), clusters)
    return bootstrap_interval(lambda w: (w @ sums[:, 0]) / (w @ sums[:, 1]), len(sums))


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
    """Build a score from its value, 95 % interval, and bounds (worst and best case)."""
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


def score_statistic(
    statistic: Statistic,
    n_clusters: int,
    n: int,
    n_unscored: int = 0,
    scale: tuple[float, float] = SHARE_SCALE,
    n_draws: int = N_DRAWS,
) -> Score:
    """Return the value of a statistic on all clusters, with its bootstrap interval."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(np.ones((1, n_clusters), dtype=np.int64))[0])
    if not math.isfinite(value):
        return build_score(None, n, n_unscored, scale=scale)
    interval = bootstrap_interval(statistic, n_clusters, n_draws)
    return build_score(value, n, n_unscored, interval, scale=scale)


def score_ratio(
    hits: Sequence[float], sizes: Sequence[float], clusters: Sequence[str], n_unscored: int = 0
) -> Score:
    """Return sum(hits) / sum(sizes) with its interval. `n` is sum(sizes)."""
    n = round(sum(sizes))
    interval = compute_ratio_interval(hits, sizes, clusters) if n else None
    return build_score(sum(hits) / n if n else None, n, n_unscored, interval)


def score_clustered_mean(
    values: Sequence[float],
    clusters: Sequence[str] | None = None,
    n_unscored: int = 0,
    scale: tuple[float, float] = SHARE_SCALE,
) -> Score:
    """Return the mean of values, with an interval computed by resampling clusters."""
    interval = compute_mean_interval(values, clusters)
    return build_score(compute_mean(values), len(values), n_unscored, interval, scale=scale)


def mean_score(
    values: Sequence[float | None], scale: tuple[float, float] = SHARE_SCALE, judge: str = ""
) -> Score:
    """Return the mean of values, rounded to four digits.

    Args:
        values: Values, shape (n_verdicts,). None means unscored.
        scale: Lowest and highest possible value, used for the bounds.

    Returns:
        The mean, which is None if all values are unscored. The mean has an interval if the scale is
        0 to 1 and at least two values are scored.
    """
    known = [value for value in values if value is not None]
    total, n, n_missing = math.fsum(known), len(known), len(values) - len(known)
    interval = compute_share_interval(total, n) if scale == SHARE_SCALE and n > 1 else None
    worst, best = ((total + n_missing * end) / len(values) if values else None for end in scale)
    mean = compute_mean(known)
    return round_score(build_score(mean, n, n_missing, interval, (worst, best), scale, judge))


def round_score(score: Score) -> Score:
    """Round the numbers of a score to four digits."""
    figures = {name: getattr(score, name) for name in _FIGURES}
    return score.model_copy(
        update={name: None if one is None else round(one, 4) for name, one in figures.items()}
    )

"""Bootstrap over questions for statistics other than a plain mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ragassay.metrics.intervals import MOST_PICKS, N_DRAWS, SEED, Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_SLOW_DRAWS = 1000
"""Draws of a statistic that a library computes one draw at a time."""

Statistic = Callable[["NDArray[np.int64]"], "NDArray[np.float64]"]
"""A function of how often each cluster was drawn, shape (n_draws, n_clusters); returns shape
(n_draws,), with nan for a draw in which the statistic is undefined."""


def bootstrap_interval(
    statistic: Statistic, n_clusters: int, n_draws: int = N_DRAWS
) -> Interval | None:
    """Return a 95 % percentile bootstrap interval, drawing whole clusters with replacement.

    Args:
        statistic: Computed from the drawn clusters.
        n_clusters: The number of clusters.
        n_draws: The number of draws.

    Returns:
        None for fewer than two clusters, and where the statistic is undefined in more than half
        of the draws; other undefined draws are left out.
    """
    if n_clusters < 2:
        return None
    import numpy as np

    rng = np.random.default_rng(SEED)
    even = np.full(n_clusters, 1 / n_clusters)
    n_rows = max(1, MOST_PICKS // n_clusters)
    parts: list[NDArray[np.float64]] = []
    for start in range(0, n_draws, n_rows):
        counts = rng.multinomial(n_clusters, even, size=min(n_rows, n_draws - start))
        with np.errstate(divide="ignore", invalid="ignore"):
            parts.append(statistic(counts))
    found = np.concatenate(parts)
    defined = found[np.isfinite(found)]
    if 2 * len(defined) <= n_draws:
        return None
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)


def sums_by_cluster(values: NDArray[np.floating], clusters: Sequence[str]) -> NDArray[np.float64]:
    """Sum values by cluster.

    Args:
        values: shape (n, ...).
        clusters: shape (n,), the question of each value.

    Returns:
        shape (n_clusters, ...), sorted by name, so that the order of the values does not matter.
    """
    import numpy as np

    names, places = np.unique(np.asarray(clusters, dtype=object), return_inverse=True)
    sums = np.zeros((len(names), *np.shape(values)[1:]))
    np.add.at(sums, places.reshape(-1), np.asarray(values, dtype=float))
    return sums


def ratio_interval(
    hits: Sequence[float], sizes: Sequence[float], clusters: Sequence[str]
) -> Interval | None:
    """Return a bootstrap interval of a ratio of sums: a share, a precision, an F1, a pooled score.

    Args:
        hits: shape (n,).
        sizes: shape (n,); the value is sum(hits) / sum(sizes).
        clusters: shape (n,), the question of each.

    Returns:
        None for fewer than two clusters.
    """
    import numpy as np

    sums = sums_by_cluster(np.column_stack([hits, sizes]), clusters)
    return bootstrap_interval(lambda w: (w @ sums[:, 0]) / (w @ sums[:, 1]), len(sums))

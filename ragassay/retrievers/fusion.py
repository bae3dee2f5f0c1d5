"""Fuse rankings that do not share a scale."""

from __future__ import annotations

from collections.abc import Sequence

RRF_K = 60
"""Damps the first ranks; Cormack et al. fixed it on pilot runs and it is rarely changed."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], k: int = RRF_K
) -> list[tuple[str, float]]:
    """Fuse rankings by the sum of their reciprocal ranks.

    RRF(d) = sum over r in R with d in r of 1 / (k + r(d))   (Cormack, Clarke & Büttcher 2009,
    SIGIR, section 2)

    Args:
        rankings: Ids, best first, ranks counted from 1. A ranking need not contain every id: a
            missing one adds nothing. An id that occurs twice in a ranking counts at its best.
        k: At least 0; the larger, the less the first ranks dominate.

    Returns:
        Each id once with its score in (0, n_rankings / (k + 1)], best first. Ties keep the order of
        first appearance, ranking by ranking. Empty without a ranking.

    Raises:
        ValueError: `k` is negative.

    Example:
        >>> [d for d, _ in reciprocal_rank_fusion([["a", "b", "c"], ["b", "d"]])]
        ['b', 'a', 'd', 'c']
    """
    if k < 0:
        raise ValueError(f"k is {k}: give 0 or more (60 in the paper)")
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, identifier in enumerate(dict.fromkeys(ranking), start=1):
            scores[identifier] = scores.get(identifier, 0.0) + 1 / (k + rank)
    return sorted(scores.items(), key=lambda item: -item[1])

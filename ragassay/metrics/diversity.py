"""Measure how little a ranking repeats itself: alpha-nDCG with the items of a test bank."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence


def alpha_ndcg(
    ranking: Sequence[str],
    subtopics: Mapping[str, Collection[str]],
    k: int = 20,
    alpha: float = 0.5,
) -> float | None:
    """Return alpha-nDCG@k (Clarke et al. 2008; as ndeval computes it).

    The gain of a passage at rank r is sum((1 - alpha)^(times seen before)) over its subtopics, and
    is divided by log2(r + 1). The ideal ranking is built greedily, as finding the best is NP-hard;
    among equal gains the last id in the order of text is taken, as in ndeval.

    Args:
        ranking: Passages, the best first.
        subtopics: The subtopics of each judged passage; others have none.
        k: The last rank that counts.
        alpha: How much a repeated subtopic loses, in [0, 1].

    Returns:
        In [0, 1] unless the greedy ideal is not the best; None where no passage has a subtopic.

    Example:
        >>> alpha_ndcg(["a", "b"], {"a": {"s", "t"}, "b": {"s"}})
        1.0
    """
    ideal = _dcg(_ideal(subtopics, k, alpha))
    if not ideal:
        return None
    seen: dict[str, int] = {}
    gains: list[float] = []
    for name in ranking[:k]:
        found = subtopics.get(name, ())
        gains.append(_gain(found, seen, alpha))
        _see(found, seen)
    return _dcg(gains) / ideal


def _ideal(subtopics: Mapping[str, Collection[str]], k: int, alpha: float) -> list[float]:
    left = {name: subtopics[name] for name in sorted(subtopics, reverse=True) if subtopics[name]}
    seen: dict[str, int] = {}
    gains: list[float] = []
    while left and len(gains) < k:
        best = max(left, key=lambda name: _gain(left[name], seen, alpha))
        found = left.pop(best)
        gains.append(_gain(found, seen, alpha))
        _see(found, seen)
    return gains


def _gain(found: Iterable[str], seen: Mapping[str, int], alpha: float) -> float:
    return math.fsum((1 - alpha) ** seen.get(one, 0) for one in found)


def _see(found: Iterable[str], seen: dict[str, int]) -> None:
    for one in found:
        seen[one] = seen.get(one, 0) + 1


def _dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))

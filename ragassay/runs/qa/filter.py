"""Keep the pairs that a judge rated well: the evaluator as a filter (Wan et al. 2024, figure 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragassay.errors import InputError
from ragassay.records import (
    RACAR,
    RACAR_SCALE,
    Evaluation,
    QAPair,
    RacarDimension,
    RacarRating,
)


@dataclass(frozen=True)
class Kept:
    """The pairs that a filter keeps, and the others.

    Attributes:
        pairs: Those that are kept, in order.
        dropped: Ids of the others, with the dimensions that were rated too low.
        unrated: Ids of pairs that lack a rating that is asked for; they are not kept.
    """

    pairs: tuple[QAPair, ...]
    dropped: Mapping[str, tuple[RacarDimension, ...]]
    unrated: tuple[str, ...]


def filter_pairs(evaluations: Iterable[Evaluation], least: Mapping[RacarDimension, float]) -> Kept:
    """Keep the pairs whose score is at least as high as asked for, in each dimension named.

    Args:
        evaluations: Of papers with their pairs.
        least: Least score, 1 to 3, by dimension; dimensions that are not named do not count.
    """
    kept: list[QAPair] = []
    dropped: dict[str, tuple[RacarDimension, ...]] = {}
    unrated: list[str] = []
    for evaluation in evaluations:
        scores = {(r.pair, r.dimension): r.score for r in evaluation.of(RacarRating)}
        for pair in evaluation.pairs:
            own = {name: scores.get((pair.id, name)) for name in RACAR if name in least}
            low = {name for name, one in own.items() if one is not None and one < least[name]}
            if low:
                dropped[pair.id] = tuple(name for name in RACAR if name in low)
            elif None in own.values():
                unrated.append(pair.id)
            else:
                kept.append(pair)
    return Kept(tuple(kept), dropped, tuple(unrated))


def least_scores(given: Iterable[str]) -> dict[RacarDimension, float]:
    """Read least scores: "2" for all dimensions, "accuracy=2.5" for one; the last one counts.

    Raises:
        InputError: There is no such dimension, or the score is not between 1 and 3.

    Example:
        >>> least_scores(["accuracy=3"])
        {'accuracy': 3.0}
    """
    found: dict[RacarDimension, float] = {}
    low, high = RACAR_SCALE
    for text in given:
        name, _, score = text.rpartition("=")
        named: tuple[RacarDimension, ...] = tuple(one for one in RACAR if name in ("", one))
        try:
            value = float(score)
        except ValueError:
            value = -1.0
        if not named or not low <= value <= high:
            raise InputError(
                f"--least {text}: expected a score from {low} to {high}, or DIMENSION=SCORE with "
                f"{', '.join(RACAR)}"
            )
        found |= dict.fromkeys(named, value)
    return found

"""Align nuggets one to one (BioACE, section 4.1.1) and compute nuggetizer scores.

A judge assigns a label a(n) to each gold nugget n. With N as the set of gold nuggets and N_v as the
set of vital gold nuggets, the scores are (Pradeep et al. 2025, arXiv 2504.15068):

- strict_vital = |{n in N_v : a(n) = support}| / |N_v|
- strict_all = |{n in N : a(n) = support}| / |N|
- vital = (|{n in N_v : a(n) = support}| + |{n in N_v : a(n) = partial_support}| / 2) / |N_v|
- all = (|{n in N : a(n) = support}| + |{n in N : a(n) = partial_support}| / 2) / |N|
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import (
    build_score,
    compute_mean,
    compute_share_interval,
    round_score,
)
from ragassay.records import Assignment, Importance, MixtureComponent, NuggetMatch, Score


def mask_repeats(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return a mask that is false for repeated texts, ignoring case and whitespace.

    In BioACE, a repeated nugget can match a second gold nugget and raise recall. To prevent this,
    restrict the allowed pairs: `align_optimally(similarity, counts & mask_repeats(texts))`.
    """
    plain = [" ".join(text.casefold().split()) for text in texts]
    return np.array([text not in plain[:i] for i, text in enumerate(plain)], dtype=bool)


def compute_same_probability(
    similarity: NDArray[np.floating], components: Sequence[MixtureComponent]
) -> NDArray[np.float64]:
    """Return the probability that two nuggets state the same fact, from their cosine similarity.

    The probability is the responsibility of the mixture component with the larger mean, as returned
    by scikit-learn's `BayesianGaussianMixture.predict_proba` with a stick-breaking prior (Bishop
    2006, section 10.2). With unequal variances, the responsibility has a turning point outside the
    interval between the two means. Unlike in BioACE, the probability is constant beyond the turning
    point, so that it never decreases with similarity.

    Args:
        similarity: Cosine similarities in [-1, 1], of any shape.

    Returns:
        Probabilities in [0, 1] with the shape of `similarity`.
    """
    from scipy.special import expit

    position = int(components[1].mean > components[0].mean)
    high, low = components[position], components[1 - position]
    x = np.asarray(similarity, dtype=np.float64)
    curvature = 1 / low.variance - 1 / high.variance
    if curvature:
        turn = (low.mean / low.variance - high.mean / high.variance) / curvature
        x = np.maximum(x, turn) if curvature > 0 else np.minimum(x, turn)
    weights = _compute_log_weights(components)
    odds = _compute_log_density(x, high) - _compute_log_density(x, low)
    return expit(odds + weights[position] - weights[1 - position])


def _compute_log_weights(components: Sequence[MixtureComponent]) -> list[float]:
    from scipy.special import digamma

    weights: list[float] = []
    log_rest = 0.0
    for component in components:
        a, b = component.weight_concentration
        weights.append(float(digamma(a) - digamma(a + b)) + log_rest)
        log_rest += float(digamma(b) - digamma(a + b))
    return weights


def _compute_log_density(
    x: NDArray[np.float64], component: MixtureComponent
) -> NDArray[np.float64]:
    """Return a component's expected log density, up to a constant shared by all components."""
    from scipy.special import digamma

    freedom = component.degrees_of_freedom
    spread = float(digamma(freedom / 2)) - np.log(freedom) - 1 / component.mean_precision
    distance = (x - component.mean) ** 2 / component.variance
    return 0.5 * (spread - np.log(component.variance) - distance)


def align_greedily(
    similarity: NDArray[np.floating], counts: NDArray[np.bool_]
) -> tuple[NuggetMatch, ...]:
    """Pair gold and answer nuggets one to one, most similar pairs first.

    BioACE's program accepts pairs in order of decreasing probability if both nuggets are still
    unmatched. Because `compute_same_probability` never decreases with similarity, ordering pairs by
    similarity differs from BioACE only for pairs with equal probability. `align_optimally` never
    finds fewer pairs than `align_greedily`.

    Args:
        similarity: Cosine similarities, shape (n_gold, n_answer).
        counts: Mask of allowed pairs, shape (n_gold, n_answer).

    Returns:
        Matches ordered by gold nugget.
    """
    pairs = [(int(g), int(a)) for g, a in zip(*counts.nonzero(), strict=True)]
    pairs.sort(key=lambda pair: (-similarity[pair], pair[1], pair[0]))
    matches: dict[int, int] = {}
    for gold, nugget in pairs:
        if gold not in matches and nugget not in matches.values():
            matches[gold] = nugget
    return tuple(_build_match(similarity, *pair) for pair in sorted(matches.items()))


def align_optimally(
    similarity: NDArray[np.floating], counts: NDArray[np.bool_]
) -> tuple[NuggetMatch, ...]:
    """Pair gold and answer nuggets one to one, maximizing the sum of similarity + 1.

    The arguments and the result are the same as in `align_greedily`. Adding 1 ensures that an
    additional pair never lowers the sum.
    """
    from scipy.optimize import linear_sum_assignment

    if 0 in similarity.shape:
        return ()
    # Disallowed pairs have value 0 and never displace an allowed pair.
    rows, columns = linear_sum_assignment(counts * (similarity + 1.0), maximize=True)
    return tuple(
        _build_match(similarity, int(g), int(a))
        for g, a in zip(rows, columns, strict=True)
        if counts[g, a]
    )


def _build_match(similarity: NDArray[np.floating], gold: int, nugget: int) -> NuggetMatch:
    cosine = round(float(similarity[gold, nugget]), 4)
    return NuggetMatch(gold=gold, nugget=nugget, similarity_score=cosine)


PARTIAL_CREDITS = {"strict_vital": 0.0, "strict_all": 0.0, "vital": 0.5, "all": 0.5}
"""Credit for a partially supported nugget in each nuggetizer score."""

Labels = Sequence[Assignment | None]


def list_credits(labels: Labels, vital: Sequence[bool]) -> dict[str, list[float | None]]:
    """Return the credits of the nuggets that count for each nuggetizer score.

    Args:
        labels: Assigned labels, shape (n_nuggets,). None means unscored.
        vital: Whether each nugget is vital, shape (n_nuggets,).

    Returns:
        Credits in [0, 1], keyed by score. None stands for an unscored nugget.

    Raises:
        InputError: If the lengths differ.
    """
    if len(labels) != len(vital):
        raise InputError(
            f"found {len(labels)} labels for {len(vital)} nuggets; pass one label for each nugget"
        )
    credits: dict[str, list[float | None]] = {}
    for name, partial in PARTIAL_CREDITS.items():
        credit = {"support": 1.0, "partial_support": partial, "not_support": 0.0, None: None}
        counted = vital if name.endswith("vital") else [True] * len(labels)
        credits[name] = [credit[label] for label in itertools.compress(labels, counted)]
    return credits


def average_credits(labels: Labels, vital: Sequence[bool]) -> dict[str, float | None]:
    """Return the four nuggetizer scores in [0, 1], ignoring unscored nuggets.

    A score is None if there are no scored nuggets for it.

    Raises:
        InputError: If the lengths differ.

    Example:
        >>> average_credits(["support", "not_support", "partial_support"], [True, True, False])
        {'strict_vital': 0.5, 'strict_all': 0.3333333333333333, 'vital': 0.5, 'all': 0.5}
    """
    credits = list_credits(labels, vital)
    return {
        name: compute_mean(one for one in own if one is not None) for name, own in credits.items()
    }


def score_assignments(
    labels: Labels, importance: Sequence[Importance | None], judge: str
) -> dict[str, Score]:
    """Return the four nuggetizer scores with bounds.

    The lower bound assumes that all unscored nuggets are unsupported, and the upper bound assumes
    that all are fully supported.

    Args:
        labels: Assigned labels, shape (n_nuggets,). None means unscored.
        importance: Importance of each nugget, shape (n_nuggets,). None (unknown) counts as not
            vital.

    Returns:
        The scores "nuggets.strict_vital", "nuggets.strict_all", "nuggets.vital" and "nuggets.all".
        A score is left out if no nugget counts for it.

    Raises:
        InputError: If the lengths differ.
    """
    credits = list_credits(labels, [one == "vital" for one in importance])
    return {f"nuggets.{name}": _score_credits(own, judge) for name, own in credits.items() if own}


def compute_nuggetizer_scores(
    labels: Labels, importance: Sequence[Importance | None]
) -> dict[str, Score]:
    """Return the four nuggetizer scores as computed by the nuggetizer's own program.

    Unlike in `score_assignments`, unscored nuggets count as unsupported, and a score is 0 if no
    nugget counts for it.

    Returns:
        The scores "nuggetizer.strict_vital", "nuggetizer.strict_all", "nuggetizer.vital" and
        "nuggetizer.all".

    Raises:
        InputError: If the lengths differ.

    Example:
        >>> scores = compute_nuggetizer_scores(["support", None], ["vital", "vital"])
        >>> scores["nuggetizer.vital"].value
        0.5
    """
    known: Labels = [label or "not_support" for label in labels]
    vital = [one == "vital" for one in importance]
    return {
        f"nuggetizer.{name}": round_score(
            build_score(value or 0.0, sum(vital) if name.endswith("vital") else len(vital))
        )
        for name, value in average_credits(known, vital).items()
    }


def _score_credits(credits: Sequence[float | None], judge: str) -> Score:
    known = [one for one in credits if one is not None]
    n_unscored, total = len(credits) - len(known), sum(known)
    bounds = total / len(credits), (total + n_unscored) / len(credits)
    interval = compute_share_interval(total, len(known))
    return round_score(
        build_score(compute_mean(known), len(known), n_unscored, interval, bounds, judge=judge)
    )

"""Nuggets: one-to-one alignment (BioACE, section 4.1.1), and the nuggetizer's four scores.

A judge assigns gold nuggets to an answer. With N the gold nuggets and N_v the vital ones (Pradeep
et al. 2025, arXiv 2504.15068):

- strict_vital = |{n in N_v : a(n) = support}| / |N_v|
- strict_all = |{n in N : a(n) = support}| / |N|
- vital = (|{n in N_v : a(n) = support}| + |{n in N_v : a(n) = partial_support}| / 2) / |N_v|
- all = (|{n in N : a(n) = support}| + |{n in N : a(n) = partial_support}| / 2) / |N|
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import build_score, mean_of, round_score, share_interval
from ragassay.records import Assignment, Importance, MixtureComponent, NuggetMatch, Score


def first_of_each(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts do not repeat an earlier one, ignoring case and spaces.

    Without this, as in BioACE, a copy of a nugget that is close to two gold nuggets is paired with
    the second one. With `align_optimally(similarity, counts & first_of_each(texts))` a copy never
    raises recall.
    """
    seen: set[str] = set()
    plain = [" ".join(text.casefold().split()) for text in texts]
    # `add` returns None: a new text becomes a seen one.
    return np.array([not (text in seen or seen.add(text)) for text in plain], dtype=bool)


def same_probability(
    similarity: NDArray[np.floating], components: Sequence[MixtureComponent]
) -> NDArray[np.float64]:
    """Return the probability that a pair of nuggets states the same fact, given cosine similarity.

    This is the responsibility of the component with the larger mean, as scikit-learn's
    `BayesianGaussianMixture.predict_proba` gives it for a stick-breaking prior (Bishop 2006,
    section 10.2). It differs from BioACE in one place. Where the two variances differ, the
    responsibility of a plain mixture is not monotonic: above some high similarity a wide low
    component takes over again, below some low one a wide high component. Beyond that turning point
    the probability is held constant, so that it never falls as similarity grows. The turning point
    is never between the two means.

    Args:
        similarity: Any shape, in [-1, 1].
        components: Two.

    Returns:
        The shape of `similarity`, in [0, 1], non-decreasing in it.
    """
    from scipy.special import expit

    position = int(components[1].mean > components[0].mean)
    high, low = components[position], components[1 - position]
    place = np.asarray(similarity, dtype=np.float64)
    bend = 1 / low.variance - 1 / high.variance
    if bend:
        turn = (low.mean / low.variance - high.mean / high.variance) / bend
        place = np.maximum(place, turn) if bend > 0 else np.minimum(place, turn)
    weights = _log_weights(components)
    odds = _log_density(place, high) - _log_density(place, low)
    return expit(odds + weights[position] - weights[1 - position])


def _log_weights(components: Sequence[MixtureComponent]) -> list[float]:
    """Return the expected logarithms of the weights of a stick-breaking process."""
    from scipy.special import digamma

    found: list[float] = []
    left = 0.0
    for component in components:
        taken, rest = component.weight_concentration
        found.append(float(digamma(taken) - digamma(taken + rest)) + left)
        left += float(digamma(rest) - digamma(taken + rest))
    return found


def _log_density(place: NDArray[np.float64], component: MixtureComponent) -> NDArray[np.float64]:
    """Return a component's expected log density, up to a constant that both share."""
    from scipy.special import digamma

    freedom = component.degrees_of_freedom
    spread = float(digamma(freedom / 2)) - np.log(freedom) - 1 / component.mean_precision
    distance = (place - component.mean) ** 2 / component.variance
    return 0.5 * (spread - np.log(component.variance) - distance)


def align_greedily(
    similarity: NDArray[np.floating], counts: NDArray[np.bool_]
) -> tuple[NuggetMatch, ...]:
    """Pair gold nuggets with the answer's nuggets one to one, the most similar pair first.

    As BioACE's program does: it goes through the pairs by falling probability of the same fact and
    takes each whose nuggets are both free. That probability does not fall with similarity here (see
    `same_probability`), so that the order is the same but among pairs of equal probability, which
    BioACE takes by position and this by similarity. `align_optimally` never finds fewer.

    Args:
        similarity: shape (n_gold, n_answer), cosine similarities.
        counts: The same shape; the allowed pairs.

    Returns:
        Ordered by gold nugget; empty where no pair is allowed.
    """
    pairs = [(int(g), int(a)) for g, a in zip(*counts.nonzero(), strict=True)]
    pairs.sort(key=lambda pair: (-similarity[pair], pair[1], pair[0]))
    golds: set[int] = set()
    own: set[int] = set()
    taken: list[tuple[int, int]] = []
    for gold, nugget in pairs:
        if gold not in golds and nugget not in own:
            golds.add(gold)
            own.add(nugget)
            taken.append((gold, nugget))
    return tuple(_match(similarity, *pair) for pair in sorted(taken))


def align_optimally(
    similarity: NDArray[np.floating], counts: NDArray[np.bool_]
) -> tuple[NuggetMatch, ...]:
    """Pair gold nuggets with the answer's nuggets one to one, as similar as possible in sum.

    Args and result as of `align_greedily`. Similarities are counted from -1, so that another pair
    never lowers the sum.
    """
    from scipy.optimize import linear_sum_assignment

    if 0 in similarity.shape:
        return ()
    # A pair that is not allowed has no value, so that it blocks no other.
    rows, columns = linear_sum_assignment(counts * (similarity + 1.0), maximize=True)
    return tuple(
        _match(similarity, int(g), int(a))
        for g, a in zip(rows, columns, strict=True)
        if counts[g, a]
    )


def _match(similarity: NDArray[np.floating], gold: int, nugget: int) -> NuggetMatch:
    cosine = round(float(similarity[gold, nugget]), 4)
    return NuggetMatch(gold=gold, nugget=nugget, similarity_score=cosine)


PARTIAL_CREDITS = {"strict_vital": 0.0, "strict_all": 0.0, "vital": 0.5, "all": 0.5}
"""Credit of a partly supported nugget, by score."""

Labels = Sequence[Assignment | None]


def assignment_credits(labels: Labels, vital: Sequence[bool]) -> dict[str, list[float | None]]:
    """Return the credit of each nugget that counts in a score, by score.

    Args:
        labels: shape (n_nuggets,); None where unscored.
        vital: shape (n_nuggets,).

    Returns:
        Credits in [0, 1]; None where unscored.

    Raises:
        InputError: The lengths differ.
    """
    if len(labels) != len(vital):
        raise InputError(
            f"{len(labels)} labels for {len(vital)} nuggets: there must be one for each nugget"
        )
    found: dict[str, list[float | None]] = {}
    for name, partial in PARTIAL_CREDITS.items():
        credit = {"support": 1.0, "partial_support": partial, "not_support": 0.0, None: None}
        wanted = vital if name.endswith("vital") else [True] * len(labels)
        found[name] = [credit[one] for one, counts in zip(labels, wanted, strict=True) if counts]
    return found


def assignment_values(labels: Labels, vital: Sequence[bool]) -> dict[str, float | None]:
    """Return the four scores, in [0, 1]; unscored nuggets are left out, None is a score of none.

    Raises:
        InputError: The lengths differ.

    Example:
        >>> assignment_values(["support", "not_support", "partial_support"], [True, True, False])
        {'strict_vital': 0.5, 'strict_all': 0.3333333333333333, 'vital': 0.5, 'all': 0.5}
    """
    credits = assignment_credits(labels, vital)
    return {name: mean_of(one for one in own if one is not None) for name, own in credits.items()}


def assignment_scores(
    labels: Labels, importance: Sequence[Importance | None], judge: str
) -> dict[str, Score]:
    """Return the four scores with bounds; an unscored nugget may be fully supported, or not at all.

    Args:
        labels: shape (n_nuggets,); None where unscored.
        importance: shape (n_nuggets,). A nugget without one counts among all nuggets only.

    Returns:
        Keyed "nuggets.strict_vital", "nuggets.strict_all", "nuggets.vital", "nuggets.all"; without
        the vital ones where no nugget is vital, empty without nuggets.

    Raises:
        InputError: The lengths differ.
    """
    credits = assignment_credits(labels, [one == "vital" for one in importance])
    return {f"nuggets.{name}": _score(own, judge) for name, own in credits.items() if own}


def nuggetizer_scores(labels: Labels, importance: Sequence[Importance | None]) -> dict[str, Score]:
    """Return the four scores as the nuggetizer's own program gives them, for published tables.

    A nugget whose assignment failed counts as not supported, and an answer without nuggets, or
    without vital ones, has 0. `assignment_scores` leaves both out.

    Returns:
        Keyed "nuggetizer.strict_vital", "nuggetizer.strict_all", "nuggetizer.vital" and
        "nuggetizer.all".

    Raises:
        InputError: The lengths differ.

    Example:
        >>> nuggetizer_scores(["support", None], ["vital", "vital"])["nuggetizer.vital"].value
        0.5
    """
    known: Labels = [label or "not_support" for label in labels]
    vital = [one == "vital" for one in importance]
    return {
        f"nuggetizer.{name}": round_score(
            build_score(value or 0.0, sum(vital) if name.endswith("vital") else len(vital))
        )
        for name, value in assignment_values(known, vital).items()
    }


def _score(credits: Sequence[float | None], judge: str) -> Score:
    known = [one for one in credits if one is not None]
    n_unscored, total = len(credits) - len(known), sum(known)
    bounds = total / len(credits), (total + n_unscored) / len(credits)
    interval = share_interval(total, len(known))
    return round_score(
        build_score(mean_of(known), len(known), n_unscored, interval, bounds, judge=judge)
    )

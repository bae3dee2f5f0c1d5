"""The reliability of a judge's confidence, and the bound from which it is right often enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import (
    SEED,
    cluster_names,
    clustered_mean,
    share_interval,
    statistic_score,
    sums_by_cluster,
)
from ragassay.records import Bound, BoundLevel, Failure, Score

N_BINS = 10


@dataclass(frozen=True)
class ReliabilityBin:
    """Labels of about the same confidence.

    Attributes:
        low: Lower end of the bin, excluded (except 0).
        high: Upper end, included.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True)
class Calibration:
    """A judge's confidence against how often it is right.

    Attributes:
        error: Expected calibration error; lower is better.
        brier: Mean squared difference of confidence and outcome; lower is better.
        bins: Of equal width, from 0 to 1.
    """

    error: Score
    brier: Score
    bins: tuple[ReliabilityBin, ...]


def calibration(
    confidences: Sequence[float | None],
    is_right: Sequence[bool],
    questions: Sequence[str] | None = None,
    n_bins: int = N_BINS,
) -> Calibration:
    """Return expected calibration error, Brier score and the bins of a reliability plot.

    ECE = sum over bins of n_b / n * |accuracy_b - confidence_b|, bins of equal width, closed above
    (Guo et al. 2017, arXiv 1706.04599, equation 3). Both use the probability of the given label
    only. ECE is biased upwards in small samples, and so are the ends of its bootstrap interval.

    Args:
        confidences: shape (n,), the probability of the given label, in [0, 1]; None where the
            model gave none: left out and counted.
        is_right: shape (n,), whether the label is the human one.
        questions: shape (n,), the question of each label; intervals resample questions.

    Raises:
        InputError: Lengths differ, or a confidence is not a probability.
    """
    names = cluster_names(questions, len(is_right))
    if not len(confidences) == len(is_right) == len(names):
        raise InputError(f"{len(confidences)} confidences for {len(is_right)} labels")
    kept = [
        (c, float(r), q)
        for c, r, q in zip(confidences, is_right, names, strict=True)
        if c is not None
    ]
    wrong = next((c for c, *_ in kept if not 0 <= c <= 1), None)
    if wrong is not None:
        raise InputError(f"a confidence is {wrong}: it must be between 0 and 1")
    confidence = np.array([c for c, *_ in kept])
    right = np.array([r for _, r, _ in kept])
    clusters = [q for *_, q in kept]
    # 0.7 * 10 is slightly above 7, and 0.7 belongs to the bin that ends there.
    ends = np.ceil((confidence * n_bins).round(9)).astype(int)
    places = np.clip(ends - 1, 0, n_bins - 1)
    cells = np.zeros((len(kept), n_bins, 3))
    cells[np.arange(len(kept)), places] = np.column_stack([np.ones(len(kept)), confidence, right])
    n_unscored = len(is_right) - len(kept)
    sums = sums_by_cluster(cells, clusters)

    def errors_of_draws(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        drawn = np.tensordot(counts, sums, axes=1)
        return np.abs(drawn[:, :, 1] - drawn[:, :, 2]).sum(axis=1) / drawn[:, :, 0].sum(axis=1)

    return Calibration(
        error=statistic_score(errors_of_draws, len(sums), len(kept), n_unscored),
        brier=clustered_mean(list((confidence - right) ** 2), clusters, n_unscored),
        bins=tuple(_bin(i, n_bins, *cell) for i, cell in enumerate(cells.sum(axis=0))),
    )


def _bin(place: int, n_bins: int, n: float, confidence: float, right: float) -> ReliabilityBin:
    return ReliabilityBin(
        low=place / n_bins,
        high=(place + 1) / n_bins,
        n=int(n),
        confidence=float(confidence / n) if n else None,
        accuracy=float(right / n) if n else None,
    )


THRESHOLDS = tuple(round(1 - 10 ** (-step / 10), 4) for step in range(30, 1, -1))
"""From 0.999 down to 0.369, evenly spaced in the logarithm of the doubt."""

N_STARTS = 4
"""Places at which testing starts. With one, at the top, too few verdicts would end it there."""


def risk_bound(
    label: str,
    confidences: Sequence[float],
    is_right: Sequence[bool],
    *,
    risk: float,
    delta: float = 0.1,
    clusters: Sequence[str] | None = None,
    level: BoundLevel = "verdict",
    data: str = "",
    thresholds: Sequence[float] = THRESHOLDS,
) -> Bound:
    """Return the least threshold with a risk that is kept: P(wrong | confidence >= it) <= `risk`.

    Verdicts on one question depend on each other, so one of each question is drawn at random and
    the others are left out: the risk is that of a verdict on a question that is drawn anew. What is
    drawn is independent, and an exact binomial test applies. From each of `N_STARTS` places, evenly
    spaced, thresholds are tested downwards at delta / `N_STARTS` until one fails (the paper's fixed
    sequence testing, with several starts).

    Args:
        label: The kind of verdict; the following are of this kind alone.
        confidences: shape (n_verdicts,), in [0, 1].
        is_right: shape (n_verdicts,).
        risk: Largest share of wrong ones among those admitted, in (0, 1).
        delta: Largest probability that the threshold found does not keep the risk.
        clusters: shape (n_verdicts,), the question of each verdict; by default all differ.
        level: What the bound admits.
        data: The data's name.
        thresholds: In the order in which they are tested, chosen without a look at the data.

    Returns:
        With `n`, coverage, precision and its interval among the verdicts drawn; without a threshold
        where none keeps the risk, as for an empty input.

    Raises:
        InputError: The lengths differ.

    Example:
        >>> found = risk_bound("supports", [0.95] * 90 + [0.4] * 90, [True] * 90 + [False] * 90,
        ...                    risk=0.1)
        >>> found.threshold, found.coverage, found.precision
        (0.4988, 0.5, 1.0)
    """
    groups = cluster_names(clusters, len(confidences))
    if not len(confidences) == len(is_right) == len(groups):
        raise InputError("a confidence, a bool and a cluster are needed for each verdict")
    drawn = _one_of_each(groups)
    sure = np.array(confidences, dtype=float)[drawn]
    wrong = ~np.array(is_right, dtype=bool)[drawn]
    threshold = _find_threshold(sure, wrong, thresholds, risk, delta)
    kept = sure >= threshold if threshold is not None else np.zeros(len(sure), dtype=bool)
    interval = share_interval(int((~wrong[kept]).sum()), int(kept.sum()))
    low, high = (round(end, 4) for end in interval) if interval else (None, None)
    return Bound(
        label=label,
        level=level,
        threshold=threshold,
        risk=risk,
        delta=delta,
        precision=round(1 - float(wrong[kept].mean()), 4) if kept.any() else None,
        low=low,
        high=high,
        n_measured=int(kept.sum()),
        coverage=round(float(kept.mean()), 4) if len(kept) else 0.0,
        n=len(drawn),
        data=data,
    )


def _one_of_each(groups: Sequence[str]) -> list[int]:
    """Draw the place of one member of each group."""
    order = np.random.default_rng(SEED).permutation(len(groups))
    drawn = {groups[place]: int(place) for place in order}
    return sorted(drawn.values())


def _find_threshold(
    sure: NDArray[np.float64],
    wrong: NDArray[np.bool_],
    thresholds: Sequence[float],
    risk: float,
    delta: float,
) -> float | None:
    """Return the least threshold that is rejected as too risky from some start."""
    from scipy.stats import binom

    def p_value(threshold: float) -> float:
        kept = sure >= threshold
        return float(binom.cdf(int(wrong[kept].sum()), int(kept.sum()), risk))

    passed: list[float] = []
    for start in range(0, len(thresholds), -(-len(thresholds) // N_STARTS) or 1):
        for threshold in thresholds[start:]:
            if p_value(threshold) > delta / N_STARTS:
                break
            passed.append(threshold)
    return min(passed, default=None)


def bound_of(
    bounds: Sequence[Bound], label: str, level: BoundLevel, kind: str = ""
) -> Bound | None:
    """Return the bound of a kind of verdict, or else that of all kinds; None where it has none."""
    known = {one.kind: one for one in bounds if (one.label, one.level) == (label, level)}
    return known.get(kind, known.get(""))


def explain_undecided(
    bound: Bound, tentative_label: str, confidence: float, cosine: float | None = None
) -> Failure | None:
    """Return why a tentative label is not enough for a verdict; None where it is.

    `cosine` is that of the claim with the closest sentence, for a bound with a least cosine.

    Example:
        >>> bound = Bound(label="contradicts", threshold=0.93, risk=0.2, delta=0.1, n=300,
        ...               precision=0.86, n_measured=120, data="SciFact")
        >>> explain_undecided(bound, "contradicts", 0.71).detail
        'leans to contradicts at 0.71; it decides from 0.93 up: right in 86 % of 120 on SciFact'
    """
    if bound.admits(confidence, cosine):
        return None
    tendency = f"leans to {tentative_label.replace('_', ' ')} at {confidence:.2f}"
    if bound.threshold is None and not bound.is_tested:
        detail = f"{tendency}; too few such verdicts were measured to decide"
    elif bound.threshold is None:
        detail = f"{tendency}; at no confidence is that right often enough to decide"
    elif confidence >= bound.threshold and cosine is not None:
        detail = (
            f"{tendency}, but the closest sentence has a cosine of {cosine:.2f} with the claim; it "
            f"decides from {bound.least_cosine:.2f} up"
        )
    else:
        detail = f"{tendency}; it decides from {bound.threshold:.2f} up"
    return Failure.left_open(f"{detail}{_describe_precision(bound)}")


def _describe_precision(bound: Bound) -> str:
    """Say how often the verdicts that a bound was measured on were right; empty if unknown."""
    if bound.precision is None or not bound.n_measured:
        return ""
    data = f" on {bound.data}" if bound.data else ""
    return f": right in {100 * bound.precision:.0f} % of {bound.n_measured:,}{data}"

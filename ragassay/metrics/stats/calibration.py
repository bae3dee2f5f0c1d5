"""Measure the calibration of confidences, and fit confidence thresholds that bound the risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import (
    SEED,
    cluster_names,
    compute_share_interval,
    score_clustered_mean,
    score_statistic,
    sum_by_cluster,
)
from ragassay.records import Bound, BoundLevel, Failure, Score

N_BINS = 10


@dataclass(frozen=True)
class ReliabilityBin:
    """A bin of the reliability diagram, for labels with similar confidences.

    Attributes:
        low: Lower end of the bin, which is exclusive except for 0.
        high: Upper end of the bin, which is inclusive.
        confidence: Mean confidence, or None if the bin is empty.
        accuracy: Share of correct labels, or None if the bin is empty.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True)
class Calibration:
    """Calibration of a judge's confidences.

    Attributes:
        error: Expected calibration error. Lower is better.
        brier: Brier score, the mean squared error of the confidences. Lower is better.
    """

    error: Score
    brier: Score
    bins: tuple[ReliabilityBin, ...]


def measure_calibration(
    confidences: Sequence[float | None],
    is_right: Sequence[bool],
    questions: Sequence[str] | None = None,
    n_bins: int = N_BINS,
) -> Calibration:
    """Compute the expected calibration error, the Brier score and reliability diagram bins.

    ECE = sum over bins of n_b / n * |accuracy_b - confidence_b| (Guo et al. 2017, arXiv 1706.04599,
    equation 3). ECE and the Brier score use only the probability of the predicted label. ECE and
    its bootstrap interval are biased upwards in small samples.

    Args:
        confidences: Probability of each predicted label, shape (n,). None means unknown.
        is_right: Whether each label equals the human label, shape (n,).
        questions: Question of each label, shape (n,), used to resample questions for intervals.

    Raises:
        InputError: If the lengths differ or a confidence is outside [0, 1].
    """
    names = cluster_names(questions, len(is_right))
    if not len(confidences) == len(is_right) == len(names):
        raise InputError(
            f"found {len(confidences)} confidences for {len(is_right)} labels; the numbers must "
            "be equal"
        )
    known = [
        (c, float(r), q)
        for c, r, q in zip(confidences, is_right, names, strict=True)
        if c is not None
    ]
    invalid = next((c for c, *_ in known if not 0 <= c <= 1), None)
    if invalid is not None:
        raise InputError(f"confidence {invalid} is not between 0 and 1")
    confidence = np.array([c for c, *_ in known])
    right = np.array([r for _, r, _ in known])
    clusters = [q for *_, q in known]
    cells = _sort_into_bins(confidence, right, n_bins)
    n_unscored = len(is_right) - len(known)
    sums = sum_by_cluster(cells, clusters)

    def compute_errors(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        drawn = np.tensordot(counts, sums, axes=1)
        return np.abs(drawn[:, :, 1] - drawn[:, :, 2]).sum(axis=1) / drawn[:, :, 0].sum(axis=1)

    return Calibration(
        error=score_statistic(compute_errors, len(sums), len(known), n_unscored),
        brier=score_clustered_mean(list((confidence - right) ** 2), clusters, n_unscored),
        bins=tuple(_build_bin(i, n_bins, *cell) for i, cell in enumerate(cells.sum(axis=0))),
    )


def _sort_into_bins(
    confidence: NDArray[np.float64], right: NDArray[np.float64], n_bins: int
) -> NDArray[np.float64]:
    """Return (1, confidence, right) of each label in the label's bin, shape (n, n_bins, 3)."""
    # Rounded because 0.7 * 10 is slightly above 7, but 0.7 belongs to the bin that ends there.
    ends = np.ceil((confidence * n_bins).round(9)).astype(int)
    n = len(confidence)
    cells = np.zeros((n, n_bins, 3))
    indices = np.clip(ends - 1, 0, n_bins - 1)
    cells[np.arange(n), indices] = np.column_stack([np.ones(n), confidence, right])
    return cells


def _build_bin(
    index: int, n_bins: int, n: float, confidence: float, right: float
) -> ReliabilityBin:
    return ReliabilityBin(
        low=index / n_bins,
        high=(index + 1) / n_bins,
        n=int(n),
        confidence=float(confidence / n) if n else None,
        accuracy=float(right / n) if n else None,
    )


THRESHOLDS = tuple(round(1 - 10 ** (-step / 10), 4) for step in range(30, 1, -1))
"""Thresholds from 0.999 down to 0.369, evenly spaced in log(1 - threshold)."""

N_STARTS = 4
"""Number of thresholds from which testing starts, because few verdicts may reach the highest one.
"""


def find_risk_bound(
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
    """Return the lowest threshold with P(wrong | confidence >= threshold) <= `risk`.

    Because verdicts on the same question are dependent, one verdict per question is drawn at
    random. The risk therefore applies to a verdict on a random question, and an exact binomial test
    is valid. Fixed sequence testing with several starts is used. From each of `N_STARTS` evenly
    spaced thresholds, ever lower thresholds are tested at the level delta / `N_STARTS` until one
    fails.

    Args:
        confidences: Confidences in [0, 1], shape (n_verdicts,).
        is_right: Whether each verdict is correct, shape (n_verdicts,).
        risk: Maximum share of wrong verdicts among the accepted verdicts, in (0, 1).
        delta: Maximum probability that the share of wrong verdicts exceeds `risk`.
        clusters: Question of each verdict, shape (n_verdicts,), or None if all questions differ.
        thresholds: Thresholds in test order, which must be chosen independently of the data.

    Returns:
        The bound, with coverage and precision measured on the drawn verdicts. `threshold` is None
        if no threshold limits the share of wrong verdicts to `risk`.

    Raises:
        InputError: If the lengths differ.

    Example:
        >>> confidences, is_right = [0.95] * 90 + [0.4] * 90, [True] * 90 + [False] * 90
        >>> bound = find_risk_bound("supports", confidences, is_right, risk=0.1)
        >>> bound.threshold, bound.coverage, bound.precision
        (0.4988, 0.5, 1.0)
    """
    groups = cluster_names(clusters, len(confidences))
    if not len(confidences) == len(is_right) == len(groups):
        raise InputError("confidences, is_right and clusters must have the same length")
    # One random verdict per question.
    order = np.random.default_rng(SEED).permutation(len(groups))
    drawn = sorted({groups[i]: int(i) for i in order}.values())
    confidence = np.array(confidences, dtype=float)[drawn]
    wrong = ~np.array(is_right, dtype=bool)[drawn]
    threshold = _find_threshold(confidence, wrong, thresholds, risk, delta)
    accepted = confidence >= (np.inf if threshold is None else threshold)
    interval = compute_share_interval(int((~wrong[accepted]).sum()), int(accepted.sum()))
    low, high = (round(end, 4) for end in interval) if interval else (None, None)
    return Bound(
        label=label,
        level=level,
        threshold=threshold,
        risk=risk,
        delta=delta,
        precision=round(1 - float(wrong[accepted].mean()), 4) if accepted.any() else None,
        low=low,
        high=high,
        n_measured=int(accepted.sum()),
        coverage=round(float(accepted.mean()), 4) if len(accepted) else 0.0,
        n=len(drawn),
        data=data,
    )


def _find_threshold(
    confidence: NDArray[np.float64],
    wrong: NDArray[np.bool_],
    thresholds: Sequence[float],
    risk: float,
    delta: float,
) -> float | None:
    """Return the lowest threshold that passed its test, or None if none did."""
    from scipy.stats import binom

    def compute_p_value(threshold: float) -> float:
        accepted = confidence >= threshold
        return float(binom.cdf(int(wrong[accepted].sum()), int(accepted.sum()), risk))

    passed: list[float] = []
    for start in range(0, len(thresholds), -(-len(thresholds) // N_STARTS) or 1):
        for threshold in thresholds[start:]:
            if compute_p_value(threshold) > delta / N_STARTS:
                break
            passed.append(threshold)
    return min(passed, default=None)


def find_bound(
    bounds: Sequence[Bound], label: str, level: BoundLevel, kind: str = ""
) -> Bound | None:
    """Return the bound for a kind of verdict or, if there is none, for all kinds."""
    known = {one.kind: one for one in bounds if (one.label, one.level) == (label, level)}
    return known.get(kind, known.get(""))


def explain_undecided(
    bound: Bound, tentative_label: str, confidence: float, cosine: float | None = None
) -> Failure | None:
    """Return the reason why a label remains tentative, or None if it meets the bound.

    `cosine` is the cosine similarity between the claim and the closest sentence.

    Example:
        >>> bound = Bound(label="contradicts", threshold=0.93, risk=0.2, delta=0.1, n=300)
        >>> explain_undecided(bound, "contradicts", 0.71).detail
        'the tentative label "contradicts" has confidence 0.71, below the threshold of 0.93'
    """
    if bound.admits(confidence, cosine):
        return None
    label = tentative_label.replace("_", " ")
    tendency = f'the tentative label "{label}" has confidence {confidence:.2f}'
    if bound.threshold is None and not bound.is_tested:
        detail = f"{tendency}, but too few such verdicts were measured to set a threshold"
    elif bound.threshold is None:
        detail = f"{tendency}, but such verdicts are not reliable at any threshold"
    elif confidence >= bound.threshold and cosine is not None:
        detail = (
            f"{tendency}, but the closest sentence has a cosine of {cosine:.2f} with the claim, "
            f"below the threshold of {bound.least_cosine:.2f}"
        )
    else:
        detail = f"{tendency}, below the threshold of {bound.threshold:.2f}"
    if bound.precision is not None and bound.n_measured:
        data = f" on {bound.data}" if bound.data else ""
        detail += f" ({100 * bound.precision:.0f} % of {bound.n_measured:,} correct{data})"
    return Failure.leave_open(detail)

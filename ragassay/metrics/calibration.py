"""Measure how reliable a judge's confidence is: calibration error, Brier score, bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.metrics.intervals import mean_interval
from ragassay.metrics.resampling import bootstrap_interval, sums_by_cluster
from ragassay.metrics.scoring import build_score
from ragassay.records import Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_BINS = 10


@dataclass(frozen=True)
class ReliabilityBin:
    """Labels of about the same confidence.

    Attributes:
        low: Lower end of the bin, excluded (except 0).
        high: Upper end, included.
        n: Labels in it.
        confidence: Their mean confidence; None without one.
        accuracy: The share of them that are right; None without one.
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
        n_bins: The number of bins.

    Raises:
        InputError: Lengths differ, or a confidence is not a probability.
    """
    import numpy as np

    names = list(questions) if questions is not None else [str(i) for i in range(len(is_right))]
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
    return Calibration(
        error=_error(sums_by_cluster(cells, clusters), len(kept), n_unscored),
        brier=_brier(confidence, right, clusters, n_unscored),
        bins=tuple(_bin(i, n_bins, *cell) for i, cell in enumerate(cells.sum(axis=0))),
    )


def _error(sums: NDArray[np.float64], n: int, n_unscored: int) -> Score:
    import numpy as np

    def of_draws(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        drawn = np.tensordot(counts, sums, axes=1)
        return np.abs(drawn[:, :, 1] - drawn[:, :, 2]).sum(axis=1) / drawn[:, :, 0].sum(axis=1)

    value = float(of_draws(np.ones((1, len(sums)), dtype=np.int64))[0]) if n else None
    return build_score(value, n, n_unscored, bootstrap_interval(of_draws, len(sums)))


def _brier(
    confidence: NDArray[np.float64],
    right: NDArray[np.float64],
    clusters: Sequence[str],
    n_unscored: int,
) -> Score:
    from sklearn.metrics import brier_score_loss

    if not len(right):
        return Score(value=None, n=0, n_unscored=n_unscored)
    value = float(brier_score_loss(right, confidence, pos_label=1, labels=[0, 1]))
    interval = mean_interval(list((confidence - right) ** 2), clusters)
    return build_score(value, len(right), n_unscored, interval)


def _bin(place: int, n_bins: int, n: float, confidence: float, right: float) -> ReliabilityBin:
    return ReliabilityBin(
        low=place / n_bins,
        high=(place + 1) / n_bins,
        n=int(n),
        confidence=float(confidence / n) if n else None,
        accuracy=float(right / n) if n else None,
    )

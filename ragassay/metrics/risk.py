"""Find the confidence from which on a judge is right often enough, and apply it.

Learn then Test (Angelopoulos, Bates, Candès, Jordan and Lei 2021, arXiv 2110.01052): thresholds are
tested in an order fixed in advance, so that the one found keeps its risk with probability 1 - delta
whatever the model and however few the data. Confidences need not be calibrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.metrics.intervals import SEED, share_interval
from ragassay.records import Bound, BoundLevel, Failure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    import numpy as np

    groups = list(clusters) if clusters is not None else list(map(str, range(len(confidences))))
    if not len(confidences) == len(is_right) == len(groups):
        raise InputError("a confidence, a bool and a cluster are needed for each verdict")
    drawn = _one_of_each(groups)
    sure = np.array(confidences, dtype=float)[drawn]
    wrong = ~np.array(is_right, dtype=bool)[drawn]
    threshold = _tested(sure, wrong, thresholds, risk, delta)
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
    import numpy as np

    order = np.random.default_rng(SEED).permutation(len(groups))
    drawn = {groups[place]: int(place) for place in order}
    return sorted(drawn.values())


def _tested(
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


def undecided(
    bound: Bound, leaning: str, confidence: float, cosine: float | None = None
) -> Failure | None:
    """Return why a leaning is not enough for a verdict, in words; None where it is.

    Args:
        bound: Of the leaning.
        leaning: The label.
        confidence: Its probability, in [0, 1].
        cosine: Of the claim with the closest sentence, for a bound with a least cosine.

    Example:
        >>> bound = Bound(label="contradicts", threshold=0.93, risk=0.2, delta=0.1, n=300,
        ...               precision=0.86, n_measured=120, data="SciFact")
        >>> undecided(bound, "contradicts", 0.71).detail
        'leans to contradicts at 0.71; it decides from 0.93 up: right in 86 % of 120 on SciFact'
    """
    if bound.admits(confidence, cosine):
        return None
    said = f"leans to {leaning.replace('_', ' ')} at {confidence:.2f}"
    if bound.threshold is None and not bound.is_tested:
        detail = f"{said}; too few such verdicts were measured to decide"
    elif bound.threshold is None:
        detail = f"{said}; at no confidence is that right often enough to decide"
    elif confidence >= bound.threshold and cosine is not None:
        detail = (
            f"{said}, but the closest sentence has a cosine of {cosine:.2f} with the claim; it "
            f"decides from {bound.least_cosine:.2f} up"
        )
    else:
        detail = f"{said}; it decides from {bound.threshold:.2f} up"
    return Failure(reason="undecided", detail=f"{detail}{_measured(bound)}")


def _measured(bound: Bound) -> str:
    """Say how often the verdicts that a bound was measured on were right; empty if unknown."""
    if bound.precision is None or not bound.n_measured:
        return ""
    data = f" on {bound.data}" if bound.data else ""
    return f": right in {100 * bound.precision:.0f} % of {bound.n_measured:,}{data}"

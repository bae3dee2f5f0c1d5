"""Thresholds of a verifier's shares: find the best on labelled claims, and decide by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from ragassay.errors import InputError
from ragassay.records.base import Frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_STEPS = 40
"""Steps of the grid on which two thresholds are looked for."""


class Thresholds(Frozen):
    """The shares from which labels count.

    Attributes:
        supports: Share of support, of support and neither together, from which a claim is
            supported; with two labels simply its share.
        contradicts: The same of contradiction; None with two labels.
    """

    supports: float = Field(ge=0, le=1)
    contradicts: float | None = Field(default=None, ge=0, le=1)


UNFITTED = Thresholds(supports=0.5, contradicts=0.5)
"""With these the largest share is the label."""


def decided_shares(shares: NDArray[np.float64], thresholds: Thresholds) -> NDArray[np.float64]:
    """Weigh shares so that the largest is the label that thresholds decide on.

    A share p with threshold t is weighed by (1 - t) / t against "neutral": with two labels,
    support is the larger one exactly where p >= t. With three, t is the threshold against neutral.

    Args:
        shares: shape (n, 3), of supports, contradicts, neutral; rows of nan stay.
        thresholds: Without one of contradiction, its share counts as neutral.

    Returns:
        Shape (n, 3), rows summing to 1.

    Example:
        >>> import numpy as np
        >>> decided_shares(np.array([[0.2, 0.0, 0.8]]), Thresholds(supports=0.2)).round(2).tolist()
        [[0.5, 0.0, 0.5]]
    """
    import numpy as np

    supports, contradicts = thresholds.supports, thresholds.contradicts
    if contradicts is None:
        rest = shares[:, 1] + shares[:, 2]
        shares = np.column_stack([shares[:, 0], np.zeros(len(shares)), rest])
        contradicts = 0.5
    # Multiplied out: a threshold may be 0. The order of the products makes ties exact.
    weighed = np.column_stack(
        [
            shares[:, 0] * ((1 - supports) * contradicts),
            shares[:, 1] * ((1 - contradicts) * supports),
            shares[:, 2] * (supports * contradicts),
        ]
    )
    total = weighed.sum(axis=1, keepdims=True)
    return np.where(total > 0, weighed / np.where(total > 0, total, 1), shares)


def best_threshold(scores: Sequence[float], truth: Sequence[bool]) -> tuple[float, float]:
    """Return the threshold with the highest F1, and that F1 (BioACE, section 2.2).

    BioACE searches 0 to 1 by Optuna; here every threshold that divides the scores is tried. (Its
    released program counts unsupported claims as the positive ones; section 4.2 says that
    supported ones are, as here.)

    Args:
        scores: shape (n,), higher is more attributable.
        truth: shape (n,), whether people called the claim attributable.

    Returns:
        In the middle between the lowest score at or above it and the one below; below all scores,
        the middle to 0. Of thresholds with the same F1 the highest.

    Raises:
        InputError: The lengths differ, or no claim is attributable.

    Example:
        >>> best_threshold([0.9, 0.6, 0.2], [True, True, False])
        (0.4, 1.0)
    """
    import numpy as np

    if len(scores) != len(truth):
        raise InputError(f"{len(scores)} scores for {len(truth)} labels")
    n_true = sum(truth)
    if not n_true:
        raise InputError("no claim is attributable: there is no F1 to fit a threshold to")
    values, given = np.array(scores, dtype=float), np.array(truth, dtype=float)
    order = np.argsort(-values, kind="stable")
    values, hits = values[order], given[order].cumsum()
    f1 = 2 * hits / (np.arange(1, len(values) + 1) + n_true)
    # Claims of one score are on one side.
    is_last = np.append(values[1:] != values[:-1], True)
    best = int(np.argmax(np.where(is_last, f1, -1.0)))
    below = values[best + 1] if best + 1 < len(values) else 0.0
    return float((values[best] + below) / 2), float(f1[best])


def best_thresholds(shares: NDArray[np.float64], truth: Sequence[int]) -> tuple[Thresholds, float]:
    """Return the two thresholds with the highest macro-F1 over three labels, and that macro-F1.

    Args:
        shares: shape (n, 3), of supports, contradicts, neutral.
        truth: shape (n,), people's labels: 0, 1 or 2, as the columns.

    Returns:
        On a grid of steps of 1 / `N_STEPS`; of equal ones that closest to no threshold at all.

    Raises:
        InputError: The lengths differ, or there is no claim.
    """
    import numpy as np

    if not len(truth) or len(shares) != len(truth):
        raise InputError(f"{len(shares)} shares for {len(truth)} labels")
    given = np.array(truth)
    steps = [i / N_STEPS for i in range(1, N_STEPS)]
    pairs = [Thresholds(supports=s, contradicts=c) for s in steps for c in steps]
    pairs.sort(key=lambda t: abs(t.supports - 0.5) + abs((t.contradicts or 0.0) - 0.5))
    labels = sorted({*given.tolist()})

    def macro_f1(thresholds: Thresholds) -> float:
        said = decided_shares(shares, thresholds).argmax(axis=1)
        named = sorted({*labels, *said.tolist()})
        counts = [((given == x) & (said == x)).sum() for x in named]
        sizes = [(given == x).sum() + (said == x).sum() for x in named]
        return float(np.mean([2 * n / size for n, size in zip(counts, sizes, strict=True)]))

    found = [macro_f1(pair) for pair in pairs]
    best = int(np.argmax(found))
    return pairs[best], found[best]

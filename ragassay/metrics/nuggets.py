"""Nugget precision, recall and F1 by one-to-one alignment (BioACE, section 4.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.records import NuggetMatch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def align(similarity: NDArray[np.floating], threshold: float) -> tuple[NuggetMatch, ...]:
    """Pair gold nuggets with the answer's nuggets, each used once, as much as can be.

    One to one, where BioACE counts every similar pair: an answer that repeats a fact cannot be
    credited for it twice. BioACE tunes the threshold by a Gaussian mixture and Optuna; here it is
    given.

    Args:
        similarity: shape (n_gold, n_answer), cosine similarities.
        threshold: Pairs below it do not count; one at the threshold does.

    Returns:
        The pairs of the largest sum of similarities, counted from -1 so that a further pair never
        makes it smaller. By gold nugget; empty where a side is empty.
    """
    from scipy.optimize import linear_sum_assignment

    if 0 in similarity.shape:
        return ()
    # A pair below the threshold is worth nothing, so that it keeps no other from being made.
    counts = similarity >= threshold
    rows, columns = linear_sum_assignment(counts * (similarity + 1.0), maximize=True)
    return tuple(
        NuggetMatch(gold=int(g), nugget=int(a), similarity_score=round(float(similarity[g, a]), 4))
        for g, a in zip(rows, columns, strict=True)
        if counts[g, a]
    )


def f1_score(precision: float | None, recall: float | None) -> float | None:
    """Harmonic mean of precision and recall; 0 where both are, None where either is undefined.

    Example:
        >>> f1_score(0.5, 1.0)
        0.6666666666666666
    """
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

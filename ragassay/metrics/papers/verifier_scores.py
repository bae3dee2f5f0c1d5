"""Compute SummaC and AlignScore, and fit decision thresholds for verifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ragassay.errors import InputError
from ragassay.records.base import Frozen

PERCENTILE_BINS = (
    *(0.0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37, 0.90, 0.91, 0.92, 0.93),
    *(0.94, 0.95, 0.955, 0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 1.0),
)
"""Bin edges for SummaC-Conv's published weights: percentiles of the entailment probability."""

N_ROWS = 10
"""Maximum number of text sentences that SummaC-Conv uses."""


def summac_zs(entailment: NDArray[np.float64], contradiction: NDArray[np.float64]) -> float:
    """Return SummaC-ZS (Laban et al. 2022, section 3.2).

    SummaC-ZS is the mean of max_i E[i, j] - max_i C[i, j] over text sentences j, as computed by the
    authors' program.

    Args:
        entailment: Probabilities E, shape (n_document_sentences, n_text_sentences).
        contradiction: Probabilities C, shape (n_document_sentences, n_text_sentences).

    Returns:
        A value in [-1, 1], or 0 if there are no sentences.

    Example:
        >>> import numpy as np
        >>> round(summac_zs(np.array([[0.9], [0.2]]), np.array([[0.0], [0.3]])), 2)
        0.6
    """
    if not entailment.size:
        return 0.0
    return float((entailment.max(axis=0) - contradiction.max(axis=0)).mean())


def summac_conv(
    entailment: NDArray[np.float64], weights: Mapping[str, NDArray[np.float64]]
) -> float:
    """Return SummaC-Conv, the probability of a consistent text (Laban et al. 2022, section 3.3).

    For each of the first `N_ROWS` text sentences, the entailment probabilities are counted in bins,
    and the counts are summed with weights. A final layer with two classes reads the mean of these
    sums.

    Args:
        entailment: Probabilities, shape (n_document_sentences, n_text_sentences).
        weights: Published weights "mlp.weight" (1, n_bins), "mlp.bias" (1,), "layer_final.weight"
            (2, 3) and "layer_final.bias" (2,).
    """
    from scipy.special import softmax

    columns = entailment.T[:N_ROWS] if entailment.size else np.zeros((1, 1))
    counts = np.array([np.histogram(column, bins=PERCENTILE_BINS)[0] for column in columns])
    rows = counts @ weights["mlp.weight"][0] + weights["mlp.bias"][0]
    features = np.full(3, rows.mean())
    logits = weights["layer_final.weight"] @ features + weights["layer_final.bias"]
    return float(softmax(logits)[1])


def align_score(aligned: NDArray[np.float64]) -> float:
    """Return AlignScore, the mean alignment of each sentence with its best chunk.

    AlignScore is the mean of max_i P(aligned | i, j) over text sentences j (Zha et al. 2023,
    section 3.3).

    Args:
        aligned: Alignment probabilities, shape (n_chunks, n_text_sentences).

    Returns:
        A value in [0, 1], or 0 if there are no sentences.

    Example:
        >>> import numpy as np
        >>> align_score(np.array([[0.25, 1.0], [0.75, 0.5]]))
        0.875
    """
    return float(aligned.max(axis=0).mean()) if aligned.size else 0.0


def split_chunks(sentences: Sequence[str], n_words: int = 350) -> list[str]:
    """Join a document's sentences into chunks in the same way as AlignScore's program.

    All chunks have the same number of sentences, which is chosen so that a chunk has at most about
    `n_words` words. The last chunk can be shorter.

    Example:
        >>> split_chunks(["a b c.", "d e.", "f g."], n_words=8)
        ['a b c. d e. f g.']
        >>> split_chunks(["a b c.", "d e.", "f g."], n_words=4)
        ['a b c.', 'd e.', 'f g.']
    """
    n_chunks = sum(len(sentence.split()) for sentence in sentences) // n_words + 1
    size = max(len(sentences) // n_chunks, 1)
    return [" ".join(sentences[i : i + size]) for i in range(0, len(sentences), size)] or [""]


def fill_chunks(sentences: Sequence[str], size: int, length_of: Callable[[str], int]) -> list[str]:
    """Join sentences into chunks in the same way as MiniCheck's program (Tang et al. 2024).

    The length of a chunk, as measured by `length_of`, is at most `size`. A sentence that is longer
    than `size` is a separate chunk.

    Example:
        >>> fill_chunks(["a b.", "c.", "d e f g.", "h."], 3, lambda text: len(text.split()))
        ['a b. c.', 'd e f g.', 'h.']
    """
    chunks: list[list[str]] = [[]]
    room = size
    for sentence in sentences:
        length = length_of(sentence)
        if chunks[-1] and length > room:
            chunks.append([])
            room = size
        chunks[-1].append(sentence)
        room -= length
    return [" ".join(chunk) for chunk in chunks]


N_STEPS = 40


class Thresholds(Frozen):
    """Minimum probability shares at which a verifier's labels are accepted.

    Attributes:
        supports: Minimum of support / (support + neutral), or of support itself for two labels.
        contradicts: Minimum of contradiction / (contradiction + neutral), or None for two labels.
    """

    supports: float = Field(ge=0, le=1)
    contradicts: float | None = Field(default=None, ge=0, le=1)


def reweight_shares(shares: NDArray[np.float64], thresholds: Thresholds) -> NDArray[np.float64]:
    """Reweight shares so that the label selected by the thresholds has the largest share.

    Relative to the share of "neutral", a share with threshold t is multiplied by (1 - t) / t. With
    two labels, the share of support is largest if and only if it was at least t.

    Args:
        shares: Shares of supports, contradicts and neutral, shape (n, 3). Rows of NaN are returned
            unchanged.
        thresholds: Thresholds. If `contradicts` is None, contradiction counts as neutral.

    Returns:
        Shares with rows that sum to 1, shape (n, 3).

    Example:
        >>> import numpy as np
        >>> reweight_shares(np.array([[0.2, 0.0, 0.8]]), Thresholds(supports=0.2)).round(2).tolist()
        [[0.5, 0.0, 0.5]]
    """
    supports, contradicts = thresholds.supports, thresholds.contradicts
    if contradicts is None:
        rest = shares[:, 1] + shares[:, 2]
        shares = np.column_stack([shares[:, 0], np.zeros(len(shares)), rest])
        contradicts = 0.5
    # No division, because a threshold can be 0. The order of the products makes ties exact.
    weighted = np.column_stack(
        [
            shares[:, 0] * ((1 - supports) * contradicts),
            shares[:, 1] * ((1 - contradicts) * supports),
            shares[:, 2] * (supports * contradicts),
        ]
    )
    total = weighted.sum(axis=1, keepdims=True)
    return np.where(total > 0, weighted / np.where(total > 0, total, 1), shares)


def find_best_threshold(scores: Sequence[float], truth: Sequence[bool]) -> tuple[float, float]:
    """Return the threshold with the highest F1, and its F1 (BioACE, section 2.2).

    All thresholds that separate the scores are tried, whereas BioACE searches from 0 to 1 with
    Optuna. Supported claims are the positive class, as in BioACE's section 4.2 but unlike in its
    program.

    Args:
        scores: Scores, where higher means more attributable.
        truth: Whether humans labelled each claim attributable.

    Returns:
        The threshold and its F1. The threshold is midway between two adjacent scores, or between
        the lowest score and 0. If several thresholds have the same F1, the highest is returned.

    Raises:
        InputError: If the lengths differ or no claim is attributable.

    Example:
        >>> find_best_threshold([0.9, 0.6, 0.2], [True, True, False])
        (0.4, 1.0)
    """
    if len(scores) != len(truth):
        raise InputError(
            f"found {len(scores)} scores for {len(truth)} labels; pass one score for each label"
        )
    n_true = sum(truth)
    if not n_true:
        raise InputError("at least one attributable claim is required to fit a threshold")
    values, labelled = np.array(scores, dtype=float), np.array(truth, dtype=float)
    order = np.argsort(-values, kind="stable")
    values, hits = values[order], labelled[order].cumsum()
    f1 = 2 * hits / (np.arange(1, len(values) + 1) + n_true)
    # Claims with equal scores are on the same side of a threshold.
    is_last = np.append(values[1:] != values[:-1], True)
    best = int(np.argmax(np.where(is_last, f1, -1.0)))
    below = values[best + 1] if best + 1 < len(values) else 0.0
    return float((values[best] + below) / 2), float(f1[best])


def find_best_thresholds(
    shares: NDArray[np.float64], truth: Sequence[int]
) -> tuple[Thresholds, float]:
    """Return the two thresholds with the highest macro-F1 over three labels, and their macro-F1.

    Args:
        shares: Shares of supports, contradicts and neutral, shape (n, 3).
        truth: Human labels, shape (n,): 0 for supports, 1 for contradicts and 2 for neutral.

    Returns:
        The thresholds, on a grid with steps of 1 / `N_STEPS`, and their macro-F1. If several pairs
        have the same macro-F1, the pair closest to 0.5 is returned.

    Raises:
        InputError: If the lengths differ or there are no claims.
    """
    if not len(truth) or len(shares) != len(truth):
        raise InputError(
            f"found {len(shares)} shares for {len(truth)} labels; pass one share for each label"
        )
    labelled = np.array(truth)
    steps = [i / N_STEPS for i in range(1, N_STEPS)]
    pairs = [Thresholds(supports=s, contradicts=c) for s in steps for c in steps]
    pairs.sort(key=lambda t: abs(t.supports - 0.5) + abs((t.contradicts or 0.0) - 0.5))
    labels = sorted({*labelled.tolist()})

    def compute_macro_f1(thresholds: Thresholds) -> float:
        predicted = reweight_shares(shares, thresholds).argmax(axis=1)
        used = sorted({*labels, *predicted.tolist()})
        counts = [((labelled == x) & (predicted == x)).sum() for x in used]
        sizes = [(labelled == x).sum() + (predicted == x).sum() for x in used]
        return float(np.mean([2 * n / size for n, size in zip(counts, sizes, strict=True)]))

    scores = [compute_macro_f1(pair) for pair in pairs]
    best = int(np.argmax(scores))
    return pairs[best], scores[best]

"""Scores of verifiers: SummaC, AlignScore, and the best thresholds of a verifier's shares."""

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
"""Edges of the bins of SummaC-Conv's published weights: percentiles of entailment in summaries."""

N_ROWS = 10
"""Sentences of a text that SummaC-Conv looks at."""


def summac_zs(entailment: NDArray[np.float64], contradiction: NDArray[np.float64]) -> float:
    """Return SummaC-ZS: how far a document entails a text more than it contradicts it.

    mean over sentences j of (max over i of E[i, j] - max over i of C[i, j]) (Laban et al. 2022,
    section 3.2, as their program computes it: both maxima are taken apart)

    Both have the shape (n_document_sentences, n_text_sentences).

    Returns:
        In [-1, 1]; 0 where either has no sentence.

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
    """Return SummaC-Conv: a trained reading of how entailment is spread over a document.

    For each of the first `N_ROWS` sentences of the text, a histogram of its column of entailment
    over `PERCENTILE_BINS` is weighted; the mean goes into two classes, whose softmax gives the
    probability of a consistent text (Laban et al. 2022, section 3.3).

    Args:
        entailment: shape (n_document_sentences, n_text_sentences).
        weights: "mlp.weight" (1, n_bins), "mlp.bias" (1,), "layer_final.weight" (2, 3) and
            "layer_final.bias" (2,), as published.

    Returns:
        In [0, 1].
    """
    from scipy.special import softmax

    columns = entailment.T[:N_ROWS] if entailment.size else np.zeros((1, 1))
    counts = np.array([np.histogram(column, bins=PERCENTILE_BINS)[0] for column in columns])
    rows = counts @ weights["mlp.weight"][0] + weights["mlp.bias"][0]
    features = np.full(3, rows.mean())
    logits = weights["layer_final.weight"] @ features + weights["layer_final.bias"]
    return float(softmax(logits)[1])


def align_score(aligned: NDArray[np.float64]) -> float:
    """Return AlignScore: the mean over a text's sentences of the best chunk's alignment.

    mean over sentences j of max over chunks i of P(aligned | i, j) (Zha et al. 2023, section 3.3)

    `aligned` has the shape (n_chunks, n_text_sentences).

    Returns:
        In [0, 1]; 0 without a sentence.

    Example:
        >>> import numpy as np
        >>> align_score(np.array([[0.25, 1.0], [0.75, 0.5]]))
        0.875
    """
    return float(aligned.max(axis=0).mean()) if aligned.size else 0.0


def chunks_of(sentences: Sequence[str], n_words: int = 350) -> list[str]:
    """Cut a document's sentences into chunks as AlignScore's program does.

    One chunk more than `n_words` goes into the document's words, of equally many sentences; what is
    left over becomes a further one.

    Example:
        >>> chunks_of(["a b c.", "d e.", "f g."], n_words=8)
        ['a b c. d e. f g.']
        >>> chunks_of(["a b c.", "d e.", "f g."], n_words=4)
        ['a b c.', 'd e.', 'f g.']
    """
    n_chunks = sum(len(sentence.split()) for sentence in sentences) // n_words + 1
    size = max(len(sentences) // n_chunks, 1)
    return [" ".join(sentences[i : i + size]) for i in range(0, len(sentences), size)] or [""]


def filled_chunks(
    sentences: Sequence[str], size: int, length_of: Callable[[str], int]
) -> list[str]:
    """Cut a document's sentences into chunks as MiniCheck's program does (Tang et al. 2024).

    A chunk takes sentences until the next one would make it longer than `size`; a longer sentence
    is a chunk of its own.

    Returns:
        At least one chunk; an empty one for no sentences.

    Example:
        >>> filled_chunks(["a b.", "c.", "d e f g.", "h."], 3, lambda text: len(text.split()))
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

    A higher score is more attributable; `truth` says whether people called the claim so.

    Returns:
        In the middle between the lowest score at or above it and the one below; below all scores,
        the middle to 0. Of thresholds with the same F1 the highest.

    Raises:
        InputError: The lengths differ, or no claim is attributable.

    Example:
        >>> best_threshold([0.9, 0.6, 0.2], [True, True, False])
        (0.4, 1.0)
    """
    if len(scores) != len(truth):
        raise InputError(f"{len(scores)} scores for {len(truth)} labels")
    n_true = sum(truth)
    if not n_true:
        raise InputError("no claim is attributable: there is no F1 to fit a threshold to")
    values, labelled = np.array(scores, dtype=float), np.array(truth, dtype=float)
    order = np.argsort(-values, kind="stable")
    values, hits = values[order], labelled[order].cumsum()
    f1 = 2 * hits / (np.arange(1, len(values) + 1) + n_true)
    # Claims of one score are on one side.
    is_last = np.append(values[1:] != values[:-1], True)
    best = int(np.argmax(np.where(is_last, f1, -1.0)))
    below = values[best + 1] if best + 1 < len(values) else 0.0
    return float((values[best] + below) / 2), float(f1[best])


def best_thresholds(shares: NDArray[np.float64], truth: Sequence[int]) -> tuple[Thresholds, float]:
    """Return the two thresholds with the highest macro-F1 over three labels, and that macro-F1.

    `shares` are of supports, contradicts, neutral, shape (n, 3); `truth` people's labels: 0, 1 or
    2.

    Returns:
        On a grid of steps of 1 / `N_STEPS`; of equal ones that closest to no threshold at all.

    Raises:
        InputError: The lengths differ, or there is no claim.
    """
    if not len(truth) or len(shares) != len(truth):
        raise InputError(f"{len(shares)} shares for {len(truth)} labels")
    labelled = np.array(truth)
    steps = [i / N_STEPS for i in range(1, N_STEPS)]
    pairs = [Thresholds(supports=s, contradicts=c) for s in steps for c in steps]
    pairs.sort(key=lambda t: abs(t.supports - 0.5) + abs((t.contradicts or 0.0) - 0.5))
    labels = sorted({*labelled.tolist()})

    def macro_f1(thresholds: Thresholds) -> float:
        predicted = decided_shares(shares, thresholds).argmax(axis=1)
        named = sorted({*labels, *predicted.tolist()})
        counts = [((labelled == x) & (predicted == x)).sum() for x in named]
        sizes = [(labelled == x).sum() + (predicted == x).sum() for x in named]
        return float(np.mean([2 * n / size for n, size in zip(counts, sizes, strict=True)]))

    found = [macro_f1(pair) for pair in pairs]
    best = int(np.argmax(found))
    return pairs[best], found[best]

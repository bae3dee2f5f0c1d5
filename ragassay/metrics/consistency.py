"""Scores of a text against a document from scores of their sentences: SummaC and AlignScore.

BioACE (section 4.2) verifies citations with them: the document is the cited abstract, the text an
answer sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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

    Args:
        entailment: shape (n_document_sentences, n_text_sentences).
        contradiction: The same shape.

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
    import numpy as np
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

    Args:
        aligned: shape (n_chunks, n_text_sentences), in [0, 1].

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

    Args:
        sentences: The document's.
        size: Greatest length of a chunk.
        length_of: Measures a sentence.

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

"""Measure the positions of an answer's sentences relative to question, sources and each other.

All measures are cosines of sentence vectors of length 1, in [-1, 1].
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Placed:
    """An answer as vectors.

    Attributes:
        sentences: shape (n_sentences, n_dimensions).
        question: shape (n_dimensions,).
        sources: The sentences of all sources, shape (n_source_sentences, n_dimensions).
        owner: Which source each of them belongs to (0-based), shape (n_source_sentences,).
        cited: For each sentence of the answer, the sources that it cites (0-based).
    """

    sentences: Vectors
    question: Vectors
    sources: Vectors
    owner: NDArray[np.intp]
    cited: Sequence[Sequence[int]]

    @functools.cached_property
    def nearness(self) -> Vectors:
        """Cosines with the sentences of the sources, shape (n_sentences, n_source_sentences)."""
        if not len(self.sources):
            return np.zeros((len(self.sentences), 0), dtype=np.float32)
        return self.sentences @ self.sources.T


def sentence_geometry(placed: Placed) -> dict[str, list[float | None]]:
    """Return one value a sentence and measure; None where it does not apply.

    - source_support: the closest sentence of any source
    - cited_support: the closest sentence of the sources that it cites
    - question_relevance: the question
    - redundancy: the most similar other sentence of the answer
    - belonging: the rest of the answer, on average
    - flow: the sentence before
    """
    n = len(placed.sentences)
    among = placed.sentences @ placed.sentences.T
    np.fill_diagonal(among, np.nan)
    others = [row[~np.isnan(row)] for row in among]
    return {
        "source_support": [_most(row) for row in placed.nearness],
        "cited_support": [
            _most(row[np.isin(placed.owner, list(cited))]) if cited else None
            for row, cited in zip(placed.nearness, placed.cited, strict=True)
        ],
        "question_relevance": [float(v) for v in placed.sentences @ placed.question],
        "redundancy": [_most(row) for row in others],
        "belonging": [float(row.mean()) if len(row) else None for row in others],
        "flow": [None, *(float(among[i, i - 1]) for i in range(1, n))] if n else [],
    }


def twins(placed: Placed) -> list[int | None]:
    """Return the number (1-based) of each sentence's most similar one; None for a single."""
    among = placed.sentences @ placed.sentences.T
    np.fill_diagonal(among, -np.inf)
    return [int(row.argmax()) + 1 if len(row) > 1 else None for row in among]


def source_coverage(placed: Placed) -> list[float]:
    """Return how close the answer comes to each source sentence, shape (n_source_sentences,)."""
    if not len(placed.sentences) or not len(placed.sources):
        return []
    return [float(v) for v in placed.nearness.max(axis=0)]


def _most(row: Vectors) -> float | None:
    return float(row.max()) if len(row) else None

"""Measure how close a question is to a paper."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ragassay.text.sentences import sentences_of
from ragassay.text.words import tokenize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ManyEncoder(Protocol):
    """The part of `ragassay.models.embeddings.Embedder` that embeds a whole paper at once."""

    def encode_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of length 1, shape (n_texts, n_dimensions); (0, 0) without a text."""
        ...


class PaperSignals:
    """The sentences and words of a paper, read once; the last papers are kept.

    Args:
        embedder: Embeds sentences and questions.
    """

    def __init__(self, embedder: ManyEncoder) -> None:
        self._embedder = embedder
        self._read = functools.lru_cache(maxsize=8)(self._of)

    def _of(self, text: str) -> tuple[NDArray[np.float32], frozenset[str]]:
        return self._embedder.encode_many(sentences_of(text)), frozenset(tokenize(text))

    def measure(self, questions: Sequence[str], text: str) -> list[tuple[float, float]]:
        """Measure questions against a paper.

        Args:
            questions: The questions.
            text: The paper's text.

        Returns:
            For each question the cosine of the closest sentence, -1 to 1, and the share of its
            content words that the paper has; 0 where there is no sentence, or no word.
        """
        vectors, words = self._read(text)
        asked = self._embedder.encode_many(questions)
        cosines = (asked @ vectors.T).max(axis=1) if len(vectors) and len(asked) else None
        return [
            (float(cosines[place]) if cosines is not None else 0.0, _share(question, words))
            for place, question in enumerate(questions)
        ]


def _share(question: str, words: frozenset[str]) -> float:
    own = set(tokenize(question))
    return len(own & words) / len(own) if own else 0.0

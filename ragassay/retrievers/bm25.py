"""BM25 over small sets, by rank-bm25: the sources of a request, or a corpus that fits in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+(?:[-.]\w+)*")
_STOPWORDS = frozenset(
    "a an and are as at be been but by can for from had has have in into is it its may not of on "
    "or our than that the their there these they this those to was we were which with".split()
)


def tokenize(text: str) -> list[str]:
    """Lower-case words and numbers, stop words left out, plural endings stripped."""
    words = (match.group().lower() for match in _WORD.finditer(text))
    return [_stem(word) for word in words if word not in _STOPWORDS]


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


class Bm25Index:
    """An in-memory index. Each query scores every text: right for thousands, not for millions.

    Args:
        texts: What is searched; may be empty.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        from rank_bm25 import BM25Plus

        tokens = [tokenize(text) for text in texts]
        # BM25Okapi gives a negative weight to a word that more than half of a small set has.
        self._bm25 = BM25Plus(tokens) if any(tokens) else None

    def search(self, query: str, k: int | None = None) -> list[tuple[int, float]]:
        """The best `k` texts as (position, score), best first; ties in the texts' order."""
        import numpy as np

        words = tokenize(query)
        if self._bm25 is None or not words:
            return []
        scores = self._bm25.get_scores(words)
        order = np.argsort(-scores, kind="stable")[:k]
        return [(int(i), float(scores[i])) for i in order]


def rank(query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
    """Rank texts against a query; all of them, best first."""
    return Bm25Index(texts).search(query)

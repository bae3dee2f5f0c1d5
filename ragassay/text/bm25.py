"""BM25 over small sets, by rank-bm25: a request's sources, or a corpus that fits in memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ragassay.text.words import tokenize


class Bm25Index:
    """An in-memory index. Each query scores every text: right for thousands, not for millions.

    Args:
        texts: The texts to search; may be empty.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        from rank_bm25 import BM25Plus

        tokens = [tokenize(text) for text in texts]
        # BM25Okapi gives a negative weight to a word found in more than half of a small set.
        self._bm25 = BM25Plus(tokens) if any(tokens) else None

    def search(self, query: str, k: int | None = None) -> list[tuple[int, float]]:
        """Return the best `k` texts as (position, score), best first; ties in the texts' order.

        Texts that share no word with the query are left out: rank-bm25 adds its delta for each word
        of the query to every text, while Lv & Zhai (2011) add it only for words in the text.
        """
        import numpy as np

        if self._bm25 is None:
            return []
        words = [word for word in tokenize(query) if word in self._bm25.idf]
        asked = set(words)
        scores = self._bm25.get_scores(words)
        order = np.argsort(-scores, kind="stable")
        matching = (int(i) for i in order if not asked.isdisjoint(self._bm25.doc_freqs[i]))
        return [(i, float(scores[i])) for i in itertools.islice(matching, k)]


def rank(query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
    """Return all texts as (position, score), best first; 0 where no word is shared."""
    found = Bm25Index(texts).search(query)
    rest = set(range(len(texts))).difference(position for position, _ in found)
    return [*found, *((position, 0.0) for position in sorted(rest))]

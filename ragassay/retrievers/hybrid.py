"""Search a built corpus by meaning, or by words and meaning together."""

from __future__ import annotations

import hashlib
import json

from ragassay.errors import CorpusError
from ragassay.records import Article, Document
from ragassay.retrievers.dense.index import DenseIndex
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.fusion import RRF_K, reciprocal_rank_fusion
from ragassay.retrievers.literature import ANY, Filters, Hit, Literature

FUSED_DEPTH = 100
"""Fewest hits of each ranking that are fused: one that is tenth in both beats one that is first
in only one."""


class DenseCorpus:
    """A corpus searched by the cosine similarity of query and article. Safe across threads.

    Args:
        corpus: The corpus that has the articles.
        index: The vectors of its articles.
    """

    def __init__(self, corpus: DiskCorpus, index: DenseIndex) -> None:
        self.folder = corpus.folder
        self._corpus = corpus
        self._index = index

    @property
    def sha256(self) -> str:
        """Hash of the corpus, of the embedder, and of this way of searching."""
        return _hash("dense", self._index.sha256)

    def get(self, identifier: str) -> Article | None:
        """Return the article of a PMID or a DOI, in any spelling."""
        return self._corpus.get(identifier)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the `k` articles most like the query, with their cosines in [-1, 1].

        Unlike a search by words, it finds something for any query except an empty one.

        Raises:
            CorpusError: The vectors changed while the corpus was open, or cannot be reached.
        """
        found = self._index.nearest(query, k, filters)
        articles = self._corpus.select([name for name, _ in found])
        if len(articles) < len(found):
            raise CorpusError(
                f"the vectors of {self._corpus.folder} changed since they were opened: open again"
            )
        return [Hit(articles[name], score) for name, score in found]


class HybridCorpus:
    """Two searches of the same articles, fused by reciprocal rank. Safe across threads.

    Args:
        lexical: Searches by words; has the articles.
        dense: Searches by meaning.
    """

    def __init__(self, lexical: Literature, dense: Literature) -> None:
        self.folder = getattr(lexical, "folder", None)
        self._lexical = lexical
        self._dense = dense

    @property
    def sha256(self) -> str:
        """Hash of both, and of how they are fused."""
        return _hash("hybrid", self._lexical.sha256, self._dense.sha256, RRF_K, FUSED_DEPTH)

    def get(self, identifier: str) -> Document | None:
        """Return the document of an id from the search by words."""
        return self._lexical.get(identifier)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the `k` best documents of both searches, with fused scores in (0, 2 / 61]."""
        if k < 1:
            return []
        depth = max(k, FUSED_DEPTH)
        rankings = [place.search(query, depth, filters) for place in (self._lexical, self._dense)]
        documents = {hit.document.id: hit.document for found in rankings for hit in found}
        fused = reciprocal_rank_fusion([[hit.document.id for hit in found] for found in rankings])
        return [Hit(documents[name], score) for name, score in fused[:k]]


def _hash(*parts: str | int) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

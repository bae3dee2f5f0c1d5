"""Search a corpus in a cluster by the cosine of query and article."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from ragassay.errors import CorpusError
from ragassay.models.text_roles import encode_role
from ragassay.rebuilt import Rebuilt
from ragassay.records import Document
from ragassay.retrievers.cluster.corpus import ClusterCorpus
from ragassay.retrievers.cluster.vectors import find_maker, maker_of, nearest_body
from ragassay.retrievers.literature import ANY, Filters, Hit

if TYPE_CHECKING:
    from ragassay.retrievers.dense.index import NamedEncoder


def cosine_of(score: float) -> float:
    """Return the cosine of unit vectors from OpenSearch's score for their inner product.

    score = 1 + cos where cos > 0, else 1 / (1 - cos)   (OpenSearch documentation, "Spaces")

    Example:
        >>> cosine_of(1.5), cosine_of(1.0), cosine_of(0.5)
        (0.5, 0.0, -1.0)
    """
    return score - 1.0 if score > 1.0 else 1.0 - 1.0 / score


class ClusterVectors(Rebuilt):
    """A corpus in a cluster searched by the cosine of query and article. Safe across threads.

    Nearest neighbours are looked up in HNSW graphs: nearly always the true ones, not always.

    Args:
        corpus: The corpus; its index has vectors.
        embedder: The one that made them; encodes the queries.

    Raises:
        CorpusError: The index has no vectors by this embedder, or cannot be reached.
    """

    def __init__(self, corpus: ClusterCorpus, embedder: NamedEncoder) -> None:
        known = find_maker(corpus.cluster)
        if known != maker_of(embedder):
            has = f"has vectors by {known.embedder}" if known else "was made without vectors"
            raise CorpusError(
                f"index {corpus.cluster.index!r} {has}, not by {embedder.name}: "
                f"`ragassay corpus build FILES --out URL --vectors --embedder {embedder.name}` "
                "makes a new index with them"
            )
        self._corpus = corpus
        self._embedder = embedder

    @property
    def sha256(self) -> str:
        """Hash of the index, of the embedder, and of this way of searching."""
        parts = ["dense", self._corpus.sha256, self._embedder.name, self._embedder.digest]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def get(self, identifier: str) -> Document | None:
        """Return the article of a PMID or a DOI, in any spelling."""
        return self._corpus.get(identifier)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the `k` articles most like the query, at most 10,000, with cosines in [-1, 1].

        Unlike a search by words, it finds something for any query except an empty one.

        Raises:
            CorpusError: The cluster cannot be reached, has no such index, or refuses.
        """
        if k < 1 or not query.strip():
            return []
        vector = encode_role(self._embedder, [query], "query")[0]
        body = nearest_body(vector, k, filters)
        return [Hit(article, cosine_of(score)) for article, score in self._corpus.ask(body)]

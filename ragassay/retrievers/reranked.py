"""Literature whose best hits are reranked."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.records import Document
from ragassay.retrievers.literature import ANY, Filters, Hit, Literature
from ragassay.retrievers.rerank import (
    DEPTH,
    CrossEncoderReranker,
    EmbeddedReranker,
    Reranker,
    shipped_weights,
)
from ragassay.retrievers.token_vectors import STORE, StoredEncoder, TokenStore
from ragassay.settings import Settings

if TYPE_CHECKING:
    from ragassay.retrievers.dense.index import NamedEncoder

EMBEDDED = "embedded"
NONE = "none"


def reranker_of(
    settings: Settings, embedder: NamedEncoder, literature: Literature | None = None
) -> Reranker | None:
    """Return the reranker that the settings name; None for "none". No model is loaded yet.

    Args:
        settings: `reranker` is "embedded", "none", or a cross-encoder's name or folder.
        embedder: The encoder of the embedded reranker.
        literature: A built corpus may have stored the vectors that the embedded reranker needs.
    """
    if settings.literature.reranker == NONE:
        return None
    if settings.literature.reranker == EMBEDDED:
        path = _store_path(literature)
        store = TokenStore(path, embedder) if path else None
        return EmbeddedReranker(StoredEncoder(embedder, store) if store else embedder)
    return CrossEncoderReranker(settings.literature.reranker)


def _store_path(literature: Literature | None) -> Path | None:
    folder = getattr(literature, "folder", None)
    path = folder / STORE if isinstance(folder, Path) else None
    return path if path and path.exists() else None


def reranked(literature: Literature, settings: Settings, embedder: NamedEncoder) -> Literature:
    """Return literature with its hits reranked as set; the same literature for "none"."""
    reranker = reranker_of(settings, embedder, literature)
    if reranker is None:
        return literature
    name = settings.literature.reranker
    if name == EMBEDDED:
        name = f"{name} {settings.literature.embedder} {shipped_weights().model_dump_json()}"
    return RerankedLiterature(literature, reranker, name)


class RerankedLiterature:
    """Literature with its best hits reordered.

    Args:
        inner: The literature to search.
        reranker: Reorders the best hits.
        name: The reranker's name; cached verdicts depend on it.
        depth: How many hits are reranked, at least 1.
    """

    def __init__(
        self, inner: Literature, reranker: Reranker, name: str, depth: int = DEPTH
    ) -> None:
        self._inner = inner
        self._reranker = reranker
        self._name = name
        self._depth = depth

    @property
    def sha256(self) -> str:
        """Hash of the literature, of the reranker's name and of the depth."""
        parts = [self._inner.sha256, "reranked", self._name, self._depth]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def get(self, identifier: str) -> Document | None:
        """Return the document of this id, or None."""
        return self._inner.get(identifier)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the `k` best: the best `depth` reranked, then the rest in the search's order.

        Scores are the reranker's; the rest get lower scores, one apart.
        """
        if k < 1:
            return []
        hits = self._inner.search(query, max(k, self._depth), filters)
        best = self._reranker.rerank(query, hits[: self._depth], self._depth)
        floor = min((hit.score for hit in best), default=0.0)
        rest = enumerate(hits[self._depth :], 1)
        return [*best, *(Hit(hit.document, floor - place) for place, hit in rest)][:k]

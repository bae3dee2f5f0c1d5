"""Literature whose best hits are reranked, with the token vectors that this needs kept on disk."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.models.hosting import Encoded
from ragassay.records import Document
from ragassay.retrievers.literature import ANY, Filters, Hit, Literature
from ragassay.retrievers.rerankers import (
    DEPTH,
    CrossEncoderReranker,
    EmbeddedReranker,
    Reranker,
    encode_tokens,
    shipped_weights,
)
from ragassay.settings import Settings
from ragassay.store import storing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.retrievers.dense.index import NamedEncoder


STORE = "tokens.sqlite"
"""File of a built corpus in which the vectors are stored."""

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, width INTEGER, rows BLOB)"


class TokenStore:
    """Vectors of texts and of their tokens on disk, by text and model. Safe across threads.

    A vector keeps its direction only, as whole numbers of a byte. What is stored never ages: it
    belongs to a text.

    Args:
        path: Created when something is first added.
        encoder: Whose vectors are stored.
    """

    def __init__(self, path: Path, encoder: NamedEncoder) -> None:
        self._path, self._salt = path, f"{encoder.name}\0{encoder.digest}\0"
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None

    def read(self, texts: Iterable[str]) -> dict[str, Encoded]:
        """Return the vectors of those texts that are stored."""
        found: dict[str, Encoded] = {}
        asked = "SELECT width, rows FROM vectors WHERE key = ?"
        with self._lock:
            if self._opened is None and not self._path.exists():
                return {}
            for text in texts:
                row = self._connection().execute(asked, (self._key(text),)).fetchone()
                if row:
                    found[text] = _unpack_vectors(*row)
        return found

    def add(self, texts: Sequence[str], vectors: Sequence[Encoded]) -> None:
        """Store the vectors of texts.

        Raises:
            StorageError: They cannot be written.
        """
        rows = [
            (self._key(text), len(one.vector), _pack_vectors(one))
            for text, one in zip(texts, vectors, strict=True)
        ]
        with storing(self._path), self._lock, self._connection() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _key(self, text: str) -> bytes:
        return hashlib.sha256((self._salt + text).encode()).digest()[:16]

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = sqlite3.connect(self._path, check_same_thread=False)
            self._opened.execute(_TABLE)
        return self._opened


class StoredEncoder:
    """An encoder that looks a text up before it computes it."""

    def __init__(self, encoder: NamedEncoder, store: TokenStore) -> None:
        self._encoder, self._store = encoder, store

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return computed vectors of length 1, shape (n_texts, n_dimensions)."""
        return self._encoder.encode(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        """Return each text's vector and those of its tokens in context."""
        known = self._store.read(texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, encode_tokens(self._encoder, new), strict=True))
        return [known[text] for text in texts]


def _pack_vectors(one: Encoded) -> bytes:
    import numpy as np

    rows = np.concatenate([one.vector[None], one.tokens]).astype(np.float32)
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=1e-12)
    return np.round(rows / largest * 127).astype(np.int8).tobytes()


def _unpack_vectors(width: int, stored: bytes) -> Encoded:
    import numpy as np

    rows = np.frombuffer(stored, dtype=np.int8).reshape(-1, width).astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return Encoded(rows[0], rows[1:])


EMBEDDED = "embedded"
NONE = "none"


def reranker_of(
    settings: Settings, embedder: NamedEncoder, literature: Literature | None = None
) -> Reranker | None:
    """Return the reranker that the settings name; None for "none". No model is loaded yet.

    Args:
        settings: `reranker` is "embedded", "none", or a cross-encoder's name or folder.
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


def rerank_literature(
    literature: Literature, settings: Settings, embedder: NamedEncoder
) -> Literature:
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

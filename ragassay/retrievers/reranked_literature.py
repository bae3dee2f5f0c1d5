"""Rerank the hits of a literature search, and store token vectors on disk."""

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
    load_shipped_weights,
)
from ragassay.settings import Settings
from ragassay.store import convert_storage_errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.retrievers.dense.index import NamedEncoder


STORE = "tokens.sqlite"
"""Name of the file with token vectors in the folder of a built corpus."""

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, width INTEGER, rows BLOB)"


class TokenStore:
    """Stores text and token vectors in a file, keyed by text and embedding model. Thread-safe.

    Vectors are normalized and quantized to int8. Stored vectors never expire, because they depend
    only on text and model.

    Args:
        path: Path of the file, which is created when the first vectors are added.
    """

    def __init__(self, path: Path, encoder: NamedEncoder) -> None:
        self._path, self._salt = path, f"{encoder.name}\0{encoder.digest}\0"
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None

    def read(self, texts: Iterable[str]) -> dict[str, Encoded]:
        """Return the stored vectors, keyed by text, without texts that have no stored vectors."""
        stored: dict[str, Encoded] = {}
        sql = "SELECT width, rows FROM vectors WHERE key = ?"
        with self._lock:
            if self._opened is None and not self._path.exists():
                return {}
            for text in texts:
                row = self._connect().execute(sql, (self._hash_text(text),)).fetchone()
                if row:
                    stored[text] = _unpack_vectors(*row)
        return stored

    def add(self, texts: Sequence[str], vectors: Sequence[Encoded]) -> None:
        """Store the vectors of some texts.

        Raises:
            StorageError: The file cannot be written.
        """
        rows = [
            (self._hash_text(text), len(encoded.vector), _pack_vectors(encoded))
            for text, encoded in zip(texts, vectors, strict=True)
        ]
        with convert_storage_errors(self._path), self._lock, self._connect() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        """Close the file with the vectors."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _hash_text(self, text: str) -> bytes:
        return hashlib.sha256((self._salt + text).encode()).digest()[:16]

    def _connect(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = sqlite3.connect(self._path, check_same_thread=False)
            self._opened.execute(_TABLE)
        return self._opened


class StoredEncoder:
    """Encoder that reads token vectors from a store and computes only missing vectors."""

    def __init__(self, encoder: NamedEncoder, store: TokenStore) -> None:
        self._encoder, self._store = encoder, store

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of shape (n_texts, n_dimensions)."""
        return self._encoder.encode(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        """Return the vector and the token vectors of each text."""
        known = self._store.read(texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, encode_tokens(self._encoder, new), strict=True))
        return [known[text] for text in texts]


def _pack_vectors(encoded: Encoded) -> bytes:
    import numpy as np

    rows = np.concatenate([encoded.vector[None], encoded.tokens]).astype(np.float32)
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=1e-12)
    return np.round(rows / largest * 127).astype(np.int8).tobytes()


def _unpack_vectors(width: int, stored: bytes) -> Encoded:
    import numpy as np

    rows = np.frombuffer(stored, dtype=np.int8).reshape(-1, width).astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return Encoded(rows[0], rows[1:])


EMBEDDED = "embedded"
NONE = "none"


def choose_reranker(
    settings: Settings, embedder: NamedEncoder, literature: Literature | None = None
) -> Reranker | None:
    """Return the reranker that the settings name, or None for "none".

    A cross-encoder is loaded when it is first used.

    Args:
        settings: Settings, in which `reranker` is "embedded", "none" or the name of a
            cross-encoder.
        literature: Corpus to search, whose stored token vectors the embedded reranker can use.
    """
    name = settings.literature.reranker
    if name == NONE:
        return None
    if name != EMBEDDED:
        return CrossEncoderReranker(name)
    folder = getattr(literature, "folder", None)
    if isinstance(folder, Path) and (folder / STORE).exists():
        return EmbeddedReranker(StoredEncoder(embedder, TokenStore(folder / STORE, embedder)))
    return EmbeddedReranker(embedder)


def rerank_literature(
    literature: Literature, settings: Settings, embedder: NamedEncoder
) -> Literature:
    """Return literature with reranked search results, unless the settings disable reranking."""
    reranker = choose_reranker(settings, embedder, literature)
    if reranker is None:
        return literature
    name = settings.literature.reranker
    if name == EMBEDDED:
        name = f"{name} {settings.literature.embedder} {load_shipped_weights().model_dump_json()}"
    return RerankedLiterature(literature, reranker, name)


class RerankedLiterature:
    """Literature whose search results are reranked.

    Args:
        name: Name of the reranker, which is part of the cache key of verdicts.
        depth: Number of hits to rerank, at least 1.
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
        """Hash of the literature, the name of the reranker and the number of reranked hits."""
        parts = [self._inner.sha256, "reranked", self._name, self._depth]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def get(self, identifier: str) -> Document | None:
        """Return the document with the given id, or None if there is none."""
        return self._inner.get(identifier)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the best `k` hits after reranking the first `depth` hits.

        Hits that are not reranked follow in their old order, with lower scores.
        """
        if k < 1:
            return []
        hits = self._inner.search(query, max(k, self._depth), filters)
        best = self._reranker.rerank(query, hits[: self._depth], self._depth)
        floor = min((hit.score for hit in best), default=0.0)
        rest = enumerate(hits[self._depth :], 1)
        return [*best, *(Hit(hit.document, floor - i) for i, hit in rest)][:k]

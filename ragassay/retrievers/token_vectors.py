"""Store the vectors that the embedded reranker needs, so that a search need not compute them."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.models.hosting import Encoded
from ragassay.retrievers.rerank import encoded
from ragassay.storage import storing

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
                    found[text] = _unpacked(*row)
        return found

    def add(self, texts: Sequence[str], vectors: Sequence[Encoded]) -> None:
        """Store the vectors of texts.

        Raises:
            StorageError: They cannot be written.
        """
        rows = [
            (self._key(text), len(one.vector), _packed(one))
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
    """An encoder that looks a text up before it computes it.

    Args:
        encoder: Computes the vectors of what is not stored.
        store: Has its vectors.
    """

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
            known.update(zip(new, encoded(self._encoder, new), strict=True))
        return [known[text] for text in texts]


def _packed(one: Encoded) -> bytes:
    import numpy as np

    rows = np.concatenate([one.vector[None], one.tokens]).astype(np.float32)
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=1e-12)
    return np.round(rows / largest * 127).astype(np.int8).tobytes()


def _unpacked(width: int, stored: bytes) -> Encoded:
    import numpy as np

    rows = np.frombuffer(stored, dtype=np.int8).reshape(-1, width).astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return Encoded(rows[0], rows[1:])

"""Cache token vectors on disk between fits."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragassay.models.embeddings import Encoded
from ragassay.retrievers.rerankers import TextEncoder
from ragassay.retrievers.rerankers import encode_tokens as encoded

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

SAVE_EVERY = 1000
"""Number of new texts per file. An interrupted fit loses at most this many."""


class CachedTokenEncoder:
    """Token encoder that caches the results of another encoder.

    Args:
        encoder: Encoder of new texts. A cache folder must be used with only one encoder.
        folder: Cache folder. Files are written during and at the end of the work. For SciFact the
            folder and the memory in use grow to 2 GB, with half-precision tokens. None caches in
            memory only.
    """

    def __init__(self, encoder: TextEncoder, folder: Path | None = None) -> None:
        self._encoder = encoder
        self._folder = folder
        self._known: dict[str, tuple[NDArray[np.float32], NDArray[np.float16]]] = {}
        self._unsaved: list[str] = []
        for path in sorted(folder.glob("*.npz")) if folder is not None else ():
            with np.load(path) as stored:
                cuts = np.cumsum(stored["n_tokens"])[:-1]
                tokens = np.split(stored["tokens"], cuts)
                rows = zip(stored["vectors"], tokens, strict=True)
                self._known |= dict(zip(stored["keys"].tolist(), rows, strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._save()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_texts, n_dimensions), or (0, 0) without texts."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        return np.stack([found.vector for found in self.encode_tokens(texts)])

    def encode_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        """Return each text's vector and token vectors."""
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        new = {k: t for k, t in zip(keys, texts, strict=True) if k not in self._known}
        if new:
            fresh = encoded(self._encoder, list(new.values()))
            halves = [(row.vector, row.tokens.astype(np.float16)) for row in fresh]
            self._known.update(zip(new, halves, strict=True))
            self._unsaved += new
        if len(self._unsaved) >= SAVE_EVERY:
            self._save()
        found = [self._known[key] for key in keys]
        return [Encoded(vector, tokens.astype(np.float32)) for vector, tokens in found]

    def _save(self) -> None:
        if self._folder is None or not self._unsaved:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        rows = [self._known[key] for key in self._unsaved]
        path = self._folder / f"{len(self._known):07}.npz"
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            np.savez(
                file,
                keys=self._unsaved,
                vectors=np.stack([vector for vector, _ in rows]),
                tokens=np.concatenate([tokens for _, tokens in rows]),
                n_tokens=[len(tokens) for _, tokens in rows],
            )
        partial.replace(path)
        self._unsaved = []

"""Keep vectors on disk between runs of a fit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from ragassay.retrievers.rerankers import TextEncoder

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

SAVE_EVERY = 2000
"""New vectors between two writes, so that an interrupted fit keeps its work."""


class CachedEncoder:
    """An encoder that asks another one for new texts only.

    Args:
        encoder: Computes vectors; a cache is for one encoder only.
        path: An .npz file, read if it exists, written during the work and at its end; None keeps
            vectors in memory.
    """

    def __init__(self, encoder: TextEncoder, path: Path | None = None) -> None:
        self._encoder = encoder
        self._path = path
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._n_unsaved = 0
        if path is not None and path.is_file():
            # What cannot be read, or would be unpickled, is computed again.
            with suppress(ValueError, OSError, KeyError, EOFError, BadZipFile):
                stored = np.load(path, allow_pickle=False)
                self._vectors = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

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
        """Return vectors of length 1, shape (n_texts, n_dimensions); (0, 0) for no text."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        new = {k: t for k, t in zip(keys, texts, strict=True) if k not in self._vectors}
        if new:
            self._vectors.update(zip(new, self._encoder.encode(list(new.values())), strict=True))
            self._n_unsaved += len(new)
        if self._n_unsaved >= SAVE_EVERY:
            self._save()
        return np.stack([self._vectors[key] for key in keys])

    def _save(self) -> None:
        if self._path is None or not self._n_unsaved:
            return
        partial = self._path.with_suffix(".partial.npz")
        np.savez(partial, keys=list(self._vectors), vectors=np.stack(list(self._vectors.values())))
        partial.replace(self._path)
        self._n_unsaved = 0

"""Keep what the packaged models computed: vectors of texts, probabilities of pairs of texts.

Runs over the same answers or abstracts then compute nothing twice, and load no model. A key is the
SHA-256 of the model's digest, the versions that compute, and the text; the text is not stored.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import io
import json
import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from diskcache import Cache
    from numpy.typing import NDArray

Compute = Callable[[list[Any]], "Sequence[NDArray[np.floating]]"]

_MB = 1 << 20
_log = logging.getLogger(__name__)


class ComputedStore:
    """Arrays by the content that they were computed from, in a folder of bounded size.

    The oldest go first. A folder that cannot be read or written is as an empty one.

    Args:
        folder: Made where it is missing; several processes may share it.
        most_mb: Its largest size, in megabytes.
    """

    def __init__(self, folder: Path, most_mb: int) -> None:
        self._cache = _open(folder, most_mb)

    def fill(
        self, kind: str, digest: str, inputs: Sequence[Any], compute: Compute
    ) -> list[NDArray[np.floating]]:
        """Return an array for each input, computing those that are not stored.

        Args:
            kind: What is computed.
            digest: Of the model's weights.
            inputs: JSON values: texts, or pairs of texts.
            compute: Computes the arrays of some inputs.
        """
        keys = [_key(kind, digest, one) for one in inputs]
        found = {key: self._read(key) for key in keys}
        new = {key: one for key, one in zip(keys, inputs, strict=True) if found[key] is None}
        if new:
            for key, rows in zip(new, compute(list(new.values())), strict=True):
                found[key] = rows
                self._write(key, rows)
        return [rows for key in keys if (rows := found[key]) is not None]

    def close(self) -> None:
        """Close the files."""
        if self._cache is not None:
            self._cache.close()

    def _read(self, key: str) -> NDArray[np.floating] | None:
        import numpy as np

        try:
            stored: Any = self._cache.get(key) if self._cache is not None else None
            return None if stored is None else np.load(io.BytesIO(stored), allow_pickle=False)
        except (OSError, ValueError, TypeError, sqlite3.Error) as error:
            _log.debug("computed again, its stored array cannot be read: %s", error)
            return None

    def _write(self, key: str, rows: NDArray[np.floating]) -> None:
        import numpy as np

        file = io.BytesIO()
        np.save(file, rows, allow_pickle=False)
        try:
            if self._cache is not None:
                self._cache.set(key, file.getvalue())
        except (OSError, sqlite3.Error) as error:
            _log.debug("not stored: %s", error)


_OPEN: list[ComputedStore] = []
"""The stores of the runs of this process; the last one opened is used."""


@contextmanager
def computed_in(folder: Path, most_mb: int) -> Iterator[None]:
    """Keep what this process computes in a folder, in all of its threads, while it is open.

    Runs beside each other may open and close theirs in any order.

    Args:
        folder: Of a `ComputedStore`.
        most_mb: Its largest size, in megabytes; 0 keeps nothing.
    """
    if not most_mb:
        yield
        return
    store = ComputedStore(folder, most_mb)
    _OPEN.append(store)
    try:
        yield
    finally:
        _OPEN.remove(store)
        store.close()


def is_kept(digest: str) -> bool:
    """Return whether what a model with this digest computes is kept; never without a digest."""
    return bool(_OPEN and digest)


def computed_once(
    kind: str, digest: str, inputs: Sequence[Any], compute: Compute
) -> Sequence[NDArray[np.floating]]:
    """Return an array for each input, from the store that is open where it has them."""
    store = next(reversed(_OPEN), None)  # another thread may close it meanwhile
    if store is None or not digest:
        return compute(list(inputs))
    return store.fill(kind, digest, inputs, compute)


def _key(kind: str, digest: str, given: Any) -> str:
    text = json.dumps([kind, digest, *_versions(), given])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@functools.cache
def _versions() -> tuple[str, ...]:
    """Return the versions of what computes, on which the last digits depend."""
    found: list[str] = []
    for name in ("ragassay", "onnxruntime", "tokenizers", "torch", "transformers"):
        with suppress(importlib.metadata.PackageNotFoundError):
            found.append(importlib.metadata.version(name))
    return tuple(found)


def _open(folder: Path, most_mb: int) -> Cache | None:
    import diskcache

    class Plain(diskcache.Disk):
        """Reads bytes, and nothing that could run code."""

        def fetch(self, mode: int, filename: str, value: Any, read: bool) -> Any:
            """Return stored bytes; None for a pickled value, which is none of ours."""
            if mode == diskcache.core.MODE_PICKLE:
                return None
            return super().fetch(mode, filename, value, read)

    try:
        return diskcache.Cache(str(folder), disk=Plain, size_limit=most_mb * _MB)
    except (OSError, sqlite3.Error) as error:
        _log.debug("nothing computed is kept in %s: %s", folder, error)
        return None

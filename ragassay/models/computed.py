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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ragassay.models.weights import MINILM_PARTS

if TYPE_CHECKING:
    import numpy as np
    from diskcache import Cache
    from numpy.typing import NDArray

T = TypeVar("T")

Compute = Callable[[list[Any]], "Sequence[NDArray[np.floating]]"]

_MB = 1 << 20
_DATABASE = "cache.db"
_WAIT_S = 1
"""Longest time that another process's lock is waited for."""
_MALFORMED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_log = logging.getLogger(__name__)


class ComputedStore:
    """Arrays by the content that they were computed from, in a folder of bounded size.

    The oldest go first. It never fails the work: what cannot be read is computed again, what cannot
    be written is not kept. A malformed database is set aside as `cache.db.damaged`.

    Args:
        folder: Made where it is missing; several processes may share it.
        most_mb: Its largest size, in megabytes.
    """

    def __init__(self, folder: Path, most_mb: int) -> None:
        self._folder = folder
        self._cache = _open(folder, most_mb)

    def fill(
        self, kind: str, digest: str, inputs: Sequence[Any], compute: Compute
    ) -> list[NDArray[np.floating]]:
        """Return an array for each input, computing those that are not stored.

        Args:
            digest: Of the model's weights.
            inputs: JSON values: texts, or pairs of texts.
            compute: Computes the arrays of some inputs.
        """
        keys = [_key(kind, digest, one) for one in inputs]
        found = {key: self._read(key) for key in keys}
        new = {key: one for key, one in zip(keys, inputs, strict=True) if found[key] is None}
        if new:
            made = dict(zip(new, compute(list(new.values())), strict=True))
            self._write(made)
            found |= made
        return [rows for key in keys if (rows := found[key]) is not None]

    def close(self) -> None:
        """Close the files."""
        self._use(lambda cache: cache.close())

    def _read(self, key: str) -> NDArray[np.floating] | None:
        import numpy as np

        def read(cache: Cache) -> NDArray[np.floating] | None:
            stored: Any = cache.get(key)
            return None if stored is None else np.load(io.BytesIO(stored), allow_pickle=False)

        return self._use(read)

    def _write(self, arrays: Mapping[str, NDArray[np.floating]]) -> None:
        """Store arrays, up to the first that cannot be: each may wait for a lock."""
        import numpy as np

        def write(cache: Cache) -> None:
            for key, rows in arrays.items():
                file = io.BytesIO()
                np.save(file, rows, allow_pickle=False)
                cache.set(key, file.getvalue())

        self._use(write)

    def _use(self, use: Callable[[Cache], T]) -> T | None:
        """Return what a use of the cache gives; None where it fails, or there is none."""
        if (cache := self._cache) is None:
            return None
        try:
            return use(cache)
        except Exception as error:  # damaged files raise anything; a cache never fails the work
            _log.debug("the store of computed arrays failed: %r", error)
            if _is_malformed(error):
                self._cache = None  # the next run makes a new one
                _set_aside(self._folder)
            return None


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


def _key(kind: str, digest: str, arguments: Any) -> str:
    text = json.dumps([kind, digest, *_versions(), arguments])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@functools.cache
def _versions() -> tuple[str, ...]:
    """Return the versions of what computes, on which the last digits depend."""
    found = [*MINILM_PARTS.values()]
    for name in ("ragassay", "onnxruntime", "tokenizers", "torch", "transformers"):
        with suppress(importlib.metadata.PackageNotFoundError):
            found.append(importlib.metadata.version(name))
    return tuple(found)


def _open(folder: Path, most_mb: int) -> Cache | None:
    import diskcache

    class PlainDisk(diskcache.Disk):
        """Reads bytes, and nothing that could run code."""

        def fetch(self, mode: int, filename: str, value: Any, read: bool) -> Any:
            """Return stored bytes; None for a pickled value, which is none of ours."""
            if mode == diskcache.core.MODE_PICKLE:
                return None
            return super().fetch(mode, filename, value, read)

    def open_cache() -> Cache:
        folder.mkdir(parents=True, exist_ok=True)
        # The cache itself would wait a minute for a lock.
        with closing(sqlite3.connect(folder / _DATABASE, timeout=_WAIT_S)) as database:
            database.execute("BEGIN IMMEDIATE")
        size = most_mb * _MB
        return diskcache.Cache(str(folder), timeout=_WAIT_S, disk=PlainDisk, size_limit=size)

    try:
        try:
            return open_cache()
        except sqlite3.DatabaseError as error:
            if not _is_malformed(error):
                raise
            _set_aside(folder)
            return open_cache()
    except Exception as error:  # damaged files raise anything; a cache never fails the work
        _log.debug("nothing computed is kept in %s: %r", folder, error)
        return None


def _is_malformed(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _MALFORMED


def _set_aside(folder: Path) -> None:
    """Rename a malformed database, and delete the files that only it knew of."""
    _log.warning("%s is malformed and set aside; its arrays are computed again", folder / _DATABASE)
    with suppress(OSError):
        (folder / _DATABASE).replace(folder / f"{_DATABASE}.damaged")
        for path in (*folder.glob(f"{_DATABASE}-*"), *folder.glob("??/??/*.val")):
            path.unlink(missing_ok=True)

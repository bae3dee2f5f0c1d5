"""Cache for results of the packaged models: embeddings of texts and probabilities of text pairs.

Later runs over the same texts reuse the results and load no model. Keys are SHA-256 digests of the
model digest, the library versions and the text. The texts themselves are not stored.
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
"""Maximum time in seconds to wait for another process's lock."""
_MALFORMED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_log = logging.getLogger(__name__)


class ComputedStore:
    """Cache of arrays in a folder, keyed by the model's inputs.

    At the maximum size, the oldest entries are removed.

    Cache errors never stop a run: unreadable arrays are computed again, and arrays that cannot be
    written are not stored. A malformed database is renamed to `cache.db.damaged`.

    Args:
        folder: Cache folder, created if missing. Several processes can share the same folder.
        most_mb: Maximum size in MB.
    """

    def __init__(self, folder: Path, most_mb: int) -> None:
        self._folder = folder
        self._cache = _open(folder, most_mb)

    def fill(
        self, kind: str, digest: str, inputs: Sequence[Any], compute: Compute
    ) -> list[NDArray[np.floating]]:
        """Return an array for each input, calling `compute` for inputs that are not cached."""
        keys = [_build_key(kind, digest, item) for item in inputs]
        found = {key: self._read(key) for key in keys}
        missing = {key: item for key, item in zip(keys, inputs, strict=True) if found[key] is None}
        if missing:
            computed = dict(zip(missing, compute(list(missing.values())), strict=True))
            self._write(computed)
            found |= computed
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
        import numpy as np

        def write(cache: Cache) -> None:
            for key, rows in arrays.items():
                file = io.BytesIO()
                np.save(file, rows, allow_pickle=False)
                cache.set(key, file.getvalue())

        self._use(write)

    def _use(self, use: Callable[[Cache], T]) -> T | None:
        """Call a function with the cache. Returns None if there is no cache or the call fails."""
        if (cache := self._cache) is None:
            return None
        try:
            return use(cache)
        except Exception as error:  # Damaged files can raise any type.
            _log.debug("cache of computed arrays failed: %r", error)
            if _is_malformed(error):
                self._cache = None  # The next run creates a new one.
                _set_aside(self._folder)
            return None


_OPEN: list[ComputedStore] = []
"""Open caches of the runs in this process. The cache that was opened last is used."""


@contextmanager
def cache_results(folder: Path, most_mb: int) -> Iterator[None]:
    """Cache computed arrays in a folder, for all threads, while the context is active.

    A maximum size of 0 disables the cache. Concurrent runs may exit their contexts in any order.
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
    """Return whether results of a model with this digest are cached.

    An empty digest is never cached.
    """
    return bool(_OPEN and digest)


def compute_arrays(
    kind: str, digest: str, inputs: Sequence[Any], compute: Compute
) -> Sequence[NDArray[np.floating]]:
    """Return an array for each input, using the open cache if there is one."""
    store = next(reversed(_OPEN), None)  # Another thread may close it concurrently.
    if store is None or not digest:
        return compute(list(inputs))
    return store.fill(kind, digest, inputs, compute)


def _build_key(kind: str, digest: str, arguments: Any) -> str:
    text = json.dumps([kind, digest, *_list_versions(), arguments])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@functools.cache
def _list_versions() -> tuple[str, ...]:
    """Return the versions of the numerical libraries, because they affect the last digits."""
    found = [*MINILM_PARTS.values()]
    for name in ("ragassay", "onnxruntime", "tokenizers", "torch", "transformers"):
        with suppress(importlib.metadata.PackageNotFoundError):
            found.append(importlib.metadata.version(name))
    return tuple(found)


def _open(folder: Path, most_mb: int) -> Cache | None:
    import diskcache

    class PlainDisk(diskcache.Disk):
        """diskcache storage that never unpickles data, because unpickling could run code."""

        def fetch(self, mode: int, filename: str, value: Any, read: bool) -> Any:
            """Return stored bytes, or None for a pickled value, which ragassay never writes."""
            if mode == diskcache.core.MODE_PICKLE:
                return None
            return super().fetch(mode, filename, value, read)

    def open_cache() -> Cache:
        folder.mkdir(parents=True, exist_ok=True)
        # diskcache would wait a minute for a lock.
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
    except Exception as error:  # Damaged files can raise any type.
        _log.debug("cannot cache computed arrays in %s: %r", folder, error)
        return None


def _is_malformed(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _MALFORMED


def _set_aside(folder: Path) -> None:
    """Rename a malformed database and delete the files that it referenced."""
    _log.warning(
        "%s is malformed and was set aside; its arrays are computed again", folder / _DATABASE
    )
    with suppress(OSError):
        (folder / _DATABASE).replace(folder / f"{_DATABASE}.damaged")
        for path in (*folder.glob(f"{_DATABASE}-*"), *folder.glob("??/??/*.val")):
            path.unlink(missing_ok=True)

"""Store of finished work, keyed by a hash of the inputs."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from ragassay.errors import RagassayError, RunMismatchError, StorageError

if TYPE_CHECKING:
    from diskcache import Cache


@contextmanager
def convert_storage_errors(path: Path, *failures: type[Exception]) -> Iterator[None]:
    """Convert `OSError`, SQLite errors and errors of the types `failures` to `StorageError`."""
    try:
        yield
    except (OSError, sqlite3.Error, *failures) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise StorageError(
            f"{path}: {reason or error}; finished work is kept on disk, and the same command "
            "continues from there"
        ) from error


@contextmanager
def lock_file(file: Path, refusal: RagassayError) -> Iterator[None]:
    """Lock a file for this process, creating it if missing.

    If another process holds the lock, `refusal` is raised.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise refusal from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def set_damaged_aside(path: Path) -> Iterator[None]:
    """Rename a damaged file and raise an error, so that the user can still recover paid results."""
    try:
        with convert_storage_errors(path):
            yield
    except StorageError as error:
        if isinstance(error.__cause__, OSError | sqlite3.OperationalError):  # no damage
            raise
        for ending in ("", "-wal", "-shm"):
            part = path.with_name(path.name + ending)
            if part.exists():
                part.replace(path.with_name(f"{path.name}.damaged{ending}"))
        raise StorageError(
            f"{path} is damaged ({error.__cause__}) and was set aside as {path.name}.damaged; run "
            "the same command again to continue without it"
        ) from error


def open_plain_cache(folder: Path, **options: int) -> Cache:
    """Open a disk cache that never unpickles data, because unpickling could run code.

    Pickled values, which ragassay never writes, are read as None. `options` are those of diskcache.
    """
    import diskcache

    class PlainDisk(diskcache.Disk):
        def fetch(self, mode: int, filename: str, value: Any, read: bool) -> Any:
            if mode == diskcache.core.MODE_PICKLE:
                return None
            return super().fetch(mode, filename, value, read)

    return diskcache.Cache(str(folder), disk=PlainDisk, **options)


T = TypeVar("T")

Row = tuple[str, bytes]
"""Key of a result, and the result as JSON."""


class Work(Generic[T]):
    """Result for one key, yielded by `Store.once`.

    Attributes:
        result: Stored result. If `is_new` is true, the caller sets the result.
        is_new: Whether the caller must compute the result.
    """

    result: T

    def __init__(self) -> None:
        self.is_new = True


class Store:
    """Store of finished results and running computations, by key.

    Reads and writes run in the calling thread, because moving them to another thread takes longer.

    Args:
        path: SQLite file, created if missing, or "" for a temporary file that SQLite deletes. If
            `path` is None, nothing is stored and only running computations are shared.

    Raises:
        RunMismatchError: Another version of ragassay wrote the file.
        StorageError: The file is damaged, or the disk is full.
    """

    def __init__(self, path: Path | Literal[""] | None = None) -> None:
        self._path = path or Path()
        self._file: sqlite3.Connection | None = None
        self._calls: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[Any]] = {}
        if path is not None:
            with set_damaged_aside(self._path):
                self._file = _connect(path)

    @asynccontextmanager
    async def compute_once(self, key: str, kind: TypeAdapter[T]) -> AsyncIterator[Work[T]]:
        """Yield the stored result for a key, or store the result that the block computes.

        Concurrent callers with the same key wait for the first caller and share its result. If the
        block fails, nothing is stored and a waiting caller computes the result.
        """
        work, loop = Work[T](), asyncio.get_running_loop()
        while call := self._calls.get((loop, key)):
            await asyncio.wait([call])
            if not call.cancelled():
                work.result, work.is_new = call.result(), False
                yield work
                return
        call = self._calls[loop, key] = loop.create_future()
        try:
            stored = await self.get(key, kind)
            if stored is not None:
                work.result, work.is_new = stored, False
            yield work
            if work.is_new:
                self.keep(key, work.result, kind)
            call.set_result(work.result)
        finally:
            del self._calls[loop, key]
            call.cancel()

    async def find(self, key: str) -> bytes | None:
        """Return a stored result as JSON, or None. Subclasses may also search other stores."""
        return next((value for _, value in self.read_rows([key])), None)

    async def get(self, key: str, kind: TypeAdapter[T]) -> T | None:
        """Return a stored result, or None.

        Raises `StorageError` if the result is not of type `kind`.
        """
        row = await self.find(key)
        return None if row is None else self.read(row, kind)

    def read(self, row: bytes, kind: TypeAdapter[T]) -> T:
        """Parse a stored result. Raises `StorageError` if the result is not of type `kind`."""
        try:
            return kind.validate_json(row)
        except ValidationError as error:
            raise StorageError(
                f"{self._path} contains an entry that ragassay did not write; delete the file and "
                "run the same command again to continue without it"
            ) from error

    def keep(self, key: str, work: T, kind: TypeAdapter[T]) -> None:
        """Store a result."""
        self.add_rows([(key, kind.dump_json(work))])

    def read_rows(self, keys: Sequence[str]) -> list[Row]:
        """Return the stored rows for the keys, leaving out keys that are not stored."""
        if self._file is None:
            return []
        query = "SELECT key, value FROM finished WHERE key = ?"
        with convert_storage_errors(self._path):
            rows = [self._file.execute(query, (key,)).fetchone() for key in keys]
        return [row for row in rows if row]

    def read_all_rows(self) -> Iterator[Row]:
        """Yield all stored rows."""
        if self._file is not None:
            with convert_storage_errors(self._path):
                yield from self._file.execute("SELECT key, value FROM finished")

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Store rows, for example from another store."""
        if self._file is not None:
            with convert_storage_errors(self._path):
                self._file.executemany("INSERT OR REPLACE INTO finished VALUES (?, ?)", rows)

    def forget(self, prefix: str) -> None:
        """Delete the results whose keys start with a prefix."""
        if self._file is not None:
            with convert_storage_errors(self._path):
                self._file.execute("DELETE FROM finished WHERE key GLOB ?", (f"{prefix}*",))

    @property
    def is_empty(self) -> bool:
        """Return whether the store is empty."""
        return next(self.read_all_rows(), None) is None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _connect(path: Path | Literal[""]) -> sqlite3.Connection:
    file = sqlite3.connect(path, isolation_level=None)
    # With NORMAL, only a system crash can lose data. A killed process cannot.
    file.execute("PRAGMA journal_mode=WAL")
    file.execute("PRAGMA synchronous=NORMAL")
    tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    if tables - {"finished"}:
        file.close()
        raise RunMismatchError(
            f"{path} belongs to a run of another ragassay version; delete this file and start "
            "again (finished answers are stored separately and are not lost)"
        )
    file.execute("CREATE TABLE IF NOT EXISTS finished (key TEXT PRIMARY KEY, value BLOB NOT NULL)")
    return file


@contextmanager
def open_store(path: Path | None) -> Iterator[Store]:
    """Open a store and close it on exit. See `Store`."""
    with closing(Store(path)) as store:
        yield store


def hash_parts(*parts: str | int) -> str:
    """Return the SHA-256 hex digest of texts and numbers.

    `("ab", "c")` and `("a", "bc")` have different digests.
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

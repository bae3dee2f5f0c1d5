"""The store of finished work, kept once by the hash of what it depends on."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from ragassay.errors import RagassayError, RunMismatchError, StorageError


@contextmanager
def storing(path: Path, *failures: type[Exception]) -> Iterator[None]:
    """Turn a failure to write a file, as of a full disk, into an error that stops the work.

    Args:
        failures: What a library raises then, besides errors of the system and of SQLite.

    Raises:
        StorageError: There was one.
    """
    try:
        yield
    except (OSError, sqlite3.Error, *failures) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise StorageError(
            f"{path}: {why or error}; what is on disk is kept, and the same command continues from "
            "there"
        ) from error


@contextmanager
def lock_file(file: Path, refusal: RagassayError) -> Iterator[None]:
    """Lock a file for this process; do not wait where another has it.

    Args:
        file: The lock; created if missing, in a folder that exists.
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
def opened_first(path: Path) -> Iterator[None]:
    """Set a damaged file aside: whether to pay again for what it held is the user's to decide."""
    try:
        with storing(path):
            yield
    except StorageError as error:
        if isinstance(error.__cause__, OSError | sqlite3.OperationalError):  # no damage
            raise
        for ending in ("", "-wal", "-shm"):
            part = path.with_name(path.name + ending)
            if part.exists():
                part.replace(path.with_name(f"{path.name}.damaged{ending}"))
        raise StorageError(
            f"{path} is damaged ({error.__cause__}), and was set aside as {path.name}.damaged: "
            "the same command continues without it"
        ) from error


T = TypeVar("T")

Row = tuple[str, bytes]
"""A key, and the finished work as JSON."""


class Work(Generic[T]):
    """The work of a key, inside `Store.once`.

    Attributes:
        result: What was found out; whoever does the work sets it.
        is_new: Whether it is to be done here.
    """

    result: T

    def __init__(self) -> None:
        self.is_new = True


class Store:
    """Finished work and calls under way, by key.

    It works in the calling thread: handing over would cost more.

    Args:
        path: A SQLite file, created if missing; None to keep nothing, and join calls only.

    Raises:
        RunMismatchError: Another version of ragassay wrote the file.
        StorageError: The file is damaged, or the disk is full.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or Path()
        self._file: sqlite3.Connection | None = None
        self._calls: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[Any]] = {}
        if path is not None:
            with opened_first(path):
                self._file = _connect(path)

    @asynccontextmanager
    async def once(self, key: str, kind: TypeAdapter[T]) -> AsyncIterator[Work[T]]:
        """Yield the work of a key: finished, or to do inside the block and then stored.

        Whoever comes while it is being done waits, and gets the result. Where it fails, nothing is
        kept, and whoever waits does it again.

        Args:
            key: Hash of everything that the work depends on.

        Raises:
            StorageError: The work cannot be kept.
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
            known = await self.get(key, kind)
            if known is not None:
                work.result, work.is_new = known, False
            yield work
            if work.is_new:
                self.keep(key, work.result, kind)
            call.set_result(work.result)
        finally:
            del self._calls[loop, key]
            call.cancel()

    async def find(self, key: str) -> bytes | None:
        """Return finished work as it is stored, wherever this run keeps some."""
        return next((value for _, value in self.rows([key])), None)

    async def get(self, key: str, kind: TypeAdapter[T]) -> T | None:
        """Return finished work; None where there is none.

        Raises:
            StorageError: Somebody has changed it.
        """
        row = await self.find(key)
        return None if row is None else self.read(row, kind)

    def read(self, row: bytes, kind: TypeAdapter[T]) -> T:
        """Return finished work from its JSON; see `get`."""
        try:
            return kind.validate_json(row)
        except ValidationError as error:
            raise StorageError(
                f"{self._path} has something that ragassay did not write there: delete it, and the "
                "same command continues without it"
            ) from error

    def keep(self, key: str, work: T, kind: TypeAdapter[T]) -> None:
        """Store finished work."""
        self.add_rows([(key, kind.dump_json(work))])

    def rows(self, keys: Sequence[str]) -> list[Row]:
        """Return the finished ones of some keys."""
        if self._file is None:
            return []
        wanted = "SELECT key, value FROM finished WHERE key = ?"
        with storing(self._path):
            found = [self._file.execute(wanted, (key,)).fetchone() for key in keys]
        return [row for row in found if row]

    def all_rows(self) -> Iterator[Row]:
        """Yield all finished work."""
        if self._file is not None:
            with storing(self._path):
                yield from self._file.execute("SELECT key, value FROM finished")

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Store finished work, also that of another store."""
        if self._file is not None:
            with storing(self._path):
                self._file.executemany("INSERT OR REPLACE INTO finished VALUES (?, ?)", rows)

    def forget(self, prefix: str) -> None:
        """Delete the finished work whose keys begin with a text."""
        if self._file is not None:
            with storing(self._path):
                self._file.execute("DELETE FROM finished WHERE key GLOB ?", (f"{prefix}*",))

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is finished yet."""
        return next(self.all_rows(), None) is None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _connect(path: Path) -> sqlite3.Connection:
    file = sqlite3.connect(path, isolation_level=None)
    # Under NORMAL only a crash of the machine can lose data, not a killed process.
    file.execute("PRAGMA journal_mode=WAL")
    file.execute("PRAGMA synchronous=NORMAL")
    tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    if tables - {"finished"}:
        file.close()
        raise RunMismatchError(
            f"{path} is of a run that another version of ragassay began: delete this file and "
            "start again; what was judged to the end is kept beside it"
        )
    file.execute("CREATE TABLE IF NOT EXISTS finished (key TEXT PRIMARY KEY, value BLOB NOT NULL)")
    return file


@contextmanager
def opened_store(path: Path | None) -> Iterator[Store]:
    """Open the finished work of a file; see `Store`."""
    with closing(Store(path)) as store:
        yield store


def hash_of(*parts: str | int) -> str:
    """SHA-256 of texts and numbers, in hexadecimal; where one ends and the next begins counts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

"""Keep finished work: one process writes at a time, and a file that cannot be written says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragassay.errors import RagassayError, StorageError


@contextmanager
def storing(path: Path, *failures: type[Exception]) -> Iterator[None]:
    """Turn a failure to write a file, as of a full disk, into an error that stops the work.

    Args:
        path: The file.
        failures: What a library raises then, besides errors of the system and of SQLite.

    Raises:
        StorageError: There was one.
    """
    try:
        yield
    except (OSError, sqlite3.Error, *failures) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise StorageError(
            f"{path}: {why or error}; what is on disk is kept, and the same command goes on from "
            "there"
        ) from error


@contextmanager
def locked(file: Path, refusal: RagassayError) -> Iterator[None]:
    """Lock a file for this process; do not wait where another has it.

    Args:
        file: The lock; created if missing, in a folder that exists.
        refusal: Raised where another process has locked it.
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
            "the same command goes on without it"
        ) from error

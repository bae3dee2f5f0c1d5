"""Keep a run's folder at an address of object storage: s3://, gs://, anything that fsspec knows.

The run works in a folder on this machine, for its files are databases and are written piece by
piece. What is at the address is brought here first; what has changed is copied there while the run
goes on, and at its end.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import sqlite3
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ragassay.errors import ExtraError, InputError, StorageError
from ragassay.redaction import keep_address
from ragassay.settings import load_settings

P = ParamSpec("P")
T = TypeVar("T")

PAUSE_S = 30.0
"""Pause between two copies: a machine that is lost takes so much work with it at most."""

LEFT = re.compile(r"\.lock$|^\.|\.partial$|-(wal|shm)$")
"""Files that are of use on this machine alone."""

WRITER = "writer.txt"
"""Names the folder that has written to the address last."""


def is_address(out: object) -> bool:
    """Return whether a place is an address of storage, and not a path."""
    return isinstance(out, str) and bool(re.match(r"[a-z][a-z0-9+.-]+://", out))


@contextmanager
def stored(options: Any) -> Iterator[None]:
    """Put a folder of this machine in the place of an address in `out`, while it is open.

    Args:
        options: The options of a run; `out` is changed where it is an address.

    Raises:
        ExtraError: The library for this kind of storage is not installed.
        InputError: The address cannot be read or written.
    """
    out = options.get("out")
    if not is_address(out):
        yield
        return
    place = Stored(out, load_settings().cache_dir / "runs")
    place.fetch()
    options["out"] = place.folder
    ended = threading.Event()
    copying = threading.Thread(target=place.copy_on, args=(ended,), daemon=True)
    copying.start()
    try:
        yield
    finally:
        ended.set()
        copying.join()
        place.copy()


def stores(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a function of Python's interface take an address as `out`."""

    @functools.wraps(function)
    async def called(*arguments: P.args, **options: P.kwargs) -> T:
        with stored(options):
            return await function(*arguments, **options)

    return called


class Stored:
    """A run's folder at an address, and the one on this machine that the run works in.

    Args:
        address: The address of the folder.
        folders: Where the folder on this machine is made.

    Raises:
        ExtraError: The library for this kind of storage is not installed.
        InputError: Nobody knows such an address.
    """

    def __init__(self, address: str, folders: Path) -> None:
        import fsspec

        keep_address(address)
        self.address = address
        try:
            self._files, self._root = fsspec.core.url_to_fs(address)
        except ImportError as error:
            raise ExtraError(f"out: {address}: {error}") from error
        except ValueError as error:
            raise InputError(f"out: {address}: {error}") from error
        self.folder = folders / hashlib.sha256(address.encode()).hexdigest()[:16]
        self._copied: dict[str, tuple[int, int]] = {}

    def fetch(self) -> None:
        """Bring the run here, unless this folder has written there last: then it is ahead.

        Raises:
            InputError: The address cannot be read.
        """
        try:
            self._files.invalidate_cache()
            own, theirs = self.folder / WRITER, f"{self._root}/{WRITER}"
            is_there = self._files.exists(self._root)
            last = self._files.cat_file(theirs) if self._files.exists(theirs) else b""
            if own.is_file() and (not is_there or own.read_bytes() == last):
                return
            if self.folder.exists():
                shutil.rmtree(self.folder)
            self.folder.mkdir(parents=True)
            if is_there:
                self._files.get(f"{self._root}/", f"{self.folder}/", recursive=True)
            own.write_text(uuid.uuid4().hex, encoding="utf-8")
        except OSError as error:
            raise InputError(f"out: {self.address} cannot be read: {error}") from error

    def copy_on(self, ended: threading.Event) -> None:
        """Copy what has changed, again and again; what cannot be copied now is copied later."""
        while not ended.wait(PAUSE_S):
            try:
                self.copy()
            except StorageError:
                continue

    def copy(self) -> None:
        """Copy what has changed to the address.

        Raises:
            StorageError: It cannot be written; the run is whole in the folder on this machine.
        """
        try:
            self._copy_file(self.folder / WRITER)  # first: a kill half-way leaves this one ahead
            for path in sorted(self.folder.rglob("*")):
                if path.is_file() and not LEFT.search(path.name):
                    self._copy_file(path)
        except OSError as error:
            raise StorageError(
                f"out: {self.address} cannot be written: {error}; the run is in {self.folder}"
            ) from error

    def _copy_file(self, path: Path) -> None:
        stat = path.stat()
        wal = path.with_name(f"{path.name}-wal")
        size = stat.st_size + (wal.stat().st_size if wal.exists() else 0)
        state = (size, max(stat.st_mtime_ns, wal.stat().st_mtime_ns if wal.exists() else 0))
        name = path.relative_to(self.folder).as_posix()
        if self._copied.get(name) == state:
            return
        whole = _snapshot(path) if path.suffix == ".sqlite" else path
        target = f"{self._root}/{name}"
        self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
        self._files.put_file(str(whole), target)
        if whole != path:
            whole.unlink()
        self._copied[name] = state


def _snapshot(path: Path) -> Path:
    """Return a copy of a database that is being written."""
    copy = path.with_name(f".{path.name}.copy")
    copy.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database, closing(sqlite3.connect(copy)) as target:
        database.backup(target)
    return copy

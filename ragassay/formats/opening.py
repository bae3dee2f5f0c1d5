"""Open files that nobody vouches for: no pipe, no bomb, and only what was there when opened."""

from __future__ import annotations

import io
import os
import stat
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.unpacking import GZIP_MAGIC, BombError, Unpacked
from ragassay.small_files import special_kind

DAMAGE = (EOFError, zlib.error, OSError)
"""What reading a file raises where it is truncated or damaged, or cannot be read."""

_MAX_NAME = 300


class _AsOpened(io.FileIO):
    """A file up to the length that it had when it was opened: one that grows has an end."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._size = self._left = os.fstat(self.fileno()).st_size

    @property
    def n_grown(self) -> int:
        """Bytes that were appended since."""
        return max(0, os.fstat(self.fileno()).st_size - self._size)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer; as of any raw file."""
        n = super().readinto(memoryview(buffer)[: self._left]) or 0
        self._left -= n
        return n

    readall = io.RawIOBase.readall  # That of a file does not ask `readinto`.


class Opened(io.BufferedReader):
    """The bytes of a file, unpacked."""

    def __init__(self, file: _AsOpened) -> None:
        packed = io.BufferedReader(file)
        is_gzip = packed.peek(2)[:2] == GZIP_MAGIC
        super().__init__(Unpacked(packed) if is_gzip else packed)  # type: ignore[arg-type]
        self._file = file

    @property
    def n_grown(self) -> int:
        """Bytes that were appended since it was opened, and are not read."""
        return self._file.n_grown


@contextmanager
def open_binary(path: Path) -> Generator[Opened]:
    """Open a file for reading; gzip is unpacked whatever the name.

    Raises:
        InputError: there is no such file, it is a folder or a pipe, or it may not be read.
    """
    check_file(path)
    try:
        file = _AsOpened(path)
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}") from error
    with file, Opened(file) as handle:
        yield handle


def check_file(path: Path) -> None:
    """Refuse what is no file: a folder, a pipe, a device, a link that leads nowhere.

    Raises:
        InputError: names what it is.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        why = "is a link that leads nowhere" if path.is_symlink() else "does not exist"
        raise InputError(f"{path} {why}: check the path") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{_shown(path)} cannot be opened: {why}") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder: name the file in it that is to be read")
    if special := special_kind(mode):
        raise InputError(f"{path} is {special}, and files are read more than once: save it in one")


def _shown(path: Path) -> str:
    text = str(path).replace("\0", "\\0")
    return text if len(text) <= _MAX_NAME else f"{text[:_MAX_NAME]}..."


def damage_text(error: BaseException) -> str:
    """Return why a file cannot be read from here on."""
    if isinstance(error, BombError):
        return f"the file is refused: {error}"
    return f"the file is truncated or is damaged here ({error})"

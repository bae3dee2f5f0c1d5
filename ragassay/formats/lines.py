"""Read files as lines of bytes: plain or gzip, detected from the first bytes, a line at a time."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ragassay.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
UTF8_BOM = b"\xef\xbb\xbf"
MAX_LINE_BYTES = 256 * 1024 * 1024
"""A longer line is skipped unread, so that a gzip bomb cannot fill the memory."""

_SKIP_BYTES = 1024 * 1024
_CONTENT_BYTES = 8_000


@dataclass(frozen=True)
class RawLine:
    """A line of a file, unparsed.

    Attributes:
        number: 1-based.
        data: The bytes without the line end; only the first ones where `problem` is set.
        problem: Why the line could not be read; else empty.
        expected: What was expected, where `problem` is set.
    """

    number: int
    data: bytes
    problem: str = ""
    expected: str = ""

    @property
    def blank(self) -> bool:
        """Return whether the line is blank."""
        return not self.problem and not self.data.strip()


@contextmanager
def open_binary(path: Path) -> Generator[IO[bytes] | gzip.GzipFile]:
    """Open a file for reading; gzip is unpacked whatever the name.

    Raises:
        InputError: there is no such file, it is a folder, or it may not be read.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder: name the file in it that is to be read")
    try:
        handle = path.open("rb")
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: check the path") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be opened: {error}") from error
    with handle:
        if handle.peek(2)[:2] == GZIP_MAGIC:
            with gzip.GzipFile(fileobj=handle, mode="rb") as unpacked:
                yield unpacked
        else:
            yield handle


def iter_lines(path: Path) -> Iterator[RawLine]:
    """Read a file line by line; where unpacking fails, the last line has a problem.

    Blank lines are skipped, and a byte order mark at the start is removed.

    Raises:
        InputError: as `open_binary`.
    """
    with open_binary(path) as handle:
        number = 0
        while True:
            number += 1
            try:
                line = _read_line(handle, number)
            except (EOFError, zlib.error, OSError) as error:
                yield RawLine(
                    number,
                    b"",
                    problem=f"the file is truncated or is damaged here ({error})",
                    expected="a whole file: copy or pack it again",
                )
                return
            if line is None:
                return
            if not line.blank:
                yield line


def _read_line(handle: IO[bytes] | gzip.GzipFile, number: int) -> RawLine | None:
    data = handle.readline(MAX_LINE_BYTES + 1)
    if not data:
        return None
    if number == 1:
        data = data.removeprefix(UTF8_BOM)
    if len(data) <= MAX_LINE_BYTES or data.endswith(b"\n"):
        return RawLine(number, data.rstrip(b"\r\n"))
    rest = data
    while rest and not rest.endswith(b"\n"):
        rest = handle.readline(_SKIP_BYTES)
    return RawLine(
        number,
        data[:_CONTENT_BYTES],
        problem=f"the line is longer than {MAX_LINE_BYTES:,} bytes",
        expected="one record a line",
    )

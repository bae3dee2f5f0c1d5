"""Open untrusted files, decompress them within limits, and read them line by line."""

from __future__ import annotations

import codecs
import io
import os
import stat
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ragassay.errors import InputError
from ragassay.files import detect_special_file, get_line_limit

SAVE_AS_UTF8 = "save it as UTF-8 (`iconv -f {iconv} -t UTF-8 IN > OUT`)"
_BOMS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
"""Byte order marks. UTF-32 comes first because its mark may begin with that of UTF-16."""

_TYPED = frozenset(b"\t\n\r\f")
_HIGH = 0x80
_SEEN = 4_096


def detect_bom(data: bytes) -> str | None:
    """Return "UTF-16" or "UTF-32" if the data starts with its byte order mark, otherwise None."""
    return next((name for mark, name in _BOMS if data.startswith(mark)), None)


def guess_encoding(data: bytes) -> str | None:
    """Guess the encoding of bytes that are not UTF-8, or return None if it is unclear.

    Example:
        >>> guess_encoding("naïve".encode("cp1252")), guess_encoding("ab".encode("utf-16-le"))
        ('Windows-1252', 'UTF-16')
    """
    start = data[:_SEEN]
    if (marked := detect_bom(start)) is not None:
        return marked
    pairs = len(start) // 2
    n_zeros = max(start[::2].count(0), start[1::2].count(0))
    if pairs and n_zeros * 2 > pairs and start.count(0) <= pairs + 1:
        return "UTF-16"
    if any(byte < 0x20 and byte not in _TYPED for byte in start):
        return None
    try:
        start.decode("cp1252")
    except UnicodeDecodeError:
        return None
    return "Windows-1252" if any(byte >= _HIGH for byte in start) else None


def describe_encoding(data: bytes) -> str:
    """Describe the likely encoding and how to convert it, or return "" if it is unclear."""
    if (name := guess_encoding(data)) is None:
        return ""
    return f"; it looks like {name}: {SAVE_AS_UTF8.format(iconv=name.upper())}"


GZIP_MAGIC = b"\x1f\x8b"
MAX_WINDOW_BYTES = 2 * 1024 * 1024
"""Maximum number of bytes to which 4 KiB of a gzip file may unpack. Only decompression bombs exceed
this size."""

MAX_RATIO = 100
"""Maximum compression ratio of a large file. Gzip compresses text by a factor of 3 to 20."""

LARGE_BYTES = 256 * 1024 * 1024

_WINDOW_BYTES = 4 * 1024
_GZIP_WBITS = 31


class BombError(OSError):
    """Raised when a compressed file unpacks to far more data than a text file would."""


class Unpacked(io.RawIOBase):
    """Raw stream that decompresses a gzip file in small windows, for use in a `BufferedReader`.

    Reading raises `BombError`, `EOFError` for a truncated file, or `zlib.error` for a damaged one,
    but only after all preceding content has been returned.
    """

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._unpacker = zlib.decompressobj(_GZIP_WBITS)
        self._is_between = False
        self._n_in = self._n_out = 0
        self._ready = memoryview(b"")
        self._end: zlib.error | BombError | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read decompressed bytes into a buffer, and return their number."""
        while not self._ready:
            if self._end is not None:
                raise self._end
            window = self._packed.read(_WINDOW_BYTES)
            if not window:
                if self._is_between:
                    return 0
                raise EOFError("the compressed stream is incomplete")
            self._ready = memoryview(self._check_window(window))
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def _check_window(self, window: bytes) -> bytes:
        data = self._unpack_window(window)
        self._n_in += len(window)
        self._n_out += len(data)
        if len(data) > MAX_WINDOW_BYTES:
            self._end = BombError(
                f"{len(window):,} bytes unpack to more than {MAX_WINDOW_BYTES:,} bytes, like a "
                "decompression bomb"
            )
        elif self._n_out > max(LARGE_BYTES, MAX_RATIO * self._n_in):
            self._end = BombError(
                f"the first {self._n_in:,} bytes unpack to {self._n_out:,}, more than {MAX_RATIO} "
                "times as many bytes, like a decompression bomb"
            )
        return data

    def _unpack_window(self, window: bytes) -> bytes:
        """Decompress a window to at most `MAX_WINDOW_BYTES` + 1 bytes."""
        before, was_between = self._unpacker.copy(), self._is_between
        try:
            return b"".join(self._unpack_parts(window))
        except zlib.error:  # zlib discards partial output, so retry byte by byte.
            self._unpacker, self._is_between = before, was_between
        parts: list[bytes] = []
        try:
            for n in range(len(window)):
                parts += self._unpack_parts(window[n : n + 1])
        except zlib.error as error:
            self._end = error
        return b"".join(parts)

    def _unpack_parts(self, window: bytes) -> list[bytes]:
        parts: list[bytes] = []
        room = MAX_WINDOW_BYTES + 1
        while window and room > 0:
            if self._is_between:
                window = window.lstrip(b"\0")
                if not window:
                    break
                self._unpacker = zlib.decompressobj(_GZIP_WBITS)
            parts.append(self._unpacker.decompress(window, room))
            room -= len(parts[-1])
            self._is_between = self._unpacker.eof
            window = self._unpacker.unused_data if self._is_between else b""
        return parts


CORRUPTION_ERRORS = (EOFError, zlib.error, OSError)
"""Errors raised when a file is truncated, damaged or unreadable."""

_MAX_NAME = 300


class _AsOpened(io.FileIO):
    """A file that is read only up to the size it had when opened, even if it grows."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._size = self._left = os.fstat(self.fileno()).st_size

    @property
    def n_grown(self) -> int:
        """Number of bytes appended since the file was opened."""
        return max(0, os.fstat(self.fileno()).st_size - self._size)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read bytes into a buffer, and return their number."""
        n = super().readinto(memoryview(buffer)[: self._left]) or 0
        self._left -= n
        return n

    readall = io.RawIOBase.readall  # FileIO.readall bypasses `readinto`.


class UnpackedFile(io.BufferedReader):
    """Buffered reader of a file's decompressed bytes."""

    def __init__(self, file: _AsOpened) -> None:
        packed = io.BufferedReader(file)
        is_gzip = packed.peek(2)[:2] == GZIP_MAGIC
        super().__init__(Unpacked(packed) if is_gzip else packed)  # type: ignore[arg-type]
        self._file = file

    @property
    def n_grown(self) -> int:
        """Number of bytes appended since the file was opened, which are not read."""
        return self._file.n_grown


@contextmanager
def open_binary(path: Path) -> Generator[UnpackedFile]:
    """Open a file for reading, and decompress gzip regardless of the file name.

    Raises:
        InputError: The file does not exist, is a folder or a pipe, or cannot be opened.
    """
    check_file(path)
    try:
        file = _AsOpened(path)
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}") from error
    with file, UnpackedFile(file) as handle:
        yield handle


def check_file(path: Path) -> None:
    """Raise an error if the path does not exist or is not a regular file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        why = "is a broken link" if path.is_symlink() else "does not exist"
        raise InputError(f"{path} {why}; check the path") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{_shorten_path(path)} cannot be opened: {why}") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder; pass a file in the folder instead")
    if special := detect_special_file(mode):
        raise InputError(
            f"{path} is {special}, but the input is read several times; save the input to a "
            "regular file"
        )


def _shorten_path(path: Path) -> str:
    text = str(path).replace("\0", "\\0")
    return text if len(text) <= _MAX_NAME else f"{text[:_MAX_NAME]}..."


def describe_corruption(error: BaseException) -> str:
    """Describe why the rest of a file cannot be read."""
    if isinstance(error, BombError):
        return f"the file is refused: {error}"
    return f"the file is truncated or damaged here ({error})"


UTF8_BOM = b"\xef\xbb\xbf"
_SKIP_BYTES = 1024 * 1024
_MAX_SKIPPED_BYTES = 1024 * _SKIP_BYTES
_CONTENT_BYTES = 8_000


@dataclass(frozen=True)
class RawLine:
    """An unparsed line of a file.

    Attributes:
        data: Bytes without the line ending, possibly truncated if `problem` is set.
        problem: Reason why the line could not be read, or "" for a readable line.
        expected: Description of a valid line, or "" for a readable line.
    """

    number: int
    data: bytes
    problem: str = ""
    expected: str = ""

    @property
    def blank(self) -> bool:
        """Return whether the line is blank."""
        return not self.problem and not self.data.strip()


def cut_long_line(number: int, data: bytes, limit: int, what: str = "line") -> RawLine:
    """Return the start of a line that exceeds the limit, with a problem that says so."""
    return RawLine(
        number,
        data[:_CONTENT_BYTES],
        problem=f"the {what} is longer than {limit:,} bytes",
        expected="one record per line, or a higher limit (RAGASSAY_LIMITS__MAX_LINE_BYTES)",
    )


def iter_lines(path: Path) -> Iterator[RawLine]:
    """Yield the lines of a file. If reading fails, the last line has its `problem` set.

    Blank lines and a leading byte order mark are skipped.
    """
    limit = get_line_limit()
    with open_binary(path) as handle:
        number = 0
        while True:
            number += 1
            try:
                data = handle.readline(limit + 1)
                if data.isspace() and data.endswith(b"\n"):
                    continue
                line = _read_line(handle, number, data, limit)
            except CORRUPTION_ERRORS as error:
                expected = "a complete file; copy or compress the file again"
                yield RawLine(number, b"", problem=describe_corruption(error), expected=expected)
                return
            except UnicodeError as error:
                iconv = str(error).rpartition(" ")[2]
                expected = f"UTF-8: {SAVE_AS_UTF8.format(iconv=iconv)}"
                yield RawLine(number, b"", problem=str(error), expected=expected)
                return
            if line is None:
                break
            if not line.blank:
                yield line
        if handle.n_grown:
            text = f"the file grew during reading; the {handle.n_grown:,} new bytes were skipped"
            yield RawLine(number, b"", problem=text, expected="a file that does not change")


def _read_line(handle: UnpackedFile, number: int, data: bytes, limit: int) -> RawLine | None:
    """Read the rest of a line of which `data` is the start, or return None at the file's end."""
    if not data:
        return None
    if number == 1:
        if (name := detect_bom(data)) is not None:
            raise UnicodeError(f"the file is in {name}")
        data = data.removeprefix(UTF8_BOM)
    if len(data) <= limit or data.endswith(b"\n"):
        return RawLine(number, data.rstrip(b"\r\n"))
    skipped, rest = 0, data
    while rest and not rest.endswith(b"\n"):
        rest = handle.readline(_SKIP_BYTES)
        skipped += len(rest)
        if skipped > _MAX_SKIPPED_BYTES:
            raise OSError(f"found a line of more than {limit + skipped:,} bytes")
    return cut_long_line(number, data, limit)

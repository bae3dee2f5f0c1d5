"""Unpack gzip that nobody vouches for: a bomb is refused after two megabytes."""

from __future__ import annotations

import io
import zlib
from typing import BinaryIO

GZIP_MAGIC = b"\x1f\x8b"
MAX_WINDOW_BYTES = 2 * 1024 * 1024
"""A bomb unpacks 4 KiB to more; text that people write unpacks to a hundredth of it."""

MAX_RATIO = 100
"""Of a file as a whole, once it is large: text in gzip unpacks to 3 to 20 times its size."""

LARGE_BYTES = 256 * 1024 * 1024

_WINDOW_BYTES = 4 * 1024
_GZIP_WBITS = 31


class BombError(OSError):
    """A packed file unpacks to far more than any file of text does."""


class Unpacked(io.RawIOBase):
    """The content of a gzip file, unpacked a window at a time; wrap it in a `BufferedReader`.

    Reading raises `BombError`, `EOFError` where the file is truncated, `zlib.error` where it is
    damaged; what comes before is read first.

    Args:
        packed: The file.
    """

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._unpacker = zlib.decompressobj(_GZIP_WBITS)
        self._is_between = False
        self._n_in = self._n_out = 0
        self._ready = memoryview(b"")
        self._end: zlib.error | BombError | None = None

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer; as of any raw file."""
        while not self._ready:
            if self._end is not None:
                raise self._end
            window = self._packed.read(_WINDOW_BYTES)
            if not window:
                if self._is_between:
                    return 0
                raise EOFError("it ends before its packed content does")
            self._ready = memoryview(self._checked(window))
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def _checked(self, window: bytes) -> bytes:
        data = self._unpacked(window)
        self._n_in += len(window)
        self._n_out += len(data)
        if len(data) > MAX_WINDOW_BYTES:
            self._end = BombError(
                f"{len(window):,} bytes of it unpack to more than {MAX_WINDOW_BYTES:,}: a bomb"
            )
        elif self._n_out > max(LARGE_BYTES, MAX_RATIO * self._n_in):
            self._end = BombError(
                f"its first {self._n_in:,} bytes unpack to {self._n_out:,}, more than {MAX_RATIO} "
                "times as many: a bomb"
            )
        return data

    def _unpacked(self, window: bytes) -> bytes:
        """Return what a window unpacks to, a little more than a window may at most."""
        before, was_between = self._unpacker.copy(), self._is_between
        try:
            return b"".join(self._parts(window))
        except zlib.error:  # It says nothing of what it had unpacked: do it again byte by byte.
            self._unpacker, self._is_between = before, was_between
        found: list[bytes] = []
        try:
            for n in range(len(window)):
                found += self._parts(window[n : n + 1])
        except zlib.error as error:
            self._end = error
        return b"".join(found)

    def _parts(self, window: bytes) -> list[bytes]:
        """Unpack members, which may follow each other; zeros may follow the last one."""
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

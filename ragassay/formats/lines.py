"""Read files as lines of bytes: plain or gzip, detected from the first bytes, a line at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragassay.formats.encodings import SAVE_AS_UTF8, encoding_of_start
from ragassay.formats.opening import DAMAGE, Opened, damage_text, open_binary
from ragassay.limits import max_line_bytes

UTF8_BOM = b"\xef\xbb\xbf"
_SKIP_BYTES = 1024 * 1024
_MAX_SKIPPED_BYTES = 1024 * _SKIP_BYTES
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


def too_long(number: int, data: bytes, limit: int, what: str = "line") -> RawLine:
    """Return a line, or what is used as one, that is above the limit; its beginning is kept."""
    return RawLine(
        number,
        data[:_CONTENT_BYTES],
        problem=f"the {what} is longer than {limit:,} bytes",
        expected="one record a line, or a higher limit (RAGASSAY_LIMITS__MAX_LINE_BYTES)",
    )


def iter_lines(path: Path) -> Iterator[RawLine]:
    """Read a file line by line; where it cannot be read further, the last line has a problem.

    Blank lines are skipped, and a byte order mark at the start is removed.

    Raises:
        InputError: as `open_binary`.
    """
    limit = max_line_bytes()
    with open_binary(path) as handle:
        number = 0
        while True:
            number += 1
            try:
                data = handle.readline(limit + 1)
                if data.isspace() and data.endswith(b"\n"):
                    continue
                line = _line(handle, number, data, limit)
            except DAMAGE as error:
                whole = "a whole file: copy or pack it again"
                yield RawLine(number, b"", problem=damage_text(error), expected=whole)
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
            text = f"the file grew while it was read: {handle.n_grown:,} bytes are left out"
            yield RawLine(number, b"", problem=text, expected="a file that is complete")


def _line(handle: Opened, number: int, data: bytes, limit: int) -> RawLine | None:
    """Return the line that begins with some data; None at the end."""
    if not data:
        return None
    if number == 1:
        if (name := encoding_of_start(data)) is not None:
            raise UnicodeError(f"the file is in {name}")
        data = data.removeprefix(UTF8_BOM)
    if len(data) <= limit or data.endswith(b"\n"):
        return RawLine(number, data.rstrip(b"\r\n"))
    skipped, rest = 0, data
    while rest and not rest.endswith(b"\n"):
        rest = handle.readline(_SKIP_BYTES)
        skipped += len(rest)
        if skipped > _MAX_SKIPPED_BYTES:
            raise OSError(f"a line of more than {limit + skipped:,} bytes")
    return too_long(number, data, limit)

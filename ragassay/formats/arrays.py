"""Recognise JSON arrays in files, and split them into items without loading the whole file.

A string in JSON cannot span lines, so brackets can be counted line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ragassay.formats.lines import RawLine, too_long
from ragassay.limits import max_line_bytes

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},]')
_OPENS_ITEM = (b"[", b"{", b",")


def is_array(head: Sequence[RawLine]) -> bool:
    """Return whether a file contains one JSON array rather than a JSON object a line.

    Args:
        head: The first two lines that are not blank; fewer if the file has fewer.

    Returns:
        False for a file whose first line is a whole array with further lines below: there it
        is one bad line among others.
    """
    if not head or head[0].problem or not head[0].data.lstrip().startswith(b"["):
        return False
    if len(head) == 1:
        return True
    first, second = head[0].data.rstrip(), head[1].data.lstrip()
    if first.endswith(_OPENS_ITEM):
        return True
    return second.startswith((b",", b"]")) and not _is_json(first)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


@dataclass
class Pieces:
    """The pieces of an item that spans several lines."""

    start: int = 0
    pieces: list[bytes] = field(default_factory=list[bytes])
    limit: int = field(default_factory=max_line_bytes)
    n_bytes: int = 0

    def add(self, number: int, piece: bytes) -> None:
        """Add a piece of the line with this number; blanks before an item are dropped."""
        if not self.pieces:
            piece = piece.lstrip()
            self.start = number
        if piece and self.n_bytes <= self.limit:  # One that is too long is not kept whole.
            self.pieces.append(piece)
            self.n_bytes += len(piece) + 1

    def item(self, number: int) -> RawLine:
        """Return the item, which ends on the line with this number, and start the next."""
        data = b"\n".join(self.pieces).rstrip()
        self.pieces, self.n_bytes = [], 0
        if len(data) > self.limit:
            return too_long(self.start, data, self.limit, "item")
        if data:
            return RawLine(self.start, data)
        return RawLine(number, b",", problem="nothing between two commas", expected="a JSON object")

    def rest(self, number: int, problem: str, expected: str) -> RawLine:
        """Return what is left at the end, as damage."""
        data = b"\n".join(self.pieces).strip()
        self.pieces, self.n_bytes = [], 0
        return RawLine(self.start if data else number, data, problem, expected)


@dataclass
class _Cutter:
    """Splits the lines of an array into items."""

    depth: int = 0
    closed: bool = False
    pieces: Pieces = field(default_factory=Pieces)

    def feed(self, line: RawLine) -> Iterator[RawLine]:
        """Return the items that end on this line."""
        position = 0
        for match in _TOKEN.finditer(line.data):
            token = match.group()
            if self.closed or token[:1] == b'"':
                continue
            if token in (b"[", b"{"):
                self.depth += 1
                position = match.end() if self.depth == 1 else position
            elif token == b"," and self.depth == 1:
                self.pieces.add(line.number, line.data[position : match.start()])
                yield self.pieces.item(line.number)
                position = match.end()
            elif token in (b"]", b"}"):
                self.depth -= 1
                if self.depth == 0:
                    self.pieces.add(line.number, line.data[position : match.start()])
                    position = match.end()
                    self.closed = True
                    if self.pieces.pieces:
                        yield self.pieces.item(line.number)
        self.pieces.add(line.number, line.data[position:])

    def rest(self, number: int) -> Iterator[RawLine]:
        """Return what is left at the end of the file: damage, if anything."""
        if not self.closed:
            problem = "the array is not closed: the file is truncated"
            yield self.pieces.rest(number, problem, "a closing ]")
        elif b"".join(self.pieces.pieces).strip():
            yield self.pieces.rest(number, "text after the array's end", "nothing after ]")


def cut_array(lines: Iterable[RawLine]) -> Iterator[RawLine]:
    """Split a JSON array into its items, each with the number of the line that it starts on.

    A line that cannot be read ends the array: what follows cannot be split any more.
    """
    cutter = _Cutter()
    number = 0
    for line in lines:
        number = line.number
        if line.problem:
            yield line
            return
        yield from cutter.feed(line)
    yield from cutter.rest(number)

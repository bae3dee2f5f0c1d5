"""Split JSON arrays and JSON documents into rows, without parsing the rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.files import get_line_limit
from ragassay.formats.files import RawLine, cut_long_line
from ragassay.formats.problems import Problem, is_list, is_object
from ragassay.formats.values import parse_json

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},]')
_OPENS_ITEM = (b"[", b"{", b",")


def is_array(head: Sequence[RawLine]) -> bool:
    """Return whether a file that starts with one or two given lines is a single JSON array.

    If the first line is a complete array and another line follows, the file is JSON lines with an
    invalid first line.
    """
    if not head or head[0].problem or not head[0].data.lstrip().startswith(b"["):
        return False
    if len(head) == 1:
        return True
    first, second = head[0].data.rstrip(), head[1].data.lstrip()
    if first.endswith(_OPENS_ITEM):
        return True
    return second.startswith((b",", b"]")) and isinstance(parse_json(first), Problem)


@dataclass
class Pieces:
    """Pieces, collected so far, of a JSON item that spans several lines."""

    start: int = 0
    pieces: list[bytes] = field(default_factory=list[bytes])
    limit: int = field(default_factory=get_line_limit)
    n_bytes: int = 0

    def add(self, number: int, piece: bytes) -> None:
        """Add a piece of a line, and strip leading whitespace from the first piece."""
        if not self.pieces:
            piece = piece.lstrip()
            self.start = number
        if piece and self.n_bytes <= self.limit:  # The rest of an oversized item is dropped.
            self.pieces.append(piece)
            self.n_bytes += len(piece) + 1

    def finish_item(self, number: int) -> RawLine:
        """Join the pieces into an item that ends on line `number`, and start a new item."""
        data = b"\n".join(self.pieces).rstrip()
        self.pieces, self.n_bytes = [], 0
        if len(data) > self.limit:
            return cut_long_line(self.start, data, self.limit, "item")
        if data:
            return RawLine(self.start, data)
        return RawLine(
            number, b",", problem="there is nothing between two commas", expected="a JSON object"
        )

    def reject_rest(self, number: int, problem: str, expected: str) -> RawLine:
        """Join the pieces of an incomplete item into a line with a problem."""
        data = b"\n".join(self.pieces).strip()
        self.pieces, self.n_bytes = [], 0
        return RawLine(self.start if data else number, data, problem, expected)


ROW_LISTS = ("results", "questions", "data", "runs", "traces", "rows", "records", "examples")
"""Names under which a document may store its list of rows."""

ROW_FIELDS = frozenset(
    {
        *("question", "query", "answer", "response", "user_input", "input", "body"),
        *("text", "abstract", "contents", "pmid"),
        *("inputs", "datasource_item", "sample", "vars", "trace", "messages", "prompt", "request"),
        *("user_query", "user_question", "instruction", "completion", "output", "prediction"),
    }
)
"""Fields that identify an object as a row even if it contains lists."""
_CLOSING = (b",", b"]", b"}")


@dataclass(frozen=True)
class CutDocument:
    """A document split into its header and rows.

    Attributes:
        header: JSON text of the document, with an empty list of rows.
        rows: Rows, including damaged ones, with the number of the first line of each row.
    """

    name: str
    header: bytes
    rows: tuple[RawLine, ...]


def find_row_list(fields: Mapping[str, object]) -> str | None:
    """Return the name of the list that contains a document's rows, or None if there is none."""
    if ROW_FIELDS.intersection(fields):
        return None
    return next((name for name in ROW_LISTS if is_list(fields.get(name))), None)


def transpose_columns(fields: Mapping[str, object]) -> list[dict[str, object]] | None:
    """Return the rows of an object whose values are columns, or None for any other object.

    Columns are lists of equal length, as returned by a dataset's `to_dict`, or objects with the
    same keys, as written by a frame's `to_json`. At least one of `ROW_FIELDS` must contain text.
    """
    columns = {
        name: list(part.values()) if is_object(part) else part for name, part in fields.items()
    }
    lists = {name: part for name, part in columns.items() if is_list(part)}
    keys = {tuple(part) if is_object(part) else () for part in fields.values()}
    texts = (lists[name] for name in ROW_FIELDS.intersection(lists))
    if len(lists) < max(len(fields), 2) or len(keys) > 1 or len(set(map(len, lists.values()))) > 1:
        return None
    if not any(part and all(isinstance(one, str) for one in part) for part in texts):
        return None
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def is_document(head: Sequence[RawLine]) -> bool:
    """Return whether a file that starts with two given lines is a single JSON object."""
    if len(head) < 2 or any(line.problem for line in head):
        return False
    first, second = head[0].data.strip(), head[1].data.strip()
    if not first.startswith(b"{"):
        return False
    opened: list[bytes] = []
    for token in _TOKEN.findall(first):
        if token in (b"[", b"{"):
            opened.append(token)
        elif token in (b"]", b"}") and opened:
            opened.pop()
    if not opened:
        return False
    if first.endswith(b":"):
        return True
    if first.endswith((b"{", b"[", b",")):
        return opened[-1] == b"[" or second.startswith((b'"', b"}"))
    return second.startswith(_CLOSING)


def may_be_document(line: RawLine) -> bool:
    """Return whether a line may be a document with a list of rows."""
    return not line.problem and any(f'"{name}"'.encode() in line.data for name in ROW_LISTS)


@dataclass
class _Cutter:
    """Cuts the entries of an array, or of a document's list of rows, out of the lines of a file."""

    level: int  # Nesting level of the entries: 1 in an array, 2 in the list of a document.
    depth: int = 0
    key: bytes = b""
    name: str = ""
    inside: bool = False
    header: list[bytes] = field(default_factory=list[bytes])
    pieces: Pieces = field(default_factory=Pieces)

    def feed(self, line: RawLine) -> Iterator[RawLine]:
        """Yield the entries of the array or list that end on a line."""
        position = 0
        for match in _TOKEN.finditer(line.data):
            token = match.group()
            if token[:1] == b'"':
                self.key = token if self.depth == 1 else self.key
            elif token in (b"[", b"{"):
                if token == b"[" and self._opens_list():
                    self.header.append(line.data[position : match.end()])
                    position = match.end()
                self.depth += 1
            elif token == b"," and self.inside and self.depth == self.level:
                self.pieces.add(line.number, line.data[position : match.start()])
                yield self.pieces.finish_item(line.number)
                position = match.end()
            elif token in (b"]", b"}"):
                self.depth -= 1
                if self.inside and self.depth == self.level - 1:
                    self.pieces.add(line.number, line.data[position : match.start()])
                    if self.pieces.pieces:
                        yield self.pieces.finish_item(line.number)
                    # Text after an array is an error. Text after a list belongs to the document.
                    position = match.end() if self.level == 1 else match.start()
                    self.inside = False
        rest = line.data[position:]
        if self.inside or self.level == 1:
            self.pieces.add(line.number, rest)
        else:
            self.header.append(rest + b"\n")

    def _opens_list(self) -> bool:
        name = self.key.strip(b'"').decode("ascii", "replace") if self.level == 2 else "array"
        is_known = self.level == 1 or name in ROW_LISTS
        if self.depth == self.level - 1 and not self.name and is_known:
            self.name, self.inside = name, True
            return True
        return False


def cut_array(lines: Iterable[RawLine]) -> Iterator[RawLine]:
    """Split a JSON array into its items, each with the number of its first line.

    Reading stops at a line with a problem because the remaining text cannot be split.
    """
    cutter = _Cutter(level=1)
    number = 0
    for line in lines:
        number = line.number
        if line.problem:
            yield line
            return
        yield from cutter.feed(line)
    if cutter.inside:
        problem = "the array is not closed, so the file is truncated"
        yield cutter.pieces.reject_rest(number, problem, "a closing ]")
    elif b"".join(cutter.pieces.pieces).strip():
        yield cutter.pieces.reject_rest(
            number, "found text after the end of the array", "nothing after ]"
        )


def cut_document(lines: Sequence[RawLine]) -> CutDocument | None:
    """Split a document into its header and its rows, or return None if it has no list of rows."""
    cutter = _Cutter(level=2)
    rows: list[RawLine] = []
    number = 0
    for line in lines:
        number = line.number
        rows += [line] if line.problem else cutter.feed(line)
        if line.problem:
            break
    if not cutter.name:
        return None
    header = b"".join(cutter.header)
    if cutter.inside:
        problem = f'the list "{cutter.name}" is not closed, so the file is truncated'
        rows.append(cutter.pieces.reject_rest(number, problem, "a closing ]"))
        header += b"]}"
    return CutDocument(cutter.name, header, tuple(rows))

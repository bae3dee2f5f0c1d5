"""Read the items of a file or list: JSON objects that are safe to work with, or rejections."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from ragassay.formats.documents import (
    CutDocument,
    column_rows,
    cut_array,
    cut_document,
    is_array,
    is_document,
    may_be_document,
    row_list,
)
from ragassay.formats.files import RawLine, iter_lines
from ragassay.formats.problems import Problem, ProblemError, describe_value, is_list, is_object
from ragassay.formats.tables import TableRow, iter_table, table_kind
from ragassay.formats.values import MAX_DEPTH, find_bad_value, parse_json, plain_row
from ragassay.records import Rejection

MAX_JUNK = 10_000
MAX_JUNK_SHARE = 0.9
"""Of a file that has more unreadable lines than `MAX_JUNK` and this share, the rest is not read."""

T = TypeVar("T")


@dataclass
class JunkCount:
    """Counts the lines of a file that cannot be read, and ends one that is all junk."""

    path: Path
    n_bad: int = 0
    n_lines: int = 0

    def end(self, line: int, is_bad: bool) -> Rejection | None:
        """Count a line; return the last rejection of a file that is not to be read further."""
        self.n_lines += 1
        self.n_bad += is_bad
        if not is_bad or self.n_bad < MAX_JUNK or self.n_bad <= MAX_JUNK_SHARE * self.n_lines:
            return None
        return Rejection(
            file=str(self.path),
            line=line + 1,
            field="",
            problem=f"{self.n_bad:,} of {self.n_lines:,} lines cannot be read: the rest is left "
            "unread",
            expected="a file of records",
            content="",
        )


def until_junk(items: Iterable[T | Rejection], path: Path) -> Iterator[T | Rejection]:
    """Return the items of a file, up to where it turns out to be all junk."""
    junk = JunkCount(path)
    for item in items:
        yield item
        line = item.line if isinstance(item, Rejection) else 0
        if end := junk.end(line, isinstance(item, Rejection)):
            yield end
            return


MAX_CONTENT = 2_000
MAX_DOCUMENT_BYTES = 1024 * 1024 * 1024

ROWS_NAME = "rows"
METADATA_FIELDS = ("metadata", "meta_data")

_LINE_BYTES = 100
"""What a line takes in memory besides its bytes."""

_Read = TypeVar("_Read")


@dataclass(frozen=True)
class Place:
    """The place of an item in its file.

    Attributes:
        file: The file as the user named it.
        line: 1-based; 0 where the line is unknown.
        label: Stable name of the place, unique within the file: "line-3", "item-3", "row-3".
        content: The item's text, cut to 2,000 characters.
        path: Path in the document, as "results.3"; empty for a standalone item.
    """

    file: str
    line: int
    label: str
    content: str
    path: str = ""

    def reject(self, problem: Problem) -> Rejection:
        """Return a rejection for this item."""
        return Rejection(
            file=self.file,
            line=self.line,
            field=".".join(part for part in (self.path, problem.field) if part),
            problem=problem.text,
            expected=problem.expected,
            content=self.content,
        )


@dataclass(frozen=True)
class Item:
    """A JSON object: finite numbers, text that UTF-8 can write, at most 100 levels deep.

    Attributes:
        around: The fields of the document around a row; empty for a line.
    """

    place: Place
    fields: dict[str, object]
    around: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def keys(self) -> frozenset[str]:
        """The names of its fields, of its parent's fields, and of its metadata."""
        nested = (
            f"{name}.{key}"
            for name in METADATA_FIELDS
            if is_object(part := self.fields.get(name))
            for key in part
        )
        return frozenset((*self.fields, *self.around, *nested))


def iter_items(path: Path) -> Iterator[Item | Rejection]:
    """Read JSON lines, a JSON array, a JSON document with a list of rows, or a table.

    A file that is all junk is not read to its end; the last rejection says so.

    Raises:
        InputError: the file does not exist, is a folder or may not be opened.
    """
    yield from until_junk(_iter_all(path), path)


def _iter_all(path: Path) -> Iterator[Item | Rejection]:
    if kind := table_kind(path):
        yield from _table_items(iter_table(path, kind), str(path))
        return
    lines = iter_lines(path)
    head = list(islice(lines, 2))
    every = chain(head, lines)
    if is_document(head):
        yield from _document_items(list(_bound_lines(every)), str(path))
        return
    array = is_array(head)
    for count, line in enumerate(cut_array(every) if array else every, start=1):
        label = f"item-{count}" if array else f"line-{line.number}"
        yield from _line_items(line, str(path), label)


def _bound_lines(lines: Iterable[RawLine]) -> Iterator[RawLine]:
    """Return the lines of a document, which are in memory together, up to `MAX_DOCUMENT_BYTES`."""
    n_bytes = 0
    for line in lines:
        n_bytes += len(line.data) + _LINE_BYTES
        if n_bytes > MAX_DOCUMENT_BYTES:
            text = f"the document has more than {MAX_DOCUMENT_BYTES:,} bytes"
            yield RawLine(line.number, b"", text, "a record a line (JSON lines)")
            return
        yield line


def _table_items(rows: Iterable[TableRow], file: str) -> Iterator[Item | Rejection]:
    for count, row in enumerate(rows, start=1):
        place = Place(file, row.line, f"row-{count}", content_of(row.cells))
        if isinstance(row.cells, Problem):
            yield place.reject(row.cells)
            continue
        value = plain_row(row.cells, MAX_DEPTH)
        # An empty cell's column is kept: it tells the format.
        columns: dict[str, object] = {name: None for name in row.cells}
        yield (
            place.reject(value) if isinstance(value, Problem) else as_item(place, columns | value)
        )


def _document_items(lines: list[RawLine], file: str) -> Iterator[Item | Rejection]:
    found = cut_document(lines)
    header = _header(found, lines[0].number, file) if found else None
    if found is None or header is None:
        yield from _whole_or_lines(lines, file)
    else:
        yield from _document_rows(found, header, file, "item")


def _line_items(line: RawLine, file: str, label: str) -> Iterator[Item | Rejection]:
    """Return the item on a line, or the rows of a document on it."""
    found = cut_document([line]) if may_be_document(line) else None
    header = _header(found, line.number, file) if found else None
    is_json = found is not None and not isinstance(parse_json(found.header), Problem)
    if found is None or header is None or not is_json:
        yield from _spread(parse_line(line, file, label))
    else:
        yield from _document_rows(found, header, file, label)


def _spread(item: Item | Rejection) -> Iterator[Item | Rejection]:
    """Return the rows of an object of columns, as frames and data sets write it; else the item."""
    rows = column_rows(item.fields) if isinstance(item, Item) else None
    if rows is None or isinstance(item, Rejection):
        yield item
        return
    for count, row in enumerate(rows, start=1):
        place = replace(item.place, label=f"row-{count}", content=content_of(row))
        yield Item(place, row)


def _header(found: CutDocument, number: int, file: str) -> Item | Rejection | None:
    """Return a document without its rows; None where it is a row itself."""
    header = parse_line(RawLine(number, found.header), file, "")
    return None if isinstance(header, Item) and row_list(header.fields) is None else header


def _document_rows(
    found: CutDocument, header: Item | Rejection, file: str, label: str
) -> Iterator[Item | Rejection]:
    if isinstance(header, Rejection):
        yield header
    around = header.fields if isinstance(header, Item) else {found.name: []}
    for count, line in enumerate(found.rows):
        row = parse_line(line, file, f"{label}-{count + 1}", f"{found.name}.{count}")
        yield replace(row, around=around) if isinstance(row, Item) else row


def _whole_or_lines(lines: list[RawLine], file: str) -> Iterator[Item | Rejection]:
    """Return one row that spans several lines, or else JSON lines with a broken first one."""
    data = b"\n".join(line.data for line in lines)
    whole = parse_line(RawLine(lines[0].number, data), file, f"line-{lines[0].number}")
    if isinstance(whole, Item) and not any(line.problem for line in lines):
        yield from _spread(whole)
        return
    for line in lines:
        yield from _line_items(line, file, f"line-{line.number}")


def parse_line(line: RawLine, file: str, label: str, path: str = "") -> Item | Rejection:
    """Turn a line of bytes into an item."""
    text = line.data[: 4 * MAX_CONTENT].decode("utf-8", "backslashreplace")
    place = Place(file, line.number, label, shorten_text(text), path)
    if line.problem:
        return place.reject(Problem("", line.problem, line.expected))
    value = parse_json(line.data)
    if isinstance(value, Problem):
        return place.reject(value)
    return as_item(place, value)


def as_item(place: Place, value: object) -> Item | Rejection:
    """Check that a value is an object without anything that would break later steps."""
    if not is_object(value):
        return place.reject(Problem("", f"found {describe_value(value)}", "a JSON object: {…}"))
    problem = find_bad_value(value)
    return Item(place, value) if problem is None else place.reject(problem)


def iter_rows(rows: Iterable[Mapping[str, object]]) -> Iterator[Item | Rejection]:
    """Read a list of dicts, or a frame's rows; "line" counts rows from 1."""
    for count, row in enumerate(rows, start=1):
        place = Place(ROWS_NAME, count, f"row-{count}", content_of(row))
        value = plain_row(row, MAX_DEPTH)
        if isinstance(value, Problem):
            yield place.reject(value)
        else:
            yield from _row_items(place, value)


def _row_items(place: Place, value: dict[str, object]) -> Iterator[Item | Rejection]:
    name = row_list(value)
    rows = value[name] if name is not None else None
    if name is None or not is_list(rows):
        yield as_item(place, value)
        return
    header = as_item(place, value | {name: []})
    if isinstance(header, Rejection):
        yield header
    around = header.fields if isinstance(header, Item) else {name: []}
    for count, row in enumerate(rows):
        own = replace(place, label=f"{place.label}-{count + 1}", path=f"{name}.{count}")
        made = as_item(replace(own, content=content_of(row)), row)
        yield replace(made, around=around) if isinstance(made, Item) else made


def read_item(read: Callable[[Item], _Read], item: Item) -> _Read | Problem:
    """Call a reader with an item; return the problem that it raises as a value."""
    try:
        return read(item)
    except ProblemError as error:
        return error.problem


def read_each(
    items: Iterable[Item | Rejection], read: Callable[[Item], Sequence[_Read | Problem]]
) -> tuple[tuple[_Read, ...], tuple[Rejection, ...]]:
    """Return what is read of items, and a rejection for each problem; both in their order."""
    values: list[_Read] = []
    rejections: list[Rejection] = []
    for item in items:
        if isinstance(item, Rejection):
            rejections.append(item)
            continue
        found = read_item(read, item)
        for one in [found] if isinstance(found, Problem) else found:
            if isinstance(one, Problem):
                rejections.append(item.place.reject(one))
            else:
                values.append(one)
    return tuple(values), tuple(rejections)


def read_once(
    items: Iterable[Item | Rejection],
    read: Callable[[Item], _Read | Problem],
    key_of: Callable[[_Read], Hashable],
    repeated: Callable[[_Read, int], Problem],
) -> tuple[tuple[_Read, ...], list[Rejection]]:
    """Read items whose keys differ.

    Args:
        items: What a file contains.
        key_of: What no two of them share.
        repeated: The problem with a repeated one, given the line of the first.

    Returns:
        What was read, and a rejection for what could not be read or was repeated.
    """
    values: dict[Hashable, _Read] = {}
    lines: dict[Hashable, int] = {}
    rejections: list[Rejection] = []
    for item in items:
        if isinstance(item, Rejection):
            rejections.append(item)
            continue
        value = read_item(read, item)
        if isinstance(value, Problem):
            rejections.append(item.place.reject(value))
        elif (key := key_of(value)) in values:
            rejections.append(item.place.reject(repeated(value, lines[key])))
        else:
            values[key], lines[key] = value, item.place.line
    return tuple(values.values()), rejections


def content_of(value: object) -> str:
    """Return a value as JSON, for a rejection without a line to show."""
    try:
        return shorten_text(json.dumps(value, skipkeys=True, default=str))
    except (ValueError, RecursionError):
        return "(not to be shown as JSON)"


def shorten_text(text: str) -> str:
    """Return text as a rejection shows it: shortened, without what UTF-8 cannot encode."""
    safe = text[:MAX_CONTENT].encode("utf-8", "backslashreplace").decode("utf-8")
    return safe.replace("\x00", "\\x00")[:MAX_CONTENT]

"""Read JSON objects from a file or a list, and reject unsafe or invalid objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from ragassay.formats.documents import (
    CutDocument,
    cut_array,
    cut_document,
    find_row_list,
    is_array,
    is_document,
    may_be_document,
    transpose_columns,
)
from ragassay.formats.files import RawLine, iter_lines
from ragassay.formats.problems import Problem, ProblemError, describe_value, is_list, is_object
from ragassay.formats.tables import TableRow, detect_table_kind, iter_table
from ragassay.formats.values import MAX_DEPTH, clean_row, find_bad_value, parse_json
from ragassay.records import Rejection

MAX_JUNK = 10_000
MAX_JUNK_SHARE = 0.9
"""Share of unreadable lines above which reading stops if at least `MAX_JUNK` are unreadable."""

_Read = TypeVar("_Read")
_Part = TypeVar("_Part")


@dataclass
class UnreadableLineCount:
    """Count of unreadable lines, used to stop reading a file that is mostly junk."""

    path: Path
    n_bad: int = 0
    n_lines: int = 0

    def count_line(self, line: int, is_bad: bool) -> Rejection | None:
        """Count a line, and return a rejection if reading should stop after this line."""
        self.n_lines += 1
        self.n_bad += is_bad
        if not is_bad or self.n_bad < MAX_JUNK or self.n_bad <= MAX_JUNK_SHARE * self.n_lines:
            return None
        problem = f"{self.n_bad:,} of {self.n_lines:,} lines cannot be read; "
        return Rejection(
            file=str(self.path),
            line=line + 1,
            problem=f"{problem}the rest of the file is skipped",
            expected="a file of records",
        )


def stop_at_junk(items: Iterable[_Read | Rejection], path: Path) -> Iterator[_Read | Rejection]:
    """Yield the items of a file, and stop if most of its lines are unreadable."""
    junk = UnreadableLineCount(path)
    for item in items:
        yield item
        line = item.line if isinstance(item, Rejection) else 0
        if end := junk.count_line(line, isinstance(item, Rejection)):
            yield end
            return


MAX_CONTENT = 2_000
MAX_DOCUMENT_BYTES = 1024 * 1024 * 1024

ROWS_NAME = "rows"
METADATA_FIELDS = ("metadata", "meta_data")

_LINE_BYTES = 100
"""Approximate memory overhead of a line in bytes."""


@dataclass(frozen=True)
class Place:
    """Location of an item in its file.

    Attributes:
        line: 1-based line number, or 0 if unknown.
        label: Unique label of the item within the file, such as "line-3", "item-3" or "row-3".
        content: Text of the item, cut to 2,000 characters.
        path: Path in the enclosing document, such as "results.3", or "" if there is no document.
    """

    file: str
    line: int
    label: str
    content: str
    path: str = ""

    def reject(self, problem: Problem) -> Rejection:
        """Return a rejection that reports the problem at this location."""
        return Rejection(
            file=self.file,
            line=self.line,
            field=".".join(part for part in (self.path, problem.field) if part),
            problem=problem.text,
            expected=problem.expected,
            content=self.content,
        )


_NOWHERE = Place("", 0, "", "")


@dataclass(frozen=True)
class Item:
    """A JSON object with finite numbers, valid UTF-8 text and at most 100 nested levels.

    `around` contains the other fields of the enclosing document, if there is one.
    """

    place: Place
    fields: dict[str, object]
    around: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def keys(self) -> frozenset[str]:
        """Names of the fields in the item, its enclosing document and its metadata."""
        nested = (
            f"{name}.{key}"
            for name in METADATA_FIELDS
            if is_object(part := self.fields.get(name))
            for key in part
        )
        return frozenset((*self.fields, *self.around, *nested))


def iter_items(path: Path) -> Iterator[Item | Rejection]:
    """Yield the items of a table, JSON lines, a JSON array or a JSON document with a list of rows.

    If nearly all lines are unreadable, reading stops with a final rejection that says so.
    """
    yield from stop_at_junk(_iter_all(path), path)


def _iter_all(path: Path) -> Iterator[Item | Rejection]:
    if kind := detect_table_kind(path):
        yield from _read_table_items(iter_table(path, kind), str(path))
        return
    lines = iter_lines(path)
    head = list(islice(lines, 2))
    every = chain(head, lines)
    if is_document(head):
        yield from _read_document_items(list(_bound_lines(every)), str(path))
        return
    array = is_array(head)
    for count, line in enumerate(cut_array(every) if array else every, start=1):
        label = f"item-{count}" if array else f"line-{line.number}"
        yield from _read_line_items(line, str(path), label)


def _bound_lines(lines: Iterable[RawLine]) -> Iterator[RawLine]:
    n_bytes = 0
    for line in lines:
        n_bytes += len(line.data) + _LINE_BYTES
        if n_bytes > MAX_DOCUMENT_BYTES:
            text = f"the document has more than {MAX_DOCUMENT_BYTES:,} bytes"
            yield RawLine(line.number, b"", text, "JSON lines: one record per line")
            return
        yield line


def _read_table_items(rows: Iterable[TableRow], file: str) -> Iterator[Item | Rejection]:
    for count, row in enumerate(rows, start=1):
        place = Place(file, row.line, f"row-{count}", format_content(row.cells))
        if isinstance(row.cells, Problem):
            yield place.reject(row.cells)
            continue
        value = clean_row(row.cells, MAX_DEPTH)
        # Empty columns are kept because column names identify the format.
        columns: dict[str, object] = {name: None for name in row.cells}
        item = value if isinstance(value, Problem) else as_item(place, columns | value)
        yield place.reject(item) if isinstance(item, Problem) else item


def _read_document_items(lines: list[RawLine], file: str) -> Iterator[Item | Rejection]:
    document = cut_document(lines)
    header = document and _parse_header(document, lines[0].number, file)
    if document is None or header is None:
        yield from _parse_whole_or_lines(lines, file)
    else:
        yield from _parse_rows(document, header, file, "item")


def _read_line_items(line: RawLine, file: str, label: str) -> Iterator[Item | Rejection]:
    document = cut_document([line]) if may_be_document(line) else None
    header = document and _parse_header(document, line.number, file)
    if document and header and not isinstance(parse_json(document.header), Problem):
        yield from _parse_rows(document, header, file, label)
    else:
        yield from _spread(parse_line(line, file, label))


def _spread(item: Item | Rejection) -> Iterator[Item | Rejection]:
    rows = transpose_columns(item.fields) if isinstance(item, Item) else None
    if rows is None or isinstance(item, Rejection):
        yield item
        return
    for count, row in enumerate(rows, start=1):
        place = replace(item.place, label=f"row-{count}", content=format_content(row))
        yield Item(place, row)


def _parse_header(document: CutDocument, number: int, file: str) -> Item | Rejection | None:
    header = parse_line(RawLine(number, document.header), file, "")
    return None if isinstance(header, Item) and find_row_list(header.fields) is None else header


def _parse_rows(
    document: CutDocument, header: Item | Rejection, file: str, label: str
) -> Iterator[Item | Rejection]:
    rows = (
        parse_line(line, file, f"{label}-{count + 1}", f"{document.name}.{count}")
        for count, line in enumerate(document.rows)
    )
    yield from _add_header(rows, header, document.name)


def _add_header(
    rows: Iterable[Item | Rejection], header: Item | Rejection, name: str
) -> Iterator[Item | Rejection]:
    """Yield rows with the other fields of their document, or the reason for its rejection first."""
    if isinstance(header, Rejection):
        yield header
    around = header.fields if isinstance(header, Item) else {name: []}
    for row in rows:
        yield replace(row, around=around) if isinstance(row, Item) else row


def _parse_whole_or_lines(lines: list[RawLine], file: str) -> Iterator[Item | Rejection]:
    """Yield one item if all lines form a single JSON object, or otherwise an item per line."""
    data = b"\n".join(line.data for line in lines)
    whole = parse_line(RawLine(lines[0].number, data), file, f"line-{lines[0].number}")
    if isinstance(whole, Item) and not any(line.problem for line in lines):
        yield from _spread(whole)
        return
    for line in lines:
        yield from _read_line_items(line, file, f"line-{line.number}")


def parse_line(line: RawLine, file: str, label: str, path: str = "") -> Item | Rejection:
    """Parse a line into an item."""
    text = line.data[: 4 * MAX_CONTENT].decode("utf-8", "backslashreplace")
    place = Place(file, line.number, label, shorten_text(text), path)
    value = Problem("", line.problem, line.expected) if line.problem else parse_json(line.data)
    return place.reject(value) if isinstance(value, Problem) else as_item(place, value)


def as_item(place: Place, value: object) -> Item | Rejection:
    """Return the value as an item, or a rejection if it is not an object or is unsafe."""
    if not is_object(value):
        return place.reject(Problem("", f"found {describe_value(value)}", "a JSON object: {…}"))
    problem = find_bad_value(value)
    return Item(place, value) if problem is None else place.reject(problem)


def iter_rows(rows: Iterable[Mapping[str, object]]) -> Iterator[Item | Rejection]:
    """Yield the items in a list of dicts or data frame rows, with 1-based row numbers."""
    for count, row in enumerate(rows, start=1):
        place = Place(ROWS_NAME, count, f"row-{count}", format_content(row))
        value = clean_row(row, MAX_DEPTH)
        if isinstance(value, Problem):
            yield place.reject(value)
        else:
            yield from _split_rows(place, value)


def _split_rows(place: Place, value: dict[str, object]) -> Iterator[Item | Rejection]:
    name = find_row_list(value)
    rows = value[name] if name is not None else None
    if name is None or not is_list(rows):
        yield as_item(place, value)
        return
    items = (
        as_item(
            Place(
                place.file, place.line, f"{place.label}-{n + 1}", format_content(row), f"{name}.{n}"
            ),
            row,
        )
        for n, row in enumerate(rows)
    )
    yield from _add_header(items, as_item(place, value | {name: []}), name)


def read_item(read: Callable[[_Part], _Read], item: _Part) -> _Read | Problem:
    """Read an item, or a part of one, and return the problem if `read` raises `ProblemError`."""
    try:
        return read(item)
    except ProblemError as error:
        return error.problem


def iter_read(
    items: Iterable[Item | Rejection], read: Callable[[Item], Sequence[_Read | Problem]]
) -> Iterator[_Read | Rejection]:
    """Read items one at a time, and yield values or rejections in file order."""
    for item in items:
        if isinstance(item, Rejection):
            yield item
            continue
        outcome = read_item(read, item)
        for value in [outcome] if isinstance(outcome, Problem) else outcome:
            yield item.place.reject(value) if isinstance(value, Problem) else value


def split_rejections(
    outcomes: Iterable[_Read | Rejection],
) -> tuple[tuple[_Read, ...], tuple[Rejection, ...]]:
    """Return values and rejections as separate tuples."""
    results = list(outcomes)
    values = tuple(one for one in results if not isinstance(one, Rejection))
    return values, tuple(one for one in results if isinstance(one, Rejection))


def keep_first(
    outcomes: Iterable[tuple[_Read | Problem | Rejection, Place]],
    key_of: Callable[[_Read], Hashable],
    repeated: Callable[[_Read, Place], Problem],
) -> tuple[tuple[_Read, ...], list[Rejection]]:
    """Return the first value with each key, and reject problems and values with a known key.

    `repeated` receives the value of a duplicate and the place of the first value with its key.
    """
    first: dict[Hashable, tuple[_Read, Place]] = {}
    rejections: list[Rejection] = []
    for outcome, place in outcomes:
        if not isinstance(outcome, Rejection | Problem):
            known = first.setdefault(key_of(outcome), (outcome, place))
            if known[0] is outcome:
                continue
            outcome = repeated(outcome, known[1])
        rejections.append(place.reject(outcome) if isinstance(outcome, Problem) else outcome)
    return tuple(value for value, _ in first.values()), rejections


def read_once(
    items: Iterable[Item | Rejection],
    read: Callable[[Item], _Read | Problem],
    key_of: Callable[[_Read], Hashable],
    repeated: Callable[[_Read, Place], Problem],
) -> tuple[tuple[_Read, ...], list[Rejection]]:
    """Read items, and reject unreadable items and items with the key of an earlier item."""
    outcomes = (
        (item, _NOWHERE) if isinstance(item, Rejection) else (read_item(read, item), item.place)
        for item in items
    )
    return keep_first(outcomes, key_of, repeated)


def format_content(value: object) -> str:
    """Return a value as JSON, to be shown in a rejection instead of the input line."""
    try:
        return shorten_text(json.dumps(value, skipkeys=True, default=str))
    except (ValueError, RecursionError):
        return "(cannot be shown as JSON)"


def shorten_text(text: str) -> str:
    """Shorten text for a rejection, and escape characters that UTF-8 cannot encode."""
    safe = text[:MAX_CONTENT].encode("utf-8", "backslashreplace").decode("utf-8")
    return safe.replace("\x00", "\\x00")[:MAX_CONTENT]

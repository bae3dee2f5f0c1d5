"""Items of a file or of a list: JSON objects that are safe to work with, or rejections."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from ragassay.formats.arrays import cut_array, is_array
from ragassay.formats.documents import (
    CutDocument,
    cut_document,
    is_document,
    may_be_document,
    row_list,
)
from ragassay.formats.lines import RawLine, iter_lines
from ragassay.formats.plain import plain_row
from ragassay.formats.problems import Problem, dotted, found
from ragassay.formats.shapes import is_list, is_object
from ragassay.records import Rejection

MAX_CONTENT = 2_000
MAX_DEPTH = 100
ROWS_NAME = "rows"
METADATA_FIELDS = ("metadata", "meta_data")

_MAX_BITS = 4_096


@dataclass(frozen=True)
class Place:
    """Where an item stands.

    Attributes:
        file: The file as the user named it.
        line: 1-based; 0 where the lines of the file are not known.
        label: Stable name of the place, unique within the file: "line-3", "item-3", "row-3".
        content: The item's text, cut to 2,000 characters.
        path: Where the item stands in its document: "results.3"; empty for an item of its own.
    """

    file: str
    line: int
    label: str
    content: str
    path: str = ""

    def reject(self, problem: Problem) -> Rejection:
        """Say of this item that it could not be read."""
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
        place: Where it stands.
        fields: What it holds.
        around: The fields of the document that it is a row of; empty for a line.
    """

    place: Place
    fields: dict[str, object]
    around: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def keys(self) -> frozenset[str]:
        """Names of its fields and of those around it, and of what its metadata holds."""
        nested = (
            f"{name}.{key}"
            for name in METADATA_FIELDS
            if is_object(part := self.fields.get(name))
            for key in part
        )
        return frozenset((*self.fields, *self.around, *nested))


class _Constant(float):
    """NaN or an infinity as the file writes it, so that the field that holds it can be named."""


def iter_items(path: Path) -> Iterator[Item | Rejection]:
    """Read JSON lines, a JSON array or a JSON document with a list of rows, plain or gzip.

    Raises:
        InputError: the file does not exist, is a folder or may not be opened.
    """
    lines = iter_lines(path)
    head = list(islice(lines, 2))
    every = chain(head, lines)
    if is_document(head):
        yield from _document_items(list(every), str(path))
        return
    array = is_array(head)
    for count, line in enumerate(cut_array(every) if array else every, start=1):
        label = f"item-{count}" if array else f"line-{line.number}"
        yield from _line_items(line, str(path), label)


def _document_items(lines: list[RawLine], file: str) -> Iterator[Item | Rejection]:
    found = cut_document(lines)
    header = _header(found, lines[0].number, file) if found else None
    if found is None or header is None:
        yield from _whole_or_lines(lines, file)
    else:
        yield from _document_rows(found, header, file, "item")


def _line_items(line: RawLine, file: str, label: str) -> Iterator[Item | Rejection]:
    """The item on a line, or the rows of a document that stands on it."""
    found = cut_document([line]) if may_be_document(line) else None
    header = _header(found, line.number, file) if found else None
    is_json = found is not None and not isinstance(parse_json(found.header), Problem)
    if found is None or header is None or not is_json:
        yield parse_line(line, file, label)
    else:
        yield from _document_rows(found, header, file, label)


def _header(found: CutDocument, number: int, file: str) -> Item | Rejection | None:
    """A document without its rows; None where it is a row itself."""
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
    """One row that stands on several lines, or else JSON lines with a broken one in front."""
    data = b"\n".join(line.data for line in lines)
    whole = parse_line(RawLine(lines[0].number, data), file, f"line-{lines[0].number}")
    if isinstance(whole, Item) and not any(line.problem for line in lines):
        yield whole
        return
    for line in lines:
        yield from _line_items(line, file, f"line-{line.number}")


def parse_line(line: RawLine, file: str, label: str, path: str = "") -> Item | Rejection:
    """Turn a line of bytes into an item.

    Args:
        line: The line.
        file: The file as the user named it.
        label: The place's name.
        path: Where it stands in its document.
    """
    text = line.data[: 4 * MAX_CONTENT].decode("utf-8", "backslashreplace")
    place = Place(file, line.number, label, shown(text), path)
    if line.problem:
        return place.reject(Problem("", line.problem, line.expected))
    value = parse_json(line.data)
    if isinstance(value, Problem):
        return place.reject(value)
    return as_item(place, value)


def as_item(place: Place, value: object) -> Item | Rejection:
    """Check that a value is an object with nothing in it that would do harm later."""
    if not is_object(value):
        return place.reject(Problem("", f"found {found(value)}", "a JSON object: {…}"))
    problem = find_bad_value(value)
    return Item(place, value) if problem is None else place.reject(problem)


def parse_json(data: bytes) -> object | Problem:
    """Parse JSON; a problem where it is none."""
    expected = "a JSON object in UTF-8"
    if b"\x00" in data:
        return Problem("", f"a NUL byte at byte {data.index(0) + 1}", expected)
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_Constant)
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02x}"
        return Problem("", f"not UTF-8: byte {byte} at byte {error.start + 1}", expected)
    except json.JSONDecodeError as error:
        return Problem("", f"not JSON: {error.msg} at character {error.pos + 1}", expected)
    except RecursionError:
        return Problem("", "nested too deeply", f"at most {MAX_DEPTH} levels")
    except ValueError:
        return Problem("", "a number with too many digits", "numbers of ordinary length")


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


def content_of(value: object) -> str:
    """A value as JSON, for a rejection that has no line to show."""
    try:
        return shown(json.dumps(value, skipkeys=True, default=str))
    except (ValueError, RecursionError):
        return "(not to be shown as JSON)"


def shown(text: str) -> str:
    """Text as a rejection shows it: cut, and with nothing in it that UTF-8 cannot write."""
    safe = text[:MAX_CONTENT].encode("utf-8", "backslashreplace").decode("utf-8")
    return safe.replace("\x00", "\\x00")[:MAX_CONTENT]


def find_bad_value(value: object) -> Problem | None:
    """Find what would do harm later: half characters, NUL, NaN, endless digits, deep nesting."""
    stack: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while stack:
        path, part = stack.pop()
        if len(path) > MAX_DEPTH:
            return Problem(dotted(path[:3]), "nested too deeply", f"at most {MAX_DEPTH} levels")
        if is_object(part):
            for key in part:
                problem = _bad_text(path, str(key), "a field name")
                if problem is not None:
                    return problem
            stack.extend(((*path, key), part[key]) for key in reversed(part))
        elif is_list(part):
            stack.extend(((*path, i), part[i]) for i in reversed(range(len(part))))
        else:
            problem = _bad_scalar(path, part)
            if problem is not None:
                return problem
    return None


def _bad_scalar(path: tuple[str | int, ...], part: object) -> Problem | None:
    if isinstance(part, str):
        return _bad_text(path, part, "text")
    if isinstance(part, float) and not math.isfinite(part):
        name = "NaN" if math.isnan(part) else "an infinite number"
        return Problem(dotted(path), f"found {name}", "a finite number, or null")
    if isinstance(part, int) and part.bit_length() > _MAX_BITS:
        return Problem(dotted(path), "a number with too many digits", "a number that fits")
    return None


def _bad_text(path: tuple[str | int, ...], text: str, what: str) -> Problem | None:
    if "\x00" in text:
        return Problem(dotted(path), f"{what} with a NUL character (\\u0000)", "text without it")
    if text.isascii():
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        problem = f"{what} with a lone surrogate ({half}): half of a character"
        return Problem(dotted(path), problem, "whole characters, which UTF-8 can write")
    return None

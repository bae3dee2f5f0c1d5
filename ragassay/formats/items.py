"""Items of a file or of a list: JSON objects that are safe to work with, or rejections."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from ragassay.formats.arrays import cut_array, is_array
from ragassay.formats.lines import RawLine, iter_lines
from ragassay.formats.plain import plain_row
from ragassay.formats.problems import Problem, dotted, found
from ragassay.formats.shapes import is_list, is_object
from ragassay.records import Rejection

MAX_CONTENT = 2_000
MAX_DEPTH = 100
ROWS_NAME = "rows"

_MAX_BITS = 4_096


@dataclass(frozen=True)
class Place:
    """Where an item stands.

    Attributes:
        file: The file as the user named it.
        line: 1-based; 0 where the lines of the file are not known.
        label: Stable name of the place, unique within the file: "line-3", "item-3", "row-3".
        content: The item's text, cut to 2,000 characters.
    """

    file: str
    line: int
    label: str
    content: str

    def reject(self, problem: Problem) -> Rejection:
        """Say of this item that it could not be read."""
        return Rejection(
            file=self.file,
            line=self.line,
            field=problem.field,
            problem=problem.text,
            expected=problem.expected,
            content=self.content,
        )


@dataclass(frozen=True)
class Item:
    """A JSON object: finite numbers, text that UTF-8 can write, at most 100 levels deep."""

    place: Place
    fields: dict[str, object]


class _Constant(float):
    """NaN or an infinity as the file writes it, so that the field that holds it can be named."""


def iter_items(path: Path) -> Iterator[Item | Rejection]:
    """Read JSON lines or a JSON array, plain or gzip.

    Raises:
        InputError: the file does not exist, is a folder or may not be opened.
    """
    lines = iter_lines(path)
    head = list(islice(lines, 2))
    array = is_array(head)
    every = chain(head, lines)
    for count, line in enumerate(cut_array(every) if array else every, start=1):
        label = f"item-{count}" if array else f"line-{line.number}"
        yield parse_line(line, str(path), label)


def parse_line(line: RawLine, file: str, label: str) -> Item | Rejection:
    """Turn a line of bytes into an item.

    Args:
        line: The line.
        file: The file as the user named it.
        label: The place's name.
    """
    text = line.data[: 4 * MAX_CONTENT].decode("utf-8", "backslashreplace")
    place = Place(file, line.number, label, shown(text))
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
        yield place.reject(value) if isinstance(value, Problem) else as_item(place, value)


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

"""Values that are safe to work with: of JSON, of a table's cells, of pandas and NumPy."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Annotated, Any, get_args, get_origin
from uuid import UUID

from ragassay.formats.files import encoding_note
from ragassay.formats.problems import (
    Problem,
    describe_value,
    found_text,
    is_list,
    is_mapping,
    is_object,
    is_sequence,
    join_path,
    wrong,
)

MAX_DEPTH = 100

_MAX_BITS = 4_096


class _RepeatedNameError(Exception):
    """An object with two fields of the same name, of which JSON parsers keep the last."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _RepeatedNameError(name)
            seen.add(name)
    return fields


class _Constant(float):
    """NaN or an infinity as written in the file, so that its field can be named."""


def parse_json(data: bytes) -> object | Problem:
    """Parse JSON; return a problem where it is invalid."""
    expected = "a JSON object in UTF-8"
    if b"\x00" in data:
        text = f"a NUL byte at byte {data.index(0) + 1}"
        return Problem("", f"{text}{encoding_note(data)}", expected)
    try:
        return json.loads(
            data.decode("utf-8"), parse_constant=_Constant, object_pairs_hook=_object_of
        )
    except _RepeatedNameError as error:
        text = f"the field {found_text(error.name)} occurs twice in one object"
        return Problem("", text, "each field once")
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02x}"
        text = f"not UTF-8: byte {byte} at byte {error.start + 1}"
        return Problem("", f"{text}{encoding_note(data)}", expected)
    except json.JSONDecodeError as error:
        return Problem("", f"not JSON: {error.msg} at character {error.pos + 1}", expected)
    except RecursionError:
        return Problem("", "nested too deeply", f"at most {MAX_DEPTH} levels")
    except ValueError:
        return Problem("", "a number with too many digits", "numbers of ordinary length")


def find_bad_value(value: object) -> Problem | None:
    """Find what would break later steps: lone surrogates, NUL, NaN, endless digits, deep nests."""
    stack: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while stack:
        path, part = stack.pop()
        if len(path) > MAX_DEPTH:
            return Problem(join_path(path[:3]), "nested too deeply", f"at most {MAX_DEPTH} levels")
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
        return Problem(join_path(path), f"found {name}", "a finite number, or null")
    if isinstance(part, int) and part.bit_length() > _MAX_BITS:
        return Problem(join_path(path), "a number with too many digits", "a number that fits")
    return None


def _bad_text(path: tuple[str | int, ...], text: str, what: str) -> Problem | None:
    if "\x00" in text:
        return Problem(join_path(path), f"{what} with a NUL character (\\u0000)", "text without it")
    if text.isascii():
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        problem = f"{what} with a lone surrogate ({half}): half of a character"
        return Problem(join_path(path), problem, "whole characters, which UTF-8 can write")
    return None


_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(\.0+)?")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_TRUTHS = {"true": True, "false": False}


class TableCell(str):
    """Text of a table's cell: a list or a number where a format's model wants one."""

    __slots__ = ()


def convert_cell(cell: TableCell, annotation: object, joint: str = "") -> object:
    """Return a cell as the type of its field; text where the field takes text.

    A list is written as JSON, as Python or as NumPy shows it (`['a' 'b']`, which Hugging Face's
    `to_csv` writes). A plain text in place of a list is its only entry, or several with `joint`
    between them.
    """
    kinds = set(_kinds(annotation))
    text = str(cell)
    if str in kinds or not kinds:
        return text
    if kinds & {list, dict, object}:
        value = literal(text)
        if list not in kinds or is_list(value):
            return value
        return text.split(joint) if joint else [text]
    if int in kinds and _WHOLE.fullmatch(text.strip()):
        return int(float(text))
    if float in kinds and _NUMBER.fullmatch(text.strip()):
        return float(text)
    return _TRUTHS.get(text.strip().lower(), text) if bool in kinds else text


def _kinds(annotation: Any) -> list[object]:
    """Return the types that an annotation takes, of its union's parts."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kinds(get_args(annotation)[0])
    if origin is list or origin is dict:
        return [origin]
    parts = get_args(annotation)
    return [kind for part in parts for kind in _kinds(part)] if parts else [annotation]


def literal(text: str) -> object:
    """Return the list or object that a text writes; the text itself where it writes none."""
    given = text.strip()
    if (given[:1], given[-1:]) not in {("[", "]"), ("{", "}")}:
        return text
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(_with_commas(given))
        except (ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
            return text
    problem = find_bad_value(value)
    if problem is not None:
        raise wrong(problem.text, problem.expected)
    return list(value) if isinstance(value, tuple) else value


def _with_commas(text: str) -> str:
    """Return a literal in which no two texts stand side by side, as in NumPy's lists."""
    found: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER):
            continue
        if token.type == tokenize.STRING and found and found[-1].type == tokenize.STRING:
            found.append(token._replace(type=tokenize.OP, string=","))
        found.append(token)
    return " ".join(token.string for token in found)


_Path = tuple[str | int, ...]
PASSAGE_IDS = ("id", "pmid", "doi", "source")
"""Metadata that may have a document's id, besides its own."""

_ABSENT_TYPES = frozenset({"NAType", "NaTType"})


class _UnreadableError(Exception):
    """A value that JSON cannot represent."""

    def __init__(self, path: _Path, text: str, expected: str) -> None:
        super().__init__(text)
        self.problem = Problem(join_path(path), text, expected)


def plain_row(row: object, max_depth: int) -> dict[str, object] | Problem:
    """Make a row of plain values; NaN, NA and NaT are absent."""
    if not is_mapping(row):
        return Problem("", f"found {describe_value(row)}", "a mapping from field names to values")
    try:
        return _plain_mapping(row, (), max_depth)
    except _UnreadableError as error:
        return error.problem


def _plain_mapping(row: Mapping[object, object], path: _Path, depth: int) -> dict[str, object]:
    plain: dict[str, object] = {}
    for key, value in row.items():
        name = str(key)
        cleaned = _plain(value, (*path, name), depth)
        if cleaned is not None:
            plain[name] = cleaned
    return plain


def _plain(value: object, path: _Path, depth: int) -> object:
    if depth == 0:
        raise _UnreadableError(path[:3], "nested too deeply", "fewer levels")
    if value is None or type(value).__name__ in _ABSENT_TYPES:
        return None
    if isinstance(value, float):
        return None if value != value else float(value)
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (date, time, Decimal, UUID)):
        return str(value)
    return _plain_container(value, path, depth)


def _plain_container(value: object, path: _Path, depth: int) -> object:
    if is_mapping(value):
        return _plain_mapping(value, path, depth - 1)
    if is_sequence(value):
        return [_plain(part, (*path, i), depth - 1) for i, part in enumerate(value)]
    # NumPy arrays and scalars, which frames read from Parquet contain.
    tolist: Callable[[], object] | None = getattr(value, "tolist", None)
    if callable(tolist):
        return _plain(tolist(), path, depth - 1)
    passage = passage_fields(value)
    if passage is not None:
        return _plain_mapping(passage, path, depth - 1)
    kind = type(value).__name__
    raise _UnreadableError(path, f"found a value of type {kind}", "text, numbers, lists or dicts")


def passage_fields(value: Any) -> dict[object, object] | None:
    """Return a document of LangChain or a node of LlamaIndex as a dictionary; None for others."""
    if isinstance(value, Mapping):
        return None
    node = getattr(value, "node", value)  # LlamaIndex keeps a node beside its score
    about = dict(getattr(node, "metadata", None) or {})
    if hasattr(node, "page_content"):
        return {
            "id": getattr(node, "id", None),
            "page_content": node.page_content,
            "metadata": about,
        }
    if not callable(getattr(node, "get_content", None)):
        return None
    # A node's own id is random: a name in its metadata is what an answer cites.
    is_named = any(about.get(key) for key in PASSAGE_IDS)
    name = None if is_named else getattr(node, "node_id", None)
    return {"id": name, "page_content": node.get_content(), "metadata": about}

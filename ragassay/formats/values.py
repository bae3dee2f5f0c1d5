"""Convert and check values from JSON, table cells, pandas and NumPy."""

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

from ragassay.formats.files import describe_encoding
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    build_value_error,
    describe_value,
    is_list,
    is_mapping,
    is_object,
    is_sequence,
    join_path,
    quote_text,
)

MAX_DEPTH = 100

_MAX_BITS = 4_096


def _build_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                text = f"the field {quote_text(name)} occurs twice in one object"
                raise ProblemError("", text, "one value for each field")
            seen.add(name)
    return fields


class _Constant(float):
    """NaN or an infinite number in JSON, which is parsed so that an error can name its field."""


def parse_json(data: bytes) -> object | Problem:
    """Parse JSON, or return a problem if it is invalid."""
    expected = "a JSON object in UTF-8"
    if b"\x00" in data:
        text = f"found a NUL byte at position {data.index(0) + 1}"
        return Problem("", f"{text}{describe_encoding(data)}", expected)
    try:
        return json.loads(
            data.decode("utf-8"), parse_constant=_Constant, object_pairs_hook=_build_object
        )
    except ProblemError as error:
        return error.problem
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02x}"
        text = f"not UTF-8: byte {byte} at position {error.start + 1}"
        return Problem("", f"{text}{describe_encoding(data)}", expected)
    except json.JSONDecodeError as error:
        return Problem("", f"not JSON: {error.msg} at character {error.pos + 1}", expected)
    except RecursionError:
        return Problem("", "the value is nested too deeply", f"at most {MAX_DEPTH} levels")
    except ValueError:
        return Problem("", "found a number with too many digits", "shorter numbers")


def find_bad_value(value: object) -> Problem | None:
    """Find the first value that cannot be processed, such as NaN, NUL or a lone surrogate."""
    stack: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while stack:
        path, part = stack.pop()
        if len(path) > MAX_DEPTH:
            return Problem(
                join_path(path[:3]), "the value is nested too deeply", f"at most {MAX_DEPTH} levels"
            )
        if is_object(part):
            problems = (_check_text(path, str(key), "a field name") for key in part)
            if (problem := next(filter(None, problems), None)) is not None:
                return problem
            stack.extend(((*path, key), part[key]) for key in reversed(part))
        elif is_list(part):
            stack.extend(((*path, i), part[i]) for i in reversed(range(len(part))))
        elif (problem := _check_scalar(path, part)) is not None:
            return problem
    return None


def _check_scalar(path: tuple[str | int, ...], part: object) -> Problem | None:
    if isinstance(part, str):
        return _check_text(path, part, "text")
    if isinstance(part, float) and not math.isfinite(part):
        name = "NaN" if math.isnan(part) else "an infinite number"
        return Problem(join_path(path), f"found {name}", "a finite number, or null")
    if isinstance(part, int) and part.bit_length() > _MAX_BITS:
        return Problem(join_path(path), "found a number with too many digits", "a shorter number")
    return None


def _check_text(path: tuple[str | int, ...], text: str, kind: str) -> Problem | None:
    if "\x00" in text:
        return Problem(
            join_path(path),
            f"found {kind} with a NUL character (\\u0000)",
            "text without NUL characters",
        )
    if text.isascii():
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        problem = f"found {kind} with a lone surrogate ({half}), which is half of a character"
        return Problem(join_path(path), problem, "whole characters that UTF-8 can encode")
    return None


_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(\.0+)?")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_TRUTHS = {"true": True, "false": False}


class TableCell(str):
    """Text of a table cell, which is converted if the field requires a list or a number."""

    __slots__ = ()


def convert_cell(cell: TableCell, annotation: object, joint: str = "") -> object:
    """Convert a cell to the type of its field, or return its text if the field accepts text.

    A list may be written as JSON, as a Python literal or in NumPy's form `['a' 'b']`, which Hugging
    Face's `to_csv` writes. Other text is split at `joint`, or becomes the only entry of a list if
    `joint` is empty.
    """
    kinds = set(_list_kinds(annotation))
    text = str(cell)
    if str in kinds or not kinds:
        return text
    if kinds & {list, dict, object}:
        value = parse_literal(text)
        if list not in kinds or is_list(value):
            return value
        return text.split(joint) if joint else [text]
    if int in kinds and _WHOLE.fullmatch(text.strip()):
        return int(float(text))
    if float in kinds and _NUMBER.fullmatch(text.strip()):
        return float(text)
    return _TRUTHS.get(text.strip().lower(), text) if bool in kinds else text


def _list_kinds(annotation: Any) -> list[object]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _list_kinds(get_args(annotation)[0])
    if origin is list or origin is dict:
        return [origin]
    parts = get_args(annotation)
    return [kind for part in parts for kind in _list_kinds(part)] if parts else [annotation]


def parse_literal(text: str) -> object:
    """Parse text that contains a list or an object, or return other text unchanged."""
    stripped = text.strip()
    if (stripped[:1], stripped[-1:]) not in {("[", "]"), ("{", "}")}:
        return text
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(_insert_commas(stripped))
        except (ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
            return text
    if (problem := find_bad_value(value)) is not None:
        raise build_value_error(problem.text, problem.expected)
    return list(value) if isinstance(value, tuple) else value


def parse_text(value: object) -> object:
    """Parse a list or object written as text, and return any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return parse_literal(str(value))
    except ValueError:
        return str(value)


def _insert_commas(text: str) -> str:
    """Insert commas between adjacent strings, because NumPy prints lists without commas."""
    tokens: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER):
            continue
        if token.type == tokenize.STRING and tokens and tokens[-1].type == tokenize.STRING:
            tokens.append(token._replace(type=tokenize.OP, string=","))
        tokens.append(token)
    return " ".join(token.string for token in tokens)


_Path = tuple[str | int, ...]
PASSAGE_IDS = ("id", "pmid", "doi", "source")
"""Metadata keys that may contain the id of a document."""

_ABSENT_TYPES = frozenset({"NAType", "NaTType"})


def clean_row(row: object, max_depth: int) -> dict[str, object] | Problem:
    """Convert a row to plain values, and drop fields that are NaN, NA or NaT."""
    if not is_mapping(row):
        return Problem("", f"found {describe_value(row)}", "a mapping from field names to values")
    try:
        return _clean_mapping(row, (), max_depth)
    except ProblemError as error:
        return error.problem


def _clean_mapping(row: Mapping[object, object], path: _Path, depth: int) -> dict[str, object]:
    cleaned = {
        str(key): _clean_value(value, (*path, str(key)), depth) for key, value in row.items()
    }
    return {name: value for name, value in cleaned.items() if value is not None}


def _clean_value(value: object, path: _Path, depth: int) -> object:
    if depth == 0:
        raise ProblemError(join_path(path[:3]), "the value is nested too deeply", "fewer levels")
    if value is None or type(value).__name__ in _ABSENT_TYPES:
        return None
    if isinstance(value, float):
        return None if value != value else float(value)
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (date, time, Decimal, UUID)):
        return str(value)
    return _clean_container(value, path, depth)


def _clean_container(value: object, path: _Path, depth: int) -> object:
    if is_mapping(value):
        return _clean_mapping(value, path, depth - 1)
    if is_sequence(value):
        return [_clean_value(part, (*path, i), depth - 1) for i, part in enumerate(value)]
    # NumPy arrays and scalars, as in frames read from Parquet.
    tolist: Callable[[], object] | None = getattr(value, "tolist", None)
    if callable(tolist):
        return _clean_value(tolist(), path, depth - 1)
    if (passage := convert_passage(value)) is not None:
        return _clean_mapping(passage, path, depth - 1)
    kind = type(value).__name__
    text = f"found a value of type {kind}"
    raise ProblemError(join_path(path), text, "text, numbers, lists or dicts")


def convert_passage(value: Any) -> dict[object, object] | None:
    """Return a LangChain document or a LlamaIndex node as a dict, or None for other values."""
    if isinstance(value, Mapping):
        return None
    node = getattr(value, "node", value)  # LlamaIndex wraps a retrieved node with its score.
    metadata = dict(getattr(node, "metadata", None) or {})
    if hasattr(node, "page_content"):
        return {
            "id": getattr(node, "id", None),
            "page_content": node.page_content,
            "metadata": metadata,
        }
    if not callable(getattr(node, "get_content", None)):
        return None
    # Node ids are random, so answers cite an id from the metadata if there is one.
    has_id = any(metadata.get(key) for key in PASSAGE_IDS)
    node_id = None if has_id else getattr(node, "node_id", None)
    return {"id": node_id, "page_content": node.get_content(), "metadata": metadata}

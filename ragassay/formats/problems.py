"""Describe problems in input files, and reject answers that cannot be evaluated."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import punctuation, whitespace
from typing import TypeGuard, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ragassay.errors import InputError, NoRecordError
from ragassay.records import Record, Rejection


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Return whether a parsed value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Return whether a parsed value is a JSON array."""
    return isinstance(value, list)


def is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    """Return whether a value is a mapping of any type."""
    return isinstance(value, Mapping)


def is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Return whether a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


_MAX_SHOWN = 60
_MAX_KEYS = 6
_CLOSE_CUTOFF = 0.7
_CUSTOM = "ragassay"
_BRANCH = "<"
"""First character of the tag that pydantic adds to an error's path for a member of a union."""

_EXPECTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "extra_forbidden": "no field of this name",
    "int_type": "a whole number",
    "list_type": "a list",
    "dict_type": "an object: {…}",
    "model_type": "an object: {…}",
    "model_attributes_type": "an object: {…}",
}

_ALTERNATIVES = {
    "metadata": ("meta_data",),
    "pmid": ("id", "docid"),
    "abstract": ("text", "contents"),
}
"""Further names under which a field is accepted, keyed by its main name."""

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class Problem:
    """Reason why an item or a field could not be read.

    Attributes:
        field: Dotted path of the field, with 0-based list positions, or "" for the whole item.
    """

    field: str
    text: str
    expected: str


class ProblemError(Exception):
    """Raised when an item cannot be read. The item is then rejected, and reading continues."""

    def __init__(self, field: str, text: str, expected: str) -> None:
        super().__init__(field, text, expected)
        self.problem = Problem(field, text, expected)


def join_path(path: Iterable[str | int]) -> str:
    """Join the parts of a field path with dots, and cut each part to 60 characters."""
    parts = (str(part)[:_MAX_SHOWN] for part in path)
    return ".".join(parts).encode("utf-8", "backslashreplace").decode("utf-8")


def build_value_error(text: str, expected: str) -> PydanticCustomError:
    """Return an error that a pydantic validator can raise."""
    return PydanticCustomError(_CUSTOM, "{problem}", {"problem": text, "expected": expected})


def validate(model: type[_Model], fields: Mapping[str, object]) -> _Model | Problem:
    """Validate fields with a pydantic model, and return a problem if they are invalid."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        return describe(error)


def parse(model: type[_Model], fields: Mapping[str, object], where: str = "") -> _Model:
    """Validate fields with a pydantic model, and raise a `ProblemError` if they are invalid."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        problem = describe(error)
        path = ".".join(filter(None, (where, problem.field)))
        raise ProblemError(path, problem.text, problem.expected) from error


def describe(error: ValidationError) -> Problem:
    """Describe the first validation error, and count the other errors."""
    details = error.errors(include_url=False)
    first = details[0]
    text, expected = _describe_error(first)
    if len(details) > 1:
        text = f"{text} (and {len(details) - 1} more)"
    path = (part for part in first["loc"] if not str(part).startswith(_BRANCH))
    return Problem(join_path(path), text, expected)


def _describe_error(detail: ErrorDetails) -> tuple[str, str]:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == _CUSTOM:
        return str(context["problem"]), str(context["expected"])
    if kind == "missing":
        return describe_missing(str(detail["loc"][-1]), value)
    if kind == "string_too_short":
        return "found empty text", "text that is not empty"
    if kind == "too_long":
        n_entries, limit = context.get("actual_length"), context.get("max_length")
        return f"found {n_entries} entries", f"at most {limit}"
    if kind == "literal_error":
        return f"found {describe_value(value)}", str(context.get("expected", ""))
    if kind == "greater_than_equal":
        return f"found {describe_value(value)}", f"at least {context.get('ge')}"
    return f"found {describe_value(value)}", _EXPECTED.get(kind, detail["msg"])


def describe_missing(name: str, parent: object) -> tuple[str, str]:
    """Describe a missing field, with a similar field or else all fields that were found."""
    names = " or ".join(f'"{one}"' for one in (name, *_ALTERNATIVES.get(name, ())))
    text = "the field is missing, or null"
    keys = [str(key) for key in parent] if is_mapping(parent) else []
    if (close := close_name(name, keys)) is not None:
        text = f"{text}; found '{close[:_MAX_SHOWN]}'"
    elif keys:
        text = f"{text}; found the fields {_list_keys(keys)}"
    return text, f"the field {names}"


def close_name(name: str, keys: Iterable[str]) -> str | None:
    """Return the key most similar to a name, or None if no key is similar."""
    folded = {key.lower(): key for key in keys}
    close = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=_CLOSE_CUTOFF)
    return folded[close[0]] if close else None


def describe_value(value: object) -> str:
    """Describe a value briefly: `the number 3`, `a list of 2`, `the text "abc"`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {str(value)[:_MAX_SHOWN]}"
    if isinstance(value, str):
        return "empty text" if not value else f"the text {quote_text(value)}"
    if is_sequence(value):
        return f"a list of {len(value)}" if value else "an empty list"
    if is_mapping(value):
        keys = [str(key) for key in value]
        return f"an object with the fields {_list_keys(keys)}" if keys else "an empty object"
    return f"a value of type {type(value).__name__}"


def quote_text(text: str) -> str:
    """Return text in quotes, on one line and shortened to 60 characters."""
    short = " ".join(text[: 4 * _MAX_SHOWN].split())
    if len(short) > _MAX_SHOWN or len(text) > 4 * _MAX_SHOWN:
        short = short[: _MAX_SHOWN - 1] + "…"
    safe = short.encode("utf-8", "backslashreplace").decode("utf-8")
    return f'"{safe}"'


def _list_keys(keys: Sequence[str]) -> str:
    shown = ", ".join(quote_text(key) for key in keys[:_MAX_KEYS])
    return f"{shown}, …" if len(keys) > _MAX_KEYS else shown


_SHOWN = 10
_MARKER = re.compile(r"\[[^\[\]]*\]")


def detect_empty_answer(record: Record, else_read: str = "") -> Problem | None:
    """Return a problem if an answer contains only whitespace, punctuation and citation markers."""
    answer = record.answer
    text = answer if isinstance(answer, str) else " ".join(sentence.text for sentence in answer)
    if _MARKER.sub("", text).strip(punctuation + whitespace):
        return None
    expected = f"text; {else_read}" if else_read else "text"
    return Problem("answer", "found an empty answer", expected)


def require_records(records: Sequence[Record], rejections: Sequence[Rejection], name: str) -> None:
    """If there are no records, raise an error that lists the first ten rejections."""
    if records:
        return
    lines = [format_rejection(rejection) for rejection in rejections[:_SHOWN]]
    if len(rejections) > _SHOWN:
        lines.append(f"... and {len(rejections) - _SHOWN} more rejected lines")
    raise NoRecordError("\n  ".join([f"{name}: no usable record", *lines]), tuple(rejections))


def build_empty_file_error(
    path: Path, what: str, rejections: Sequence[Rejection], expected: str = ""
) -> InputError:
    """Return the error for a file without usable content, including its first rejection."""
    first = f": {format_rejection(rejections[0])}" if rejections else ""
    return InputError(f"{path} has no {what}{first}{f'; expected {expected}' if expected else ''}")


def format_rejection(rejection: Rejection) -> str:
    """Format a rejection as one line that is safe to print to a terminal."""
    field = f" {rejection.field}:" if rejection.field else ""
    expected = f", expected {rejection.expected}" if rejection.expected else ""
    line = f"{rejection.file}:{rejection.line}:{field} {rejection.problem}{expected}"
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in line)

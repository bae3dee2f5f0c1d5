"""Describe what is wrong with a line, in words that help to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ragassay.formats.shapes import is_mapping, is_sequence

_MAX_SHOWN = 60
_MAX_KEYS = 6
_CLOSE_CUTOFF = 0.7
_CUSTOM = "ragassay"
_BRANCH = "<"
"""Tags of union branches start like this: they are not part of a field's path."""

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
"""Other names of a field, by the first of its aliases."""

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class Problem:
    """Why something could not be read.

    Attributes:
        field: Dotted path; list positions count from 0. Empty for the whole value.
        text: What was found.
        expected: What was expected.
    """

    field: str
    text: str
    expected: str


def dotted(path: Iterable[str | int]) -> str:
    """Return the path of a field as text: `sources.0.text`; each name is cut to 60 characters."""
    parts = (str(part)[:_MAX_SHOWN] for part in path)
    return ".".join(parts).encode("utf-8", "backslashreplace").decode("utf-8")


def wrong(text: str, expected: str) -> PydanticCustomError:
    """Return an error for validators to raise, in our own words."""
    return PydanticCustomError(_CUSTOM, "{problem}", {"problem": text, "expected": expected})


def validate(model: type[_Model], fields: Mapping[str, object]) -> _Model | Problem:
    """Build an edge model; return a problem where the fields do not fit it."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        return describe(error)


def describe(error: ValidationError) -> Problem:
    """Describe a validation error: the first one, and how many more there are."""
    details = error.errors(include_url=False)
    first = details[0]
    text, expected = _words(first)
    if len(details) > 1:
        text = f"{text} (and {len(details) - 1} more)"
    path = (part for part in first["loc"] if not str(part).startswith(_BRANCH))
    return Problem(dotted(path), text, expected)


def _words(detail: ErrorDetails) -> tuple[str, str]:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == _CUSTOM:
        return str(context["problem"]), str(context["expected"])
    if kind == "missing":
        return missing_words(str(detail["loc"][-1]), value)
    if kind == "string_too_short":
        return "found empty text", "text that is not empty"
    if kind == "too_long":
        longest = context.get("max_length")
        return f"found {context.get('actual_length')} entries", f"at most {longest}"
    if kind == "literal_error":
        return f"found {found(value)}", str(context.get("expected", ""))
    if kind == "greater_than_equal":
        return f"found {found(value)}", f"at least {context.get('ge')}"
    return f"found {found(value)}", _EXPECTED.get(kind, detail["msg"])


def missing_words(name: str, parent: object) -> tuple[str, str]:
    """Describe a missing field, with the name that may have been meant for it.

    Args:
        name: The field.
        parent: The object that lacks it.

    Returns:
        What was found and what was expected.
    """
    names = " or ".join(f'"{one}"' for one in (name, *_ALTERNATIVES.get(name, ())))
    text = "the field is missing, or null"
    keys = [str(key) for key in parent] if is_mapping(parent) else []
    close = close_name(name, keys)
    if close is not None:
        text = f"{text}; found '{close[:_MAX_SHOWN]}'"
    elif keys:
        text = f"{text}; found the fields {_listed(keys)}"
    return text, f"the field {names}"


def close_name(name: str, keys: Iterable[str]) -> str | None:
    """Return the key that is most likely a misspelling of a name; None where there is none."""
    folded = {key.lower(): key for key in keys}
    close = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=_CLOSE_CUTOFF)
    return folded[close[0]] if close else None


def found(value: object) -> str:
    """Describe a value briefly: `the number 3`, `a list of 2`, `the text "abc"`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {str(value)[:_MAX_SHOWN]}"
    if isinstance(value, str):
        return "empty text" if not value else f"the text {found_text(value)}"
    if is_sequence(value):
        return f"a list of {len(value)}" if value else "an empty list"
    if is_mapping(value):
        keys = [str(key) for key in value]
        return f"an object with the fields {_listed(keys)}" if keys else "an empty object"
    return f"a value of type {type(value).__name__}"


def found_text(text: str) -> str:
    """Return text in quotes, on one line and cut to 60 characters."""
    short = " ".join(text[: 4 * _MAX_SHOWN].split())
    if len(short) > _MAX_SHOWN or len(text) > 4 * _MAX_SHOWN:
        short = short[: _MAX_SHOWN - 1] + "…"
    safe = short.encode("utf-8", "backslashreplace").decode("utf-8")
    return f'"{safe}"'


def _listed(keys: Sequence[str]) -> str:
    shown = ", ".join(found_text(key) for key in keys[:_MAX_KEYS])
    return f"{shown}, …" if len(keys) > _MAX_KEYS else shown

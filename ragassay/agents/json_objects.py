"""Find JSON objects and the offsets of their values in a text, and unwrap nested objects.

The text is untrusted. Objects are parsed from their opening brace, key by key, so that text inside
another value is never parsed as a field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from ragassay.text.faults import replace_surrogates

_OPENING = re.compile(r'\{(?=\s*")')
_SPACE = re.compile(r"\s*")
_MOST_BROKEN = 200

WRAPPERS = re.compile(
    r"think|thought|draft|initial|reason|reflect|analysis|scratch|example|quot|inject|input",
    re.IGNORECASE,
)
"""Names of fields for reasoning, drafts and quotations. Verdicts in these fields are ignored."""

MOST_DEPTH = 3
"""Maximum number of objects around a verdict, as in {"answer": {"result": {...}}}."""


@dataclass(frozen=True)
class Field:
    """A value in a reply, with its start and end offsets."""

    value: Any
    start: int
    end: int


@dataclass(frozen=True)
class JsonObject:
    """An object in a reply. If `problem` is set, the object is invalid at offset `end`."""

    start: int
    end: int
    fields: Mapping[str, Field]
    problem: str = ""


def find_objects(text: str) -> list[JsonObject]:
    """Return the complete and broken objects in a text, but no object inside a complete one."""
    objects: list[JsonObject] = []
    position = n_broken = 0
    while opening := _OPENING.search(text, position):
        start = opening.start()
        try:
            fields, position = _read_object(text, opening.end())
            objects.append(JsonObject(start, position, fields))
        except RecursionError as error:
            raise ValueError("the JSON is nested too deeply") from error
        except _BrokenJsonError as broken:
            objects.append(JsonObject(start, broken.position, {}, str(broken)))
            position = opening.end()
            n_broken += 1
        if n_broken > _MOST_BROKEN:
            raise ValueError("broken JSON")
    return objects


class _BrokenJsonError(ValueError):
    """Invalid JSON at a position."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def _read_object(text: str, position: int) -> tuple[dict[str, Field], int]:
    """Parse an object after its opening brace, and return its fields and end offset."""
    fields: dict[str, Field] = {}
    while True:
        key, position = _decode(text, _expect(text, position, '"') - 1)
        start = _skip_space(text, _expect(text, position, ":"))
        value, end = _decode(text, start)
        if key in fields and fields[key].value != value:
            raise _BrokenJsonError(f"field {key!r} occurs twice", end)
        fields[key] = Field(replace_surrogates(value), start, end)
        position = _skip_space(text, end)
        if text[position : position + 1] == "}":
            return fields, position + 1
        position = _expect(text, position, ",")


def _decode(text: str, position: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise _BrokenJsonError(f"broken JSON: {error.msg}", error.pos) from error
    except ValueError as error:  # NaN, or a number with thousands of digits
        raise _BrokenJsonError(f"broken JSON: {error}", position) from error


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _expect(text: str, position: int, sign: str) -> int:
    position = _skip_space(text, position)
    if text[position : position + 1] != sign:
        raise _BrokenJsonError(f"broken JSON: no {sign} at character {position}", position)
    return position + 1


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Models write unescaped line breaks and tabs, so the decoder is not strict.
_DECODER = json.JSONDecoder(parse_constant=_reject_constant, strict=False)


def unwrap_fields(
    text: str,
    fields: Mapping[str, Field],
    names: Sequence[str],
    wanted: Sequence[str],
    depth: int = 0,
) -> dict[str, Field]:
    """Return fields by name. Unwrap the only nested object while a `wanted` field is missing.

    An object with a name such as "revised" replaces the fields around it, but "revised_answer" does
    not, because its rating may be about another answer.
    """
    matching = match_fields(fields, names)
    if depth == MOST_DEPTH:
        return matching
    nested = {
        key: inner
        for key, field in fields.items()
        if not WRAPPERS.search(key) and (inner := _read_nested(text, key, field)) is not None
    }
    revised = [
        inner
        for key, inner in nested.items()
        if _REVISED.search(normalize_name(key))
        and not key.casefold().endswith(("answer", "response"))
    ]
    for inner in revised:
        within = unwrap_fields(text, inner, names, wanted, depth + 1)
        if any(name in within for name in wanted):
            return within if len(revised) == 1 else {}
    if all(name in matching for name in wanted) or len(nested) != 1:
        return matching
    return unwrap_fields(text, next(iter(nested.values())), names, wanted, depth + 1)


def _read_nested(text: str, key: str, field: Field) -> dict[str, Field] | None:
    value = field.value
    if key == "arguments" and isinstance(value, str) and value.startswith("{"):
        inner = _read_nested(value, "", Field({}, 0, len(value))) or {}
        return {name: replace(one, start=field.start, end=field.end) for name, one in inner.items()}
    is_list_of_one = isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)
    if not (isinstance(value, dict) or is_list_of_one):
        return None
    opening = text.index("{", field.start)
    try:
        return _read_object(text, opening + 1)[0]
    except _BrokenJsonError:
        return None


def match_fields(fields: Mapping[str, Field], names: Sequence[str]) -> dict[str, Field]:
    """Return fields by name, except fields with two values, as in "rating" and "final_rating"."""
    by_plain_name: dict[str, list[Field]] = {}
    for key, field in fields.items():
        if key not in names:
            plain_name = normalize_name(key)
            plain_name = _REVISED.sub("", plain_name) or plain_name
            by_plain_name.setdefault(plain_name, []).append(field)
    matching: dict[str, Field] = {}
    for name in names:
        exact = [fields[name]] if name in fields else []
        same = exact + by_plain_name.get(normalize_name(name), [])
        if same and all(field.value == same[0].value for field in same):
            matching[name] = same[0]
    return matching


_REVISED = re.compile(
    r"^(?:final|overall|new|revis(?:ed|ion)|correct(?:ed|ion)|updated|adjusted)|(?:final|revised)$"
)


def normalize_name(name: str) -> str:
    """Return a field name in lowercase without spaces and punctuation."""
    return re.sub(r"[\W_]", "", name).casefold()

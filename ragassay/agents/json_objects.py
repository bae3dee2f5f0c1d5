"""Find the JSON objects of a text, with the place of each value, and unwrap the one that is meant.

A text is untrusted: an object is read from its opening brace, key by key, and nothing inside
another value is ever read as a field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ragassay.text.faults import with_whole_characters

_OPENING = re.compile(r'\{(?=\s*")')
_SPACE = re.compile(r"\s*")
_MOST_BROKEN = 200

WRAPPERS = re.compile(r"think|thought|draft|reason|reflect|analysis|scratch|example", re.IGNORECASE)
"""Names of fields that wrap no verdict, but what the model considered."""

MOST_DEPTH = 3
"""Objects around a verdict, such as {"answer": {"result": {...}}}."""


@dataclass(frozen=True)
class Field:
    """A value of a reply.

    Attributes:
        start: Offset of its first character in the reply.
        end: One past its last character.
    """

    value: Any
    start: int
    end: int


@dataclass(frozen=True)
class JsonObject:
    """An object in a reply; `problem` says why it is none, and `end` then where that shows."""

    start: int
    end: int
    fields: Mapping[str, Field]
    problem: str = ""


def find_objects(text: str) -> list[JsonObject]:
    """Return the objects in a text, complete or broken, none inside another complete one."""
    objects: list[JsonObject] = []
    position = n_broken = 0
    while opening := _OPENING.search(text, position):
        start = opening.start()
        try:
            fields, position = _read_object(text, opening.end())
            objects.append(JsonObject(start, position, fields))
        except RecursionError as error:
            raise ValueError("JSON too deep") from error
        except _Broken as broken:
            objects.append(JsonObject(start, broken.position, {}, str(broken)))
            position = opening.end()
            n_broken += 1
        if n_broken > _MOST_BROKEN:
            raise ValueError("broken JSON")
    return objects


class _Broken(ValueError):
    """JSON that cannot be read on from a position."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def _read_object(text: str, position: int) -> tuple[dict[str, Field], int]:
    """Read an object from after its brace; return its fields and the offset after its end."""
    fields: dict[str, Field] = {}
    while True:
        key, position = _decode(text, _past(text, position, '"') - 1)
        start = _skip(text, _past(text, position, ":"))
        value, end = _decode(text, start)
        if key in fields:
            raise _Broken(f"field {key!r} twice", end)
        fields[key] = Field(with_whole_characters(value), start, end)
        position = _skip(text, end)
        if text[position : position + 1] == "}":
            return fields, position + 1
        position = _past(text, position, ",")


def _decode(text: str, position: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise _Broken(f"broken JSON: {error.msg}", error.pos) from error
    except ValueError as error:  # NaN, or a number of thousands of digits
        raise _Broken(f"broken JSON: {error}", position) from error


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _past(text: str, position: int, sign: str) -> int:
    position = _skip(text, position)
    if text[position : position + 1] != sign:
        raise _Broken(f"broken JSON: no {sign} at character {position}", position)
    return position + 1


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Not strict: models write line breaks and tabs into strings as they are.
_DECODER = json.JSONDecoder(parse_constant=_refuse, strict=False)


def unwrap_fields(
    text: str,
    fields: Mapping[str, Field],
    names: Sequence[str],
    wanted: Sequence[str],
    depth: int = 0,
) -> dict[str, Field]:
    """Return the named fields of an object, or of the only object in it that has what is wanted."""
    own = _fields_by_name(fields, names)
    if all(name in own for name in wanted) or depth == MOST_DEPTH:
        return own
    inside = [
        inner
        for key, field in fields.items()
        if not WRAPPERS.search(key) and (inner := _inner(text, field)) is not None
    ]
    if len(inside) != 1:
        return own
    return unwrap_fields(text, inside[0], names, wanted, depth + 1)


def _inner(text: str, field: Field) -> dict[str, Field] | None:
    """Return the fields of a value that is an object, or a list of one."""
    value = field.value
    is_one = isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)
    if not (isinstance(value, dict) or is_one):
        return None
    opening = text.index("{", field.start)
    try:
        return _read_object(text, opening + 1)[0]
    except _Broken:
        return None


def _fields_by_name(fields: Mapping[str, Field], names: Sequence[str]) -> dict[str, Field]:
    """Return fields under the names that are asked for, however a reply spells them."""
    exact = {name: fields[name] for name in names if name in fields}
    spelled: dict[str, list[Field]] = {}
    for key, field in fields.items():
        spelled.setdefault(plain_name(key), []).append(field)
    for name in names:
        others = spelled.get(plain_name(name), [])
        if name not in exact and len(others) == 1:
            exact[name] = others[0]
    return exact


def plain_name(name: str) -> str:
    """Return a field's name without case, spaces and punctuation."""
    return re.sub(r"[\W_]", "", name).casefold()

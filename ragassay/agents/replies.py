"""Read the JSON object of a reply, with the position of each value in the text.

A reply is untrusted: it quotes judged text. So the object is read from its opening brace, key by
key, and nothing inside another value is ever read as a field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ragassay.text.characters import with_whole_characters

_OPENING = re.compile(r'\{(?=\s*")')
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True)
class Field:
    """A value of a reply.

    Attributes:
        value: The parsed value.
        start: Offset of its first character in the reply.
        end: One past its last character.
    """

    value: Any
    start: int
    end: int


def read_reply(text: str, names: Sequence[str]) -> dict[str, Field]:
    """Return the fields of a text's first JSON object that has all requested ones.

    Args:
        text: Any text may surround the object.
        names: The fields that it must have; it may have others.

    Raises:
        ValueError: There is no such object, it follows broken JSON, or it has a field twice.
    """
    position, problem = 0, "no JSON object"
    while opening := _OPENING.search(text, position):
        try:
            fields, position = _read_object(text, opening.end())
        except RecursionError as error:
            raise ValueError("JSON too deep") from error
        missing = [name for name in names if name not in fields]
        if not missing:
            return fields
        problem = f"no field {missing[0]!r}"
    raise ValueError(problem)


def _read_object(text: str, position: int) -> tuple[dict[str, Field], int]:
    """Read an object from after its brace; return its fields and the offset after its end."""
    fields: dict[str, Field] = {}
    while True:
        key, position = _DECODER.raw_decode(text, _past(text, position, '"') - 1)
        start = _skip(text, _past(text, position, ":"))
        value, end = _DECODER.raw_decode(text, start)
        if key in fields:
            raise ValueError(f"field {key!r} twice")
        fields[key] = Field(with_whole_characters(value), start, end)
        position = _skip(text, end)
        if text[position : position + 1] == "}":
            return fields, position + 1
        position = _past(text, position, ",")


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _past(text: str, position: int, sign: str) -> int:
    position = _skip(text, position)
    if text[position : position + 1] != sign:
        raise ValueError(f"broken JSON: no {sign} at character {position}")
    return position + 1


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)

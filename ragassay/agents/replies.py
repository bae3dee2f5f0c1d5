"""Find the verdict in a judge's reply: its last complete JSON object, or one that can be repaired.

A reply is untrusted: it quotes judged text. So nothing before the end of the model's reasoning
counts, nothing inside another value is read as a field, and what could be read in two ways is read
in none: the question is then asked again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import json_repair

from ragassay.text.characters import with_whole_characters
from ragassay.text.reasoning import find_reasoning

_QUOTES = "\"'`\u201c\u201d\u2018\u2019"
_OPENING = re.compile(r'\{(?=\s*")')
_LOOSE_OPENING = re.compile(
    r"\{(?=\s{0,99}(?:(?://|#)[^\n]{0,200}\s{1,99}|/\*[^*]{0,200}\*/\s{0,99})?"
    rf"[{_QUOTES}]?[^\W\d]\w{{0,40}}[{_QUOTES}]?\s{{0,9}}:)"
)
"""Begins an object as models write it by hand: other quotation marks, none, a comment before."""

_SPACE = re.compile(r"\s*")
_BARE_FIELD = re.compile(rf"\s{{0,99}}[{_QUOTES}]\w{{1,40}}[{_QUOTES}]\s{{0,9}}:")

WRAPPERS = re.compile(r"think|thought|draft|reason|reflect|analysis|scratch|example", re.IGNORECASE)
"""Names of fields that wrap no verdict, but what the model considered."""

_REFUSAL = re.compile(
    r"\W{0,9}(?:i['\u2019]?m sorry|i am sorry|sorry|i apologi[sz]e|as an ai\b"
    r"|i (?:cannot|can['\u2019]t|could not|won['\u2019]t|will not|am (?:unable|not able)"
    r"|must decline))",
    re.IGNORECASE,
)
MOST_REPAIRED_CHARS = 50_000
_MOST_BROKEN = 200
_MOST_DEPTH = 3
"""Objects around a verdict, such as {"answer": {"result": {...}}}."""


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


@dataclass(frozen=True)
class _Object:
    """An object in a reply; `problem` says why it is none, and `end` then where that shows."""

    start: int
    end: int
    fields: Mapping[str, Field]
    problem: str = ""


def read_reply(
    text: str, names: Sequence[str], required: Iterable[str] | None = None
) -> dict[str, Field]:
    """Return the fields of the last object after the model's reasoning that has what is required.

    Args:
        text: Any text may surround the object. Names are compared without case.
        names: The fields to return; others are dropped.
        required: Those that it must have; by default all.

    Raises:
        ValueError: There is no such object, or it can be read in two ways.

    Example:
        >>> read_reply('{"rating": 1}? No.</think> {"Rating": 4,}', ["rating"])["rating"].value
        4
    """
    wanted = tuple(names if required is None else required)
    objects = _objects_of(text)
    outside = "".join(_blanked(text, (o for o in objects if not o.problem)))
    reasoning = find_reasoning(outside)
    begin = max((end for _, end in reasoning), default=0)
    if begin and not outside[begin:].strip() and not any(o.start >= begin for o in objects):
        raise ValueError("reasoning without a verdict")
    said = [one for one in objects if one.start >= begin]
    found: dict[str, Field] = {}
    problem, last = "no JSON object", begin
    for one in said:
        if one.problem:
            continue
        fields = _unwrapped(text, one.fields, names, wanted)
        if not (missing := [name for name in wanted if name not in fields]):
            found, last = fields, one.end
        elif not found:
            problem = f"no field {missing[0]!r}"
    broken = [one for one in said if one.problem]
    after = next((o for o in broken if o.start >= last and _names_any(text, o, wanted)), None)
    if after is None and found:
        _refuse_quoted(text, broken, last)
        return found
    start = after.start if after else _loose_start(outside, last)
    if start is None:
        raise ValueError(after.problem if after else problem)
    return _repaired(text, start, names, wanted)


def is_refusal(text: str) -> bool:
    """Return whether a text without an object is a model's refusal, behind its reasoning.

    Example:
        >>> is_refusal("I'm sorry, but I can't assist with that.")
        True
    """
    begin = max((end for _, end in find_reasoning(text)), default=0)
    return "{" not in text[begin:] and _REFUSAL.match(text, begin) is not None


def _objects_of(text: str) -> list[_Object]:
    """Return the objects in a text, complete or broken, none inside another complete one."""
    objects: list[_Object] = []
    position = n_broken = 0
    while opening := _OPENING.search(text, position):
        start = opening.start()
        try:
            fields, position = _read_object(text, opening.end())
            objects.append(_Object(start, position, fields))
        except RecursionError as error:
            raise ValueError("JSON too deep") from error
        except _Broken as broken:
            objects.append(_Object(start, broken.position, {}, str(broken)))
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


def _blanked(text: str, objects: Iterable[_Object]) -> Iterable[str]:
    """Return a text with spaces for its objects: a tag inside a value is no tag."""
    position = 0
    for one in objects:
        yield text[position : one.start]
        yield " " * (one.end - one.start)
        position = one.end
    yield text[position:]


def _unwrapped(
    text: str,
    fields: Mapping[str, Field],
    names: Sequence[str],
    wanted: Sequence[str],
    depth: int = 0,
) -> dict[str, Field]:
    """Return the named fields of an object, or of the only object in it that has what is wanted."""
    own = _named(fields, names)
    if all(name in own for name in wanted) or depth == _MOST_DEPTH:
        return own
    inside = [
        inner
        for key, field in fields.items()
        if not WRAPPERS.search(key) and (inner := _inner(text, field)) is not None
    ]
    if len(inside) != 1:
        return own
    return _unwrapped(text, inside[0], names, wanted, depth + 1)


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


def _named(fields: Mapping[str, Field], names: Sequence[str]) -> dict[str, Field]:
    """Return fields under the names that are asked for, however a reply spells them."""
    exact = {name: fields[name] for name in names if name in fields}
    spelled: dict[str, list[Field]] = {}
    for key, field in fields.items():
        spelled.setdefault(_plain(key), []).append(field)
    for name in names:
        others = spelled.get(_plain(name), [])
        if name not in exact and len(others) == 1:
            exact[name] = others[0]
    return exact


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _names_any(text: str, one: _Object, wanted: Sequence[str]) -> bool:
    return any(_fields_named(text, one.start, name) for name in wanted)


def _refuse_quoted(text: str, broken: Sequence[_Object], end: int) -> None:
    """Refuse an object that may stand inside a broken one, as a quotation that was not escaped.

    Raises:
        ValueError: An object before it broke off behind a text, or something is closed after it.
    """
    for one in broken:
        if one.start >= end:
            return
        broke_behind_text = text[: one.end].rstrip()[-1:] in ('"', "{")
        if broke_behind_text or re.search(r"[}\]]", text[end:]):
            raise ValueError(one.problem)


def _loose_start(text: str, begin: int) -> int | None:
    """Return where an object begins that no JSON reader would see; None without one."""
    opening = _LOOSE_OPENING.search(text, begin)
    if opening:
        return opening.start()
    # Where a request began the reply with "{", some servers return what follows it.
    bare = _BARE_FIELD.match(text, begin)
    return bare.start() if bare else None


def _repaired(
    text: str, start: int, names: Sequence[str], wanted: Sequence[str]
) -> dict[str, Field]:
    """Return the fields of the broken object that begins at an offset.

    Raises:
        ValueError: It cannot be repaired, or in more than one way.
    """
    rest = text[start:].rstrip().rstrip("`~").rstrip()  # a fence may close it
    if len(rest) > MOST_REPAIRED_CHARS:
        raise ValueError(f"broken JSON of {len(rest)} characters")
    places = {name: _fields_named(text, start, name) for name in names}
    for name in wanted:
        if not places[name]:
            raise ValueError(f"broken JSON: no field {name!r}")
    for name, found in places.items():
        if len(found) > 1:
            raise ValueError(f"broken JSON: field {name!r} twice")
    is_open = rest.rstrip()[-1:] not in ("}", "]")
    optional = [found[0] for name, found in places.items() if name not in wanted and found]
    if is_open and any(places[name][0] > min(optional, default=len(text)) for name in wanted):
        raise ValueError("broken JSON: the reply breaks off")
    bare = "" if rest.lstrip().startswith("{") else "{"
    try:
        made = json_repair.loads(bare + rest, skip_json_loads=True)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"broken JSON: {error}") from error
    fields = _fields_of(made, names, wanted)
    if is_open and any(isinstance(fields.get(name), list) for name in names):
        raise ValueError("broken JSON: the reply breaks off in a list")
    return {
        name: Field(
            with_whole_characters(value), places[name][0], _value_end(text, places[name][0])
        )
        for name, value in fields.items()
        if places[name]
    }


def _fields_of(made: Any, names: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
    """Return the named values of what was repaired.

    Raises:
        ValueError: One that is wanted is missing.
    """
    options = made if isinstance(made, list) else [made]
    for option in options:
        for _ in range(_MOST_DEPTH):
            if not isinstance(option, dict):
                break
            spelled = {_plain(str(key)): value for key, value in option.items()}
            found = {name: spelled[_plain(name)] for name in names if _plain(name) in spelled}
            if all(name in found for name in wanted):
                return found
            inner = [value for value in option.values() if isinstance(value, dict)]
            option = inner[0] if len(inner) == 1 else None
    raise ValueError(f"broken JSON: no field {wanted[0]!r}" if wanted else "broken JSON")


def _fields_named(text: str, start: int, name: str) -> list[int]:
    """Return the offsets at which values of a field may begin."""
    spelled = r"[\s_-]?".join(re.escape(part) for part in name.split("_"))
    key = rf"(?:[{{,\n]|\A)\s{{0,99}}[{_QUOTES}]?{spelled}[{_QUOTES}]?\s{{0,9}}:\s{{0,9}}"
    # A comment may stand before the name, and its line break is then what begins it.
    return [found.end() for found in re.compile(key, re.IGNORECASE).finditer(text, start)]


def _value_end(text: str, start: int) -> int:
    """Return about where a number or a label ends."""
    found = re.compile(rf"[{_QUOTES}]?[^,}}\n{_QUOTES}]{{0,99}}").match(text, start)
    return found.end() if found else start

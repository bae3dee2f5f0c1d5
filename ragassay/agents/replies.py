"""Find the verdict in a judge's reply: its last complete JSON object, or one that can be repaired.

A reply is untrusted: it quotes judged text. So nothing before the end of the model's reasoning
counts, nothing inside another value is read as a field, and what could be read in two ways is read
in none: the question is then asked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import json_repair

from ragassay.agents.json_objects import (
    MOST_DEPTH,
    WRAPPERS,
    Field,
    JsonObject,
    find_objects,
    plain_name,
    unwrap_fields,
)
from ragassay.text.characters import with_whole_characters
from ragassay.text.reasoning import find_reasoning

_QUOTES = "\"'`\u201c\u201d\u2018\u2019"
_LOOSE_OPENING = re.compile(
    r"\{(?=\s{0,99}(?:(?://|#)[^\n]{0,200}\s{1,99}|/\*[^*]{0,200}\*/\s{0,99})?"
    rf"[{_QUOTES}]?[^\W\d]\w{{0,40}}[{_QUOTES}]?\s{{0,9}}:)"
)
"""Begins an object as models write it by hand: other quotation marks, none, a comment before."""

_BARE_FIELD = re.compile(rf"\s{{0,99}}[{_QUOTES}]\w{{1,40}}[{_QUOTES}]\s{{0,9}}:")

_REFUSAL = re.compile(
    r"\W{0,9}(?:i['\u2019]?m sorry|i am sorry|sorry|i apologi[sz]e|as an ai\b"
    r"|i (?:cannot|can['\u2019]t|could not|won['\u2019]t|will not|am (?:unable|not able)"
    r"|must decline))",
    re.IGNORECASE,
)
MOST_REPAIRED_CHARS = 50_000


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
    objects = find_objects(text)
    outside = "".join(_blank_objects(text, (o for o in objects if not o.problem)))
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
        fields = unwrap_fields(text, one.fields, names, wanted)
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
    return _repair(text, start, names, wanted)


def is_refusal(text: str) -> bool:
    """Return whether a text without an object is a model's refusal, behind its reasoning.

    Example:
        >>> is_refusal("I'm sorry, but I can't assist with that.")
        True
    """
    begin = max((end for _, end in find_reasoning(text)), default=0)
    return "{" not in text[begin:] and _REFUSAL.match(text, begin) is not None


def _blank_objects(text: str, objects: Iterable[JsonObject]) -> Iterable[str]:
    """Return a text with spaces for its objects: a tag inside a value is no tag."""
    position = 0
    for one in objects:
        yield text[position : one.start]
        yield " " * (one.end - one.start)
        position = one.end
    yield text[position:]


def _names_any(text: str, one: JsonObject, wanted: Sequence[str]) -> bool:
    return any(_fields_fields_by_name(text, one.start, name) for name in wanted)


def _refuse_quoted(text: str, broken: Sequence[JsonObject], end: int) -> None:
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


def _repair(text: str, start: int, names: Sequence[str], wanted: Sequence[str]) -> dict[str, Field]:
    """Return the fields of the broken object that begins at an offset.

    Raises:
        ValueError: It cannot be repaired, or in more than one way.
    """
    rest = text[start:].rstrip().rstrip("`~").rstrip()  # a fence may close it
    if len(rest) > MOST_REPAIRED_CHARS:
        raise ValueError(f"broken JSON of {len(rest)} characters")
    places = {name: _fields_fields_by_name(text, start, name) for name in names}
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
            with_whole_characters(_unquote(value, text[at : at + 1])), at, _value_end(text, at)
        )
        for name, value in fields.items()
        for at in places[name]
    }


def _unquote(value: Any, first: str) -> Any:
    """Return a text without the curly quotation marks that a model took for JSON's."""
    is_curly = isinstance(value, str) and first in ("\u2018", "\u201c")
    return value.strip("\u2018\u2019\u201c\u201d") if is_curly else value


def _fields_of(made: Any, names: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
    """Return the named values of what was repaired.

    Raises:
        ValueError: One that is wanted is missing.
    """
    options = made if isinstance(made, list) else [made]
    for option in options:
        for _ in range(MOST_DEPTH):
            if not isinstance(option, dict):
                break
            spelled = {plain_name(str(key)): value for key, value in option.items()}
            found = {
                name: spelled[plain_name(name)] for name in names if plain_name(name) in spelled
            }
            if all(name in found for name in wanted):
                return found
            inner = [
                value
                for key, value in option.items()
                if isinstance(value, dict) and not WRAPPERS.search(str(key))
            ]
            option = inner[0] if len(inner) == 1 else None
    raise ValueError(f"broken JSON: no field {wanted[0]!r}" if wanted else "broken JSON")


def _fields_fields_by_name(text: str, start: int, name: str) -> list[int]:
    """Return the offsets at which values of a field may begin."""
    spelled = r"[\s_-]?".join(re.escape(part) for part in name.split("_"))
    key = rf"(?:[{{,\n]|\A)\s{{0,99}}[{_QUOTES}]?{spelled}[{_QUOTES}]?\s{{0,9}}:\s{{0,9}}"
    # A comment may stand before the name, and its line break is then what begins it.
    return [found.end() for found in re.compile(key, re.IGNORECASE).finditer(text, start)]


def _value_end(text: str, start: int) -> int:
    """Return about where a number or a label ends."""
    found = re.compile(rf"[{_QUOTES}]?[^,}}\n{_QUOTES}]{{0,99}}").match(text, start)
    return found.end() if found else start

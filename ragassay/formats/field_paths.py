"""Follow a path to a value in a record: `inputs.question`, `messages.-1.content`, `hits.*.text`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from ragassay.formats.cells import literal
from ragassay.formats.shapes import is_list, is_object

MAX_PARTS = 20
"""Names and numbers of a path that are followed."""

_MOST_VALUES = 1_000
_INDEX = re.compile(r"-?\d{1,9}")
_BRACKETS = re.compile(r"\[(?P<index>-?\d{1,9}|\*?)\]")


def path_parts(path: str) -> list[str]:
    """Return the names and numbers of a path; brackets are read as dots.

    Example:
        >>> path_parts("messages[-1].content"), path_parts("hits[].text")
        (['messages', '-1', 'content'], ['hits', '*', 'text'])
    """
    dotted = _BRACKETS.sub(lambda match: f".{match['index'] or '*'}", path)
    return [part for part in dotted.removeprefix("$").split(".") if part][:MAX_PARTS]


def value_at(fields: Mapping[str, object], path: str) -> object:
    """Return the value that a path leads to; None where it leads nowhere.

    A field whose own name is the path comes first, and so do names with dots in them on the way. A
    number counts the entries of a list from 0, -1 is the last one, and `*` stands for all. JSON
    text is read on the way.

    Example:
        >>> value_at({"messages": [{"content": "Hi"}]}, "messages.-1.content")
        'Hi'
    """
    if path in fields:
        return fields[path]
    return _follow(dict(fields), path_parts(path))


def _follow(value: object, parts: Sequence[str]) -> object:
    if not parts:
        return value
    if isinstance(value, str):
        value = _parsed(value)
    if is_list(value):
        return _in_list(value, parts)
    if not is_object(value):
        return None
    for n in range(len(parts), 0, -1):
        name = ".".join(parts[:n])
        if name in value:
            found = _follow(value[name], parts[n:])
            if found is not None:
                return found
    return None


def _in_list(value: list[object], parts: Sequence[str]) -> object:
    if parts[0] == "*":
        found = (_follow(one, parts[1:]) for one in islice(value, _MOST_VALUES))
        kept = [one for one in found if one is not None]
        return kept or None
    if not _INDEX.fullmatch(parts[0]):
        return None
    index = int(parts[0])
    return _follow(value[index], parts[1:]) if -len(value) <= index < len(value) else None


def _parsed(text: str) -> object:
    try:
        return literal(str(text))
    except ValueError:
        return None


def nested_fields(fields: Mapping[str, object], roots: Sequence[str]) -> dict[str, object]:
    """Return fields with dotted names under some roots put into objects.

    Example:
        >>> nested_fields({"inputs.question": "Q", "id": "1"}, ["inputs"])
        {'id': '1', 'inputs': {'question': 'Q'}}
    """
    if not any("." in key for key in fields):
        return dict(fields)
    nested = {key: value for key, value in fields.items() if not _is_under(key, roots)}
    for key, value in fields.items():
        if _is_under(key, roots) and value is not None:
            _put(nested, path_parts(key), value)
    return nested


def _is_under(key: str, roots: Sequence[str]) -> bool:
    root, dot, _ = key.partition(".")
    return bool(dot) and root in roots


def _put(target: dict[str, object], parts: Sequence[str], value: object) -> None:
    """Put a value where a path leads, with the objects on the way; one that is there stays."""
    for part in parts[:-1]:
        inner = target.get(part)
        if not is_object(inner):
            inner = {} if inner is None else {"": inner}
        target[part] = dict(inner)
        target = target[part]  # type: ignore[assignment]
    if parts:
        target.setdefault(parts[-1], value)

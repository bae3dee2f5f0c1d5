"""Read a provider's objects as dictionaries and lists, and the fields of those."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ragassay.formats.shapes import is_list, is_mapping

MAX_DEPTH = 60
_DUMPS = ("model_dump", "to_dict", "dict")
"""Methods that turn an object into a dictionary: pydantic's, then other libraries'."""

_HUMP = re.compile(r"_([a-z])")

TEXT_NAMES = ("text", "content", "snippet", "page_content", "chunk", "body", "abstract", "summary")
"""Fields of a source that hold its text, the best first."""

NAME_NAMES = ("id", "doc_id", "document_id", "url", "uri", "source", "filepath", "file_id")
TITLE_NAMES = ("title", "name", "filename")

Fields = Mapping[str, Any]


def as_plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return an object of a library as dictionaries, lists and plain values."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if depth == 0 or isinstance(value, type | bytes):
        return None
    if is_mapping(value):
        return {str(key): as_plain(part, depth - 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(part, depth - 1) for part in value]
    dump = next((m for name in _DUMPS if callable(m := getattr(value, name, None))), None)
    if dump is not None:
        dumped = dump()
        return as_plain(dumped, depth - 1) if is_mapping(dumped) else None
    fields = getattr(value, "__dict__", None)
    if not isinstance(fields, dict):
        return None
    return {
        name: as_plain(part, depth - 1)
        for name, part in fields.items()
        if not name.startswith("_") and not callable(part)
    }


def get(fields: Any, *names: str) -> Any:
    """Return the first field that is there, in snake or camel case; None where none is."""
    if not is_mapping(fields):
        return None
    for name in names:
        for spelling in (name, _HUMP.sub(lambda match: match[1].upper(), name)):
            if fields.get(spelling) is not None:
                return fields[spelling]
    return None


def get_fields(fields: Any, *names: str) -> dict[str, Any]:
    """Return a field that is an object; an empty one where it is not."""
    value = get(fields, *names)
    return {str(key): part for key, part in value.items()} if is_mapping(value) else {}


def get_list(fields: Any, *names: str) -> list[Any]:
    """Return a field that is a list; an empty one where it is not."""
    value = get(fields, *names)
    return value if is_list(value) else []


def get_text(fields: Any, *names: str) -> str:
    """Return the first field that is a text, or a whole number; an empty text where none is."""
    for name in names:
        value = get(fields, name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def get_number(fields: Any, *names: str) -> int | None:
    """Return a field that is a whole number, or one as text; None where it is neither."""
    value = get(fields, *names)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12:
        return int(value)  # 64-bit numbers of Google's interfaces
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def each_object(values: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list."""
    for value in values if is_list(values) else ():
        if is_mapping(value):
            yield {str(key): part for key, part in value.items()}


def source_text(fields: Any) -> str:
    """Return the text of a source; empty where it has none."""
    return get_text(fields, *TEXT_NAMES)


def free_text(fields: Any) -> str:
    """Return the text of a source whose fields are the user's own: all of them, one a line."""
    if not is_mapping(fields) or source_text(fields):
        return source_text(fields)
    others = {*NAME_NAMES, *TITLE_NAMES, "type"}
    left = (part for name, part in fields.items() if name not in others)
    return "\n".join(part for part in left if isinstance(part, str) and part.strip())

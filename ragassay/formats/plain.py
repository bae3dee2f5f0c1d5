"""Turn values of pandas and NumPy into plain JSON values, without importing either."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from ragassay.formats.problems import Problem, dotted, found
from ragassay.formats.shapes import is_mapping, is_sequence

_Path = tuple[str | int, ...]
PASSAGE_IDS = ("id", "pmid", "doi", "source")
"""Metadata that may have a document's id, besides its own."""

_ABSENT_TYPES = frozenset({"NAType", "NaTType"})


class _UnreadableError(Exception):
    """A value that JSON cannot represent."""

    def __init__(self, path: _Path, text: str, expected: str) -> None:
        super().__init__(text)
        self.problem = Problem(dotted(path), text, expected)


def plain_row(row: object, max_depth: int) -> dict[str, object] | Problem:
    """Make a row of plain values; NaN, NA and NaT are absent.

    Args:
        row: A mapping, e.g. from `DataFrame.to_dict("records")`.
        max_depth: How many levels are converted.
    """
    if not is_mapping(row):
        return Problem("", f"found {found(row)}", "a mapping from field names to values")
    try:
        return _plain_mapping(row, (), max_depth)
    except _UnreadableError as error:
        return error.problem


def _plain_mapping(row: Mapping[object, object], path: _Path, depth: int) -> dict[str, object]:
    plain: dict[str, object] = {}
    for key, value in row.items():
        name = str(key)
        cleaned = _plain(value, (*path, name), depth)
        if cleaned is not None:
            plain[name] = cleaned
    return plain


def _plain(value: object, path: _Path, depth: int) -> object:
    if depth == 0:
        raise _UnreadableError(path[:3], "nested too deeply", "fewer levels")
    if value is None or type(value).__name__ in _ABSENT_TYPES:
        return None
    if isinstance(value, float):
        return None if value != value else float(value)
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (date, time, Decimal, UUID)):
        return str(value)
    return _plain_container(value, path, depth)


def _plain_container(value: object, path: _Path, depth: int) -> object:
    if is_mapping(value):
        return _plain_mapping(value, path, depth - 1)
    if is_sequence(value):
        return [_plain(part, (*path, i), depth - 1) for i, part in enumerate(value)]
    # NumPy arrays and scalars, which frames read from Parquet contain.
    tolist: Callable[[], object] | None = getattr(value, "tolist", None)
    if callable(tolist):
        return _plain(tolist(), path, depth - 1)
    passage = passage_fields(value)
    if passage is not None:
        return _plain_mapping(passage, path, depth - 1)
    kind = type(value).__name__
    raise _UnreadableError(path, f"found a value of type {kind}", "text, numbers, lists or dicts")


def passage_fields(value: Any) -> dict[object, object] | None:
    """Return a document of LangChain or a node of LlamaIndex as a dictionary; None for others."""
    if isinstance(value, Mapping):
        return None
    node = getattr(value, "node", value)  # LlamaIndex keeps a node beside its score
    about = dict(getattr(node, "metadata", None) or {})
    if hasattr(node, "page_content"):
        return {
            "id": getattr(node, "id", None),
            "page_content": node.page_content,
            "metadata": about,
        }
    if not callable(getattr(node, "get_content", None)):
        return None
    # A node's own id is random: a name in its metadata is what an answer cites.
    is_named = any(about.get(key) for key in PASSAGE_IDS)
    name = None if is_named else getattr(node, "node_id", None)
    return {"id": name, "page_content": node.get_content(), "metadata": about}

"""Check the shapes of values in a way that type checkers understand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Return whether a parsed value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Return whether a parsed value is a JSON array."""
    return isinstance(value, list)


def is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    """Return whether a value of any origin is a mapping."""
    return isinstance(value, Mapping)


def is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Return whether a value of any origin is a list or a tuple."""
    return isinstance(value, (list, tuple))

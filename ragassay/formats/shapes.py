"""Shapes of values, told in a way that type checkers follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a parsed value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether a parsed value is a JSON array."""
    return isinstance(value, list)


def is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    """Whether a value of any origin is a mapping."""
    return isinstance(value, Mapping)


def is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Whether a value of any origin is a list or a tuple."""
    return isinstance(value, (list, tuple))

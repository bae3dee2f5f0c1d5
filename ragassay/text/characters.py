"""Mend halves of characters, which no file and no terminal can hold."""

from __future__ import annotations

import re
from typing import TypeVar

T = TypeVar("T")

_HALF = re.compile("[\ud800-\udfff]")


def with_whole_characters(value: T) -> T:
    r"""Return text, or a value of JSON, with each lone surrogate replaced by U+FFFD.

    Args:
        value: Text, or lists and objects of it; anything else is returned as it is.

    Example:
        >>> with_whole_characters({"reason": "\ud83d, it seems"})
        {'reason': '�, it seems'}
    """
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)  # type: ignore[return-value]
    if isinstance(value, list):
        return [with_whole_characters(item) for item in value]  # type: ignore[return-value]
    if isinstance(value, dict):
        return {  # type: ignore[return-value]
            with_whole_characters(key): with_whole_characters(item) for key, item in value.items()
        }
    return value

"""The longest line that a file may have, wherever files are read."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The default: a longer line is refused while it is read, and never held whole."""

_limit: ContextVar[Callable[[], int]] = ContextVar("_limit", default=lambda: MAX_LINE_BYTES)


@contextmanager
def line_limit(limit: int | Callable[[], int]) -> Generator[None]:
    """Set the most bytes of a line of the files that are read here.

    Args:
        limit: In bytes; or a function that returns it, called when a file is read.
    """
    token = _limit.set(limit if callable(limit) else lambda: limit)
    try:
        yield
    finally:
        _limit.reset(token)


def max_line_bytes() -> int:
    """Return the most bytes of a line."""
    return _limit.get()()

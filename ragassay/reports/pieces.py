"""Reports in pieces: one of many answers is too large to be a single text without need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ParamSpec

P = ParamSpec("P")


def joined(pieces: Callable[P, Iterable[str]]) -> Callable[P, str]:
    """Return the function that gives a report as one text, from the one that gives its pieces."""

    def render(*args: P.args, **kwargs: P.kwargs) -> str:
        return "".join(pieces(*args, **kwargs))

    return render

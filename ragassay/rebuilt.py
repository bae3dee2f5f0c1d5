"""Objects that travel to another process as what they were made from."""

from __future__ import annotations

import functools
from typing import Any, Self


class Rebuilt:
    """Is pickled as the arguments that it was made with.

    Open files, connections and loaded weights stay where they are: the other process opens and
    loads its own.
    """

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Remember the arguments."""
        made = super().__new__(cls)
        made.__dict__["_made_with"] = (arguments, options)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it again."""
        arguments, options = self.__dict__["_made_with"]
        return functools.partial(type(self), **options), arguments

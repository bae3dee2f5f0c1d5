"""Lazy imports of libraries that take seconds to import."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Module that is imported on first attribute access, not at test collection.

    Private names do not import it, because pytest asks every object of a test file for some. A test
    that patches the library must import it directly.
    """

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise TypeError(f"import {self._name} itself to set its {attribute}")

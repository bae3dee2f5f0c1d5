"""Lazy imports of libraries that take seconds to import."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Module that is imported on first attribute access, not at test collection.

    A test that patches the library must import it directly.
    """

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise TypeError(f"import {self._name} itself to set its {attribute}")

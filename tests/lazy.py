"""Lazy imports of libraries that take seconds to import."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Module that is imported on first access to a public attribute, not at test collection.

    Collection reads private attributes of all names in a test module. A test that patches the
    library must import it directly.
    """

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise TypeError(f"import {self._name} itself to set its {attribute}")

"""Libraries that take seconds to import, imported by the tests that need them."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """A module that is imported when something of it is asked for, and not to collect tests.

    It can be patched as the module itself.
    """

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)

    def __setattr__(self, attribute: str, value: object) -> None:
        setattr(importlib.import_module(self._name), attribute, value)

    def __delattr__(self, attribute: str) -> None:
        delattr(importlib.import_module(self._name), attribute)

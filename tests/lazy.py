"""Libraries that take seconds to import, imported by the tests that need them."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """A module that is imported when something of it is asked for, and not to collect tests.

    A test that patches the library imports it itself: what is set here would not be set there.
    """

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise TypeError(f"import {self._name} itself to set its {attribute}")

"""Finds users' evaluators by "package.module:name", or by the name of an entry point."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
from collections.abc import Sequence
from typing import Any

from ragassay.errors import SettingsError
from ragassay.evaluators.base import Evaluator
from ragassay.evaluators.own import OwnEvaluator
from ragassay.evaluators.registry import OURS

GROUP = "ragassay.evaluators"
"""Entry points of this group are found by their names."""


def find_evaluator(name: str) -> OwnEvaluator:
    """Return a user's evaluator.

    Args:
        name: "package.module:name", importable from here or from the working folder; or the name
            of an entry point.

    Raises:
        SettingsError: There is none, or it is no evaluator.
    """
    found = _imported(name) if ":" in name else _entry_point(name)
    if not isinstance(found, OwnEvaluator):
        raise SettingsError(
            f"{name} is no evaluator: decorate the function with @ragassay.evaluator"
        )
    return found


def _imported(name: str) -> object:
    module, _, attribute = name.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, ValueError) as error:
        raise SettingsError(f"evaluator {name}: {module!r} cannot be imported: {error}") from error
    except AttributeError as error:
        raise SettingsError(f"evaluator {name}: {module} has no {attribute!r}") from error


def _entry_point(name: str) -> object:
    points = importlib.metadata.entry_points(group=GROUP)
    if name not in points.names:
        known = ", ".join(sorted(points.names)) or "none is installed"
        raise SettingsError(
            f"evaluator {name}: write package.module:name, or the name of an entry point of "
            f"{GROUP} ({known})"
        )
    return points[name].load()


def registered(own: Sequence[OwnEvaluator]) -> tuple[Evaluator[Any], ...]:
    """Return ours and a user's.

    Raises:
        SettingsError: Two have one name, or a user's has that of a part of ours.
    """
    taken = {word for one in OURS for word in (one.name, one.part, one.words.group)}
    for one in own:
        if one.name in taken:
            raise SettingsError(f"evaluator {one.name}: the name is taken; choose another")
        taken.add(one.name)
    return (*OURS, *own)

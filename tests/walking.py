"""Run the walk-throughs in `examples` as a user would."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from ragassay.cli import app

GROUPS = ("testbank", "grades", "qa")


def walk_of(example: str) -> ModuleType:
    path = Path(__file__).parents[1] / "examples" / example / "walk.py"
    spec = importlib.util.spec_from_file_location(f"{example}_walk", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(commands: Sequence[Sequence[str]], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Run commands, and return their output by their first words."""
    monkeypatch.setenv("COLUMNS", "120")
    found: dict[str, str] = {}
    for command in commands:
        result = CliRunner().invoke(app, list(command))
        assert result.exit_code == 0, (command, result.output)
        found[" ".join(command[: 2 if command[0] in GROUPS else 1])] = result.output
    return found

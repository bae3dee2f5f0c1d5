"""Optional dependencies are not in the base installation, and errors mention the right extra."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from bare import ABSENT, BROUGHT, run_without
from conftest import ROOT

from ragassay.cli import app
from ragassay.errors import ExtraError
from ragassay.extras import EXTRAS, need

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {
    "grpcio": "grpc",
    "opentelemetry_exporter_otlp_proto_http": "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry_sdk": "opentelemetry.sdk",
    "pot": "ot",
}


def modules_of(requirements: list[str]) -> set[str]:
    """Return the modules of an extra's distributions, without those of other extras."""
    names = {one.partition(">")[0].replace("-", "_") for one in requirements}
    return {MODULES.get(name, name) for name in names if not name.startswith("ragassay")}


def test_extras_are_those_of_the_distribution():
    declared = PROJECT["optional-dependencies"]
    own = {name: set(modules) for name, modules in EXTRAS.items()}
    assert {name: modules_of(declared[name]) for name in declared if name in own} == own
    assert declared.keys() - own.keys() == {"all", "dev", "docs", "studio"}
    assert declared["all"] == [f"ragassay[{','.join(sorted(own))}]"]
    assert not modules_of(PROJECT["dependencies"]) & ABSENT


def test_what_is_there_is_not_asked_for(monkeypatch: pytest.MonkeyPatch):
    need("nltk")
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(
        ExtraError, match=r'^this feature requires nltk: pip install "ragassay\[similarity\]"$'
    ):
        need("nltk")
    assert issubclass(ExtraError, ImportError)


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield all commands and groups of the command line."""
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


def test_help_needs_no_extra(tmp_path: Path):
    every = [shlex.join((*path, "--help")) for path in commands(typer.main.get_command(app))]
    found = run_without(ABSENT | BROUGHT | {"torch", "litellm", "dspy"}, *every, cwd=tmp_path)
    assert len(every) > 50
    assert {code for code, *_ in found["said"]} == {0}

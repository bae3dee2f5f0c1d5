"""What ragassay brings is listed with its licence, and one that it may not build on is refused."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from case_tables import each_case
from conftest import ROOT
from handbook import module_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LISTED = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_all_that_is_installed_by_name_is_listed():
    extras = PROJECT["optional-dependencies"]
    asked = [
        one for extra in extras if extra not in ("dev", "docs", "studio") for one in extras[extra]
    ]
    names = {plain(re.split(r"[\[<>=!~ ;]", one)[0]) for one in [*PROJECT["dependencies"], *asked]}
    cells = [row.split("|")[2] for row in LISTED.splitlines() if row.startswith("| ")]
    listed = {plain(name.strip()) for cell in cells for name in cell.split(",")}
    assert names - listed - {"ragassay"} == set()


@each_case(
    ("licence", "refused"),
    [
        ("MIT", False),
        ("MIT License\n\nCopyright ...", False),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("MPL-2.0 AND MIT", False),
        ("GPL-3.0-or-later", True),
        ("AGPL-3.0", True),
        ("GNU General Public License v2 (GPLv2)", True),
        ("GNU Affero General Public License v3", True),
        ("UNKNOWN", True),
    ],
)
def test_a_licence_that_binds_what_imports_it_is_refused(
    licence: str,
    refused: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    told = json.dumps([{"Name": "one", "License": licence}, {"Name": "ragassay", "License": "?"}])
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=told))
    script = module_of(ROOT / "docs" / "licences.py")
    monkeypatch.setattr(script, "PAGE", tmp_path / "licences.md")
    assert script.main("python") == int(refused)
    first = licence.splitlines()[0]
    assert capsys.readouterr().err == (f"error: one under {first}\n" if refused else "")
    names = {"MIT License": "MIT"}
    assert script.PAGE.read_text("utf-8").endswith(f"| {names.get(first, first)} | one |\n")

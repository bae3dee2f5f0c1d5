"""What is installed: the files of a wheel, and the sample evaluated from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from conftest import ROOT
from pages import unfolded

DATA = {".yaml", ".j2", ".json", ".jsonl", ".safetensors", ".md", ".typed"}
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "ragassay", "examples/sample")

RUN = """
import socket, sys

def refuse(*args, **kwargs):
    raise OSError("no network here")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
import ragassay
from ragassay.cli import app

assert ragassay.__file__.startswith(sys.argv.pop(1)), ragassay.__file__
app()
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sources alone in a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(exist_ok=True)
        if source.is_dir():
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target, symlinks=True, ignore=skipped)
        else:
            shutil.copy(source, target)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", folder]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((folder / "dist").glob("ragassay-*.tar.gz"))) == 1
    (found,) = (folder / "dist").glob("ragassay-*.whl")
    return found


def test_a_wheel_has_every_file_of_the_package_and_nothing_else(wheel: Path):
    names = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    paths = [*(ROOT / "ragassay").rglob("*"), *(ROOT / "examples" / "sample").iterdir()]
    wanted = {
        str(path.relative_to(ROOT)).replace("examples/sample", "ragassay/sample")
        for path in paths
        if path.is_file() and path.suffix in DATA | {".py"}
    }
    assert names == wanted
    assert {Path(name).suffix for name in names} == DATA | {".py"}


@pytest.mark.integration
def test_the_demo_runs_from_a_wheel_in_an_empty_folder_without_network(wheel: Path, tmp_path: Path):
    site, here = tmp_path / "site", tmp_path / "empty"
    here.mkdir()
    ZipFile(wheel).extractall(site)
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAGASSAY_")}
    done = subprocess.run(
        [sys.executable, "-c", RUN, site, "demo", "--limit", "2"],
        cwd=here,
        env=own | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    page = (here / "ragassay-demo" / "report.html").read_text(encoding="utf-8")
    assert "Brelozant" in unfolded(page)
    assert [path.name for path in here.iterdir()] == ["ragassay-demo"]
    shown, _, following = done.stdout.rpartition("Next:")
    assert "ragassay-demo/report.html" in shown
    for word in ("answers.jsonl", "--model openai/", "docs/"):
        assert word in following

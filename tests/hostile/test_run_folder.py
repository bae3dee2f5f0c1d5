"""Files of a run folder that were cut, emptied, exchanged, or could not be written any more."""

from __future__ import annotations

import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import ROOT
from typer.testing import CliRunner, Result

from ragassay.cli import app
from ragassay.testing import ScriptedModel

GARBAGE = bytes(range(128, 256)) * 3
HARM: dict[str, Callable[[Path], object]] = {
    "cut": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "emptied": lambda file: file.write_bytes(b""),
    "garbage": lambda file: file.write_bytes(GARBAGE),
    "gone": lambda file: file.unlink(),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}
FILES = (
    *("run.json", "evaluations.jsonl", "state.sqlite", "verdicts.sqlite", "summary.json"),
    *("report.html", ".lock"),
)
ASIDE = "is damaged.*set aside as {}.damaged: the same command goes on without it"
SAID = {
    ("run.json", "cut"): "run.json is damaged",
    ("run.json", "emptied"): "run.json is damaged",
    ("run.json", "garbage"): "run.json is damaged",
    ("evaluations.jsonl", "garbage"): "is damaged.*move it away, and the same command makes it",
    ("state.sqlite", "cut"): ASIDE.format("state.sqlite"),
    ("state.sqlite", "garbage"): ASIDE.format("state.sqlite"),
    ("verdicts.sqlite", "cut"): ASIDE.format("verdicts.sqlite"),
    ("verdicts.sqlite", "garbage"): ASIDE.format("verdicts.sqlite"),
}
"""What is said where the run cannot simply go on; a folder is named wherever it stands."""


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


@pytest.fixture(scope="module")
def finished(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    assert evaluate(model, folder).exit_code == 0
    return folder


def arguments(model: ScriptedModel, folder: Path) -> list[str]:
    asked = ["evaluate", str(ROOT / "examples" / "sample" / "answers.jsonl"), "--limit", "2"]
    where = ["--model", model.model_name, "--api-base", model.base_url]
    return [*asked, *where, "--only", "rubrics", "--quiet", "--out", str(folder)]


def evaluate(model: ScriptedModel, folder: Path) -> Result:
    return CliRunner().invoke(app, arguments(model, folder))


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_harmed_is_made_again_or_named(
    name: str, harm: str, finished: Path, model: ScriptedModel, tmp_path: Path
):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    HARM[harm](folder / name)
    n_before = model.n_requests
    done = evaluate(model, folder)
    pattern = f"{name}.*is a folder" if harm == "a folder" else SAID.get((name, harm))
    if pattern is None:
        assert done.exit_code == 0
        assert_whole(folder, finished)
    else:
        assert done.exit_code == 1
        (line,) = done.stderr.splitlines()
        assert re.search(pattern, line), line
    if pattern is not None and "set aside" in pattern:
        assert evaluate(model, folder).exit_code == 0
        assert_whole(folder, finished)
    assert model.n_requests == n_before  # the evaluations are there: nothing is paid again


def assert_whole(folder: Path, finished: Path) -> None:
    for name in ("evaluations.jsonl", "summary.json"):
        assert (folder / name).read_bytes() == (finished / name).read_bytes()
    assert "<html" in (folder / "report.html").read_text("utf-8")


def test_evaluations_are_made_again_from_the_verdicts_that_are_kept(
    finished: Path, model: ScriptedModel, tmp_path: Path
):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / "evaluations.jsonl").write_bytes(GARBAGE)
    assert evaluate(model, folder).exit_code == 1
    (folder / "evaluations.jsonl").unlink()
    n_before = model.n_requests
    assert evaluate(model, folder).exit_code == 0
    assert model.n_requests == n_before
    assert judged(folder) == judged(finished)


def test_a_disk_that_fills_is_said_and_the_run_goes_on_when_there_is_room(
    finished: Path, tmp_path: Path
):
    folder = tmp_path / "run"
    with ScriptedModel() as model:
        command = [sys.executable, "-m", "ragassay", *arguments(model, folder)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000)),
        )
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert "sqlite: " in line and "the same command goes on from there" in line
        assert not (folder / "failures.jsonl").exists()
        n_stored = len(list(stored(folder)))
        n_before = model.n_requests
        assert evaluate(model, folder).exit_code == 0
        assert 0 < n_stored and model.n_requests - n_before <= n_before - n_stored
    assert judged(folder) == judged(finished)


def judged(folder: Path) -> list[str]:
    return sorted((folder / "evaluations.jsonl").read_text("utf-8").splitlines())


def stored(folder: Path) -> Iterator[tuple[str]]:
    with closing(sqlite3.connect(folder / "verdicts.sqlite")) as file:
        yield from file.execute("SELECT key FROM cache")

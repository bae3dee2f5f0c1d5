"""Files of a run folder that were cut, emptied, exchanged, or could not be written any more."""

from __future__ import annotations

import importlib
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from calls import call
from conftest import ROOT

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
    *("run.json", "evaluations.jsonl", "verdicts.sqlite", "summary.json"),
    *("report.html", ".lock"),
)
ASIDE = "is damaged.*set aside as {}.damaged; run the same command again to continue"
SAID = {
    ("run.json", "cut"): "run.json is damaged",
    ("run.json", "emptied"): "run.json is damaged",
    ("run.json", "garbage"): "run.json is damaged",
    ("evaluations.jsonl", "garbage"): "is damaged.*move the file away and run the same command",
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
    assert evaluate(model, folder)[0] == 0
    return folder


def evaluate(model: ScriptedModel, folder: Path) -> tuple[int, str]:
    """Return the exit code and stderr."""
    answers = ROOT / "examples" / "sample" / "answers.jsonl"
    where = ("--model", model.model_name, "--api-base", model.base_url, "--out", folder)
    code, _, err = call("evaluate", answers, "--limit", 2, "--only", "rubrics", "--quiet", *where)
    return code, err


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_harmed_is_made_again_or_named(name, harm, finished, model, folder):
    HARM[harm](folder / name)
    n_before = model.n_requests
    code, errors = evaluate(model, folder)
    pattern = f"{name}.*is a folder" if harm == "a folder" else SAID.get((name, harm))
    if pattern is not None:
        assert code == 1
        (line,) = errors.splitlines()
        assert re.search(pattern, line), line
        code = evaluate(model, folder)[0] if "set aside" in pattern else None
    if code is not None:
        assert code == 0
        assert_whole(folder, finished)
    assert model.n_requests == n_before  # the evaluations are there: nothing is paid again


def assert_whole(folder: Path, finished: Path) -> None:
    for name in ("evaluations.jsonl", "summary.json"):
        assert (folder / name).read_bytes() == (finished / name).read_bytes()
    assert "<html" in (folder / "report.html").read_text("utf-8")


def test_evaluations_are_made_again_from_the_verdicts_that_are_kept(finished, model, folder):
    (folder / "evaluations.jsonl").write_bytes(GARBAGE)
    assert evaluate(model, folder)[0] == 1
    (folder / "evaluations.jsonl").unlink()
    n_before = model.n_requests
    assert evaluate(model, folder)[0] == 0
    assert model.n_requests == n_before
    assert judged(folder) == judged(finished)


BRIEF = ("corpus-build",)
LONG = ("evaluate", "optimize", "audit", "grade", "synthesize", "corpus-embed")


@pytest.mark.parametrize(
    "command", [*BRIEF, *(pytest.param(name, marks=pytest.mark.long) for name in LONG)]
)
def test_a_disk_that_fills_is_said_and_the_command_goes_on_when_there_is_room(
    command, kill_resume, tmp_path
):
    n = 1 if command in BRIEF else 4
    done = stopped(kill_resume, command, tmp_path, n, n_kills=0, is_full=True)
    assert done["said in one line"] is True


@pytest.mark.long
@pytest.mark.parametrize("command", [*BRIEF, *LONG])
def test_a_command_that_is_killed_ends_as_if_it_had_not_been(command, kill_resume, tmp_path):
    assert stopped(kill_resume, command, tmp_path, 4, n_kills=3)["kills"]


@pytest.fixture
def kill_resume(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("kill_resume")


def stopped(
    kill_resume: Any, command: str, folder: Path, n_answers: int, **how: Any
) -> dict[str, object]:
    """Stop a command and give it again; the result must not change."""
    job = kill_resume.COMMANDS[command](folder, n_answers, ())
    found = kill_resume.measure(job, folder, latency_s=0.05, seed=7, **how)
    assert found["equal"] and not found["finished_and_asked_again"]
    return found


def judged(folder: Path) -> list[str]:
    return sorted((folder / "evaluations.jsonl").read_text("utf-8").splitlines())

"""Workflows, hooks and the Makefile call existing commands."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from conftest import ROOT

from ragassay.cli import app

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = dict(re.findall(r"^([\w-]+):[^\n]*\n((?:\t.*\n?)*)", MAKEFILE, re.MULTILINE))
SHELL = {
    *("cd", "cp", "cyclonedx-py", "docker", "gh", "make", "mkdir", "pip", "pip-audit", "python"),
    *("ragassay", "test"),
}


def steps(path: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def calls(path: Path) -> list[list[str]]:
    """Yield the commands of a workflow as word lists."""
    lines = "\n".join(step.get("run", "") for step in steps(path)).splitlines()
    return [shlex.split(part) for line in lines for part in line.split(" && ") if part.strip()]


def by_name(path: Path) -> str:
    return path.stem


def test_there_are_workflows_for_tests_docs_supply_and_a_release():
    assert [path.stem for path in WORKFLOWS] == ["docs", "release", "supply", "tests"]
    phony = MAKEFILE.partition(".PHONY:")[2].partition("\n")[0]
    assert set(re.findall(r"[\w-]+", phony)) == set(TARGETS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=by_name)
def test_the_commands_of_a_workflow_exist(path: Path):
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for words in calls(path):
        name = words[0].rpartition("/")[2]
        assert name in SHELL, words
        if name == "make":
            assert set(words[1:]) <= TARGETS.keys()
        if name == "ragassay":
            assert words[1] in commands
        for extras in re.findall(r"\[([\w,]+)\]", " ".join(words)):
            assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()


@pytest.mark.parametrize("path", WORKFLOWS, ids=by_name)
def test_a_workflow_may_read_only_and_pins_what_it_uses(path: Path):
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used and all(re.search(r"@(v\d+|release/v\d+)$", one) for one in used)
    assert "secrets." not in text


def test_the_tests_are_run_on_every_python_that_is_supported():
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))["jobs"]
    versions = ["3.11", "3.12", "3.13"]
    for job in ("tests", "base"):
        assert jobs[job]["strategy"]["matrix"]["python"] == versions
    assert PROJECT["requires-python"] == ">=3.11,<3.14"
    named = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if ":: Python :: 3." in one}
    assert sorted(named) == versions


def test_the_tests_workflow_installs_and_runs_what_the_readme_does():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.findall(r"<!-- tests -->\n```sh\n(.+)\n```", readme)[0].replace(".venv/bin/", "")
    wanted = [
        [word for word in shlex.split(part) if word not in ("--quiet", "--no-compile")]
        for part in command.split(" && ")
    ]
    found = calls(ROOT / ".github" / "workflows" / "tests.yml")
    assert all(words in found for words in wanted[1:])


def test_pre_commit_runs_what_make_lint_runs():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    hooks = [hook["entry"].replace(" --force-exclude", "") for hook in local["hooks"]]
    linted = [line.strip().removesuffix(" .") for line in TARGETS["lint"].splitlines()]
    assert hooks == linted

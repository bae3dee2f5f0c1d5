"""The workflow in examples/ci: its commands exist, its steps fit together."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer
import yaml
from conftest import ROOT

from ragassay.cli import app

WORKFLOW = ROOT / "examples" / "ci" / "ragassay.yml"

COMING = {"compare": {"--fail-if", "--html"}}
"""Options that are known here where the command line has them."""


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    # YAML reads the word `on` as true.
    return {str(key): v for key, v in yaml.safe_load(WORKFLOW.read_text(encoding="utf-8")).items()}


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def calls(workflow: dict[str, Any]) -> list[list[str]]:
    lines = [line for step in steps(workflow) for line in step.get("run", "").splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("ragassay ")]


def test_each_command_and_its_options_exist(workflow):
    group: Any = typer.main.get_command(app)
    found = calls(workflow)
    assert [words[0] for words in found] == ["evaluate", "compare"]
    for name, *words in found:
        known = {flag for p in group.commands[name].params for flag in (*p.opts, *p.secondary_opts)}
        given = {word for word in words if word.startswith("--")}
        assert given - known <= COMING.get(name, set()), name


def test_it_runs_for_pull_requests_and_gates_them(workflow):
    assert workflow["True"].keys() == {"pull_request", "push"}
    assert workflow["permissions"] == {"contents": "read"}
    (compare,) = (words for words in calls(workflow) if words[0] == "compare")
    assert compare[1:5] == ["runs/main", "runs/new", "--fail-if", "worse"]
    (gate,) = (step for step in steps(workflow) if "ragassay compare" in step.get("run", ""))
    assert "pull_request" in gate["if"], "the first push has nothing to compare with"


def test_what_is_kept_and_uploaded_is_what_is_written(workflow):
    text = WORKFLOW.read_text(encoding="utf-8")
    written = {"runs/new", "runs/main", "runs/compare.html", "runs/new/report.html"}
    assert set(re.findall(r"\bruns/[\w./]+", text)) - {"runs/main/run.json"} == written
    kept = [step["with"] for step in steps(workflow) if "cache/" in step.get("uses", "")]
    assert {one["path"] for one in kept} == {"runs/new", "runs/main"}
    (upload,) = (step for step in steps(workflow) if "upload-artifact" in step.get("uses", ""))
    assert upload["if"] == "always()", "a report of a run that failed the gate is wanted most"
    keys = [one["key"] for one in kept if one["path"] == "runs/new"]
    assert len(set(keys)) == 1 and "answers.jsonl" in keys[0] and "RAGASSAY_JUDGE__MODEL" in keys[0]

"""`ragassay nuggets`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import calls
import pytest
from fakes import WordEmbedder

from ragassay.errors import InputError
from ragassay.formats import read_assignments
from ragassay.reports.text import count_text
from ragassay.testing import Fault, ScriptedModel
from ragassay.workbench.commands.testbank import edit_in_editor

run = partial(calls.run, "nuggets")

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = WordEmbedder()
    monkeypatch.setattr("ragassay.models.embeddings.Embedder", lambda name: embedder)
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: embedder)


def options(model: ScriptedModel, n: int) -> tuple[object, ...]:
    named = ("--model", model.model_name, "--api-base", model.base_url)
    return *named, "--quiet", "--limit", n


def test_create_accept_all_then_evaluate_reads_it(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "nuggets.jsonl"
    with ScriptedModel() as model:
        given = (sample / "answers.jsonl", "--out", out, "--accept-all", *options(model, 2))
        shown, _ = run("create", *given)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert lines and all(set(line) == {"query", "qid", "nuggets"} for line in lines)
    assert all(line["nuggets"] for line in lines)
    assert f"{lines[0]['qid']}: {count_text(len(lines[0]['nuggets']), 'nugget')}, vital " in shown


def test_assign_writes_assignments_and_scores(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "assigned.jsonl"
    with ScriptedModel(lambda messages, schema: {"assignment": "partial_support"}) as model:
        run("assign", sample / "answers.jsonl", "--out", out, *options(model, 3))
        (first, *_), rejections = read_assignments(out)
        assert model.n_requests == sum(len(a.nuggets) for a in read_assignments(out)[0])
    assert not rejections
    assert {n.assignment for n in first.nuggets} == {"partial_support"}
    every = json.loads((tmp_path / "assigned.jsonl.metrics.jsonl").read_text().splitlines()[-1])
    assert every == {"qid": "all", "strict_all_score": 0.0, "all_score": 0.5} | every


def test_assignment_that_fails_is_unscored_and_shows_in_the_exit_code(sample, tmp_path) -> None:
    out = tmp_path / "assigned.jsonl"
    with ScriptedModel(faults=[Fault("refusal")]) as model:
        run("assign", sample / "answers.jsonl", "--out", out, *options(model, 1), code=3)
    (answer,), _ = read_assignments(out)
    assert {n.assignment for n in answer.nuggets} == {None}
    _, every = (tmp_path / "assigned.jsonl.metrics.jsonl").read_text().splitlines()
    assert json.loads(every) == {"qid": "all"}


def test_without_a_terminal_the_way_out_is_named(sample: Path, tmp_path: Path) -> None:
    given = (sample / "answers.jsonl", "--out", tmp_path / "nuggets.jsonl", "--quiet")
    _, err = run("create", *given, code=1)
    assert "--accept-all" in err and len(err.splitlines()) == 1


def test_fit_says_what_it_found(tmp_path: Path) -> None:
    pairs, out = tmp_path / "pairs.jsonl", tmp_path / "matcher.json"
    drugs = ["brelozant", "ontavir", "meroxil", "tessaglu", "quiltin", "parvomab"]
    rows = [
        {
            "gold": [f"{drug} lowered pain in adults", f"{drug} causes nausea often"],
            "nuggets": [f"{drug} lowered pain in many adults", f"{drug} is costly to make"],
            "matches": [[0, 0]],
        }
        for drug in drugs
    ]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown, _ = run("fit", pairs, "--out", out, "--trials", 10, "--quiet")
    assert "24 pairs in 6 answers" in shown
    assert "Agreement with 6 known matches" in shown
    assert json.loads(out.read_text())["n_trials"] == 10
    _, err = run("fit", tmp_path / "none.jsonl", "--out", out, "--quiet", code=1)
    assert "none.jsonl" in err


def test_editor_gives_back_what_was_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "editor.sh"
    script.write_text('#!/bin/sh\necho "vital added" >> "$1"\n')
    script.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))
    assert edit_in_editor("okay one\n") == "okay one\nvital added\n"
    monkeypatch.setenv("EDITOR", "no-such-editor-anywhere")
    with pytest.raises(InputError, match="no-such-editor-anywhere"):
        edit_in_editor("text")

"""`ragassay nuggets`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes import WordEmbedder
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.cli.editor import edit_in_editor
from ragassay.errors import InputError
from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration


def run(*arguments: object, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["nuggets", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = WordEmbedder()
    monkeypatch.setattr("ragassay.models.embeddings.Embedder", lambda name: embedder)
    monkeypatch.setattr("ragassay.graphs.toolbox.Embedder", lambda name: embedder)


def test_create_accept_all_then_evaluate_reads_it(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "nuggets.jsonl"
    with ScriptedModel() as model:
        options = ("--model", model.model_name, "--api-base", model.base_url, "--quiet")
        shown, _ = run(
            "create", sample / "answers.jsonl", "--out", out, "--accept-all", "--limit", 2, *options
        )
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert lines and all(set(line) == {"query", "qid", "nuggets"} for line in lines)
    assert all(line["nuggets"] for line in lines)
    assert f"{lines[0]['qid']}: {len(lines[0]['nuggets'])} nuggets" in shown


def test_without_a_terminal_the_way_out_is_named(sample: Path, tmp_path: Path) -> None:
    _, err = run(
        "create", sample / "answers.jsonl", "--out", tmp_path / "nuggets.jsonl", "--quiet", code=1
    )
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
    assert "24 pairs of 6 answers" in shown
    assert "Against 6 known matches" in shown
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

"""`ragassay models` as a person sees it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.models import registry
from ragassay.records import Bound, ModelCard


def call(*arguments: str, code: int = 0, **environment: str) -> str:
    """Run a command about models, and return its output."""
    done = CliRunner().invoke(app, ["models", *arguments], env=environment)
    assert done.exit_code == code, done.output
    return done.output


def test_models_are_listed() -> None:
    shown = call("list")
    assert "ragassay/minilm-verifier" in shown and "MiB" in shown
    entries = map(json.loads, call("list", "--json").splitlines())
    signals = {entry["name"]: entry for entry in entries}["ragassay/signals"]
    assert signals["installed"] is True and signals["bytes"] > 10_000


def test_a_card_shows_figures_intervals_limits_and_digest() -> None:
    text = " ".join(call("show", "minilm-verifier").split())
    for told in ("SciFact", "0.713", "0.632 to 0.785", "188", "Rules adjust their verdicts"):
        assert told in text
    assert "c921f3d3d7" in text and "benchmarks/verifier.py" in text
    card = json.loads(call("show", "minilm-verifier", "--json"))
    assert card["model"] == "ragassay/minilm-verifier"


def test_the_encoders_card_names_its_licence_and_origin() -> None:
    text = " ".join(call("show", "all-MiniLM-L6-v2").split())
    assert "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)" in text


def test_a_model_without_a_card_is_shown_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    item = replace(registry.find_registered_model("ragassay/signals"), card=None)
    monkeypatch.setattr(registry, "list_registered_models", lambda: (item,))
    assert "no model card" in call("show", "ragassay/signals")


def test_a_check_that_finds_nothing_wrong_ends_with_0() -> None:
    names = ["ragassay/signals", "ragassay/reranker"]
    lines = call("check", *names).splitlines()
    assert [line.split()[:2] for line in lines] == [["OK", name] for name in names]


def test_damage_ends_with_3_and_names_the_file(tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / "weights.json"
    file.write_text("{}")
    damaged = registry.ModelFile(file, "f" * 64)
    item = registry.RegisteredModel("ragassay/x", "a test", "nowhere", (damaged,))
    monkeypatch.setattr(registry, "list_registered_models", lambda: (item,))
    shown = call("check", code=3)
    assert "DAMAGED ragassay/x  weights.json" in shown and "expected ffff" in shown
    file.unlink()
    assert "MISSING" in call("check", code=3)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["show", "nope"], "unknown model 'nope'"),
        (["check", "nope"], "unknown model 'nope'"),
        (["merge", "signals"], "--hf DIR, --gguf FILE"),
        (["merge", "signals", "--hf", "out"], "because it is not an adapter"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], problem: str) -> None:
    (line,) = call(*arguments, code=1).splitlines()
    assert problem in line


def test_a_card_shows_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"risk": 0.2, "delta": 0.1, "n": 120, "data": "made up"}
    bounds = (
        Bound(label="contradicts", threshold=0.91, coverage=0.4, precision=0.88, **given),
        Bound(label="contradicts", level="finding", **given),
    )
    item = registry.find_registered_model("minilm-verifier")
    card = ModelCard(model=item.name, description="A test.", bounds=bounds)
    monkeypatch.setattr(registry, "find_registered_model", lambda *_: replace(item, card=card))
    shown = call("show", item.name, COLUMNS="150")
    (verdict,) = [line.split() for line in shown.splitlines() if "0.91" in line]
    assert verdict[:3] == ["contradicts", "verdict", "0.91"]
    assert "88" in shown and "made up" in shown and "delta 0.1" in shown
    (finding,) = [line for line in shown.splitlines() if "never" in line]
    assert "finding" in finding and "n/a" in finding


def test_no_output_is_written_if_one_of_them_exists(tmp_path: Path) -> None:
    paths = ("--gguf", str(tmp_path / "new.gguf"), "--hf", str(tmp_path))
    shown = call("merge", "ragassay/judge", *paths, code=1)
    assert "already exists" in shown.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []

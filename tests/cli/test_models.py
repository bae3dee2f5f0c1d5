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

RUN = CliRunner()


def test_models_are_listed() -> None:
    done = RUN.invoke(app, ["models", "list"])
    assert done.exit_code == 0
    assert "ragassay/minilm-verifier" in done.output and "MiB" in done.output
    lines = RUN.invoke(app, ["models", "list", "--json"]).output.splitlines()
    fields = {entry["name"]: entry for entry in map(json.loads, lines)}
    assert fields["ragassay/signals"]["installed"] is True
    assert fields["ragassay/signals"]["bytes"] > 10_000


def test_a_card_shows_figures_intervals_limits_and_digest() -> None:
    done = RUN.invoke(app, ["models", "show", "minilm-verifier"])
    assert done.exit_code == 0
    text = " ".join(done.output.split())
    for told in ("SciFact", "0.713", "0.632 to 0.785", "188", "Rules adjust their verdicts"):
        assert told in text
    assert "c921f3d3d7" in text and "benchmarks/verifier.py" in text
    card = json.loads(RUN.invoke(app, ["models", "show", "minilm-verifier", "--json"]).output)
    assert card["model"] == "ragassay/minilm-verifier"


def test_the_encoders_card_names_its_licence_and_origin() -> None:
    done = RUN.invoke(app, ["models", "show", "all-MiniLM-L6-v2"])
    text = " ".join(done.output.split())
    assert done.exit_code == 0 and "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)" in text


def test_a_model_without_a_card_is_shown_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    item = replace(registry.find_registered_model("ragassay/signals"), card=None)
    monkeypatch.setattr(registry, "list_registered_models", lambda: (item,))
    done = RUN.invoke(app, ["models", "show", "ragassay/signals"])
    assert done.exit_code == 0 and "no model card" in done.output


def test_a_check_that_finds_nothing_wrong_ends_with_0() -> None:
    done = RUN.invoke(app, ["models", "check", "ragassay/signals", "ragassay/reranker"])
    assert done.exit_code == 0
    assert [line.split()[:2] for line in done.output.splitlines()] == [
        ["OK", "ragassay/signals"],
        ["OK", "ragassay/reranker"],
    ]


def test_damage_ends_with_3_and_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "weights.json"
    file.write_text("{}")
    item = registry.RegisteredModel(
        "ragassay/x", "a test", "nowhere", (registry.ModelFile(file, "f" * 64),)
    )
    monkeypatch.setattr(registry, "list_registered_models", lambda: (item,))
    done = RUN.invoke(app, ["models", "check"])
    assert done.exit_code == 3
    assert "DAMAGED ragassay/x  weights.json" in done.output and "expected ffff" in done.output
    file.unlink()
    assert "MISSING" in RUN.invoke(app, ["models", "check"]).output


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
    done = RUN.invoke(app, ["models", *arguments])
    assert done.exit_code == 1
    assert problem in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_card_shows_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"risk": 0.2, "delta": 0.1, "n": 120, "data": "made up"}
    bounds = (
        Bound(label="contradicts", threshold=0.91, coverage=0.4, precision=0.88, **given),
        Bound(label="contradicts", level="finding", **given),
    )
    item = registry.find_registered_model("minilm-verifier")
    card = ModelCard(model=item.name, description="A test.", bounds=bounds)
    monkeypatch.setattr(registry, "find_registered_model", lambda *_: replace(item, card=card))
    shown = RUN.invoke(app, ["models", "show", item.name], env={"COLUMNS": "150"}).output
    (verdict,) = [line.split() for line in shown.splitlines() if "0.91" in line]
    assert verdict[:3] == ["contradicts", "verdict", "0.91"]
    assert "88" in shown and "made up" in shown and "delta 0.1" in shown
    (finding,) = [line for line in shown.splitlines() if "never" in line]
    assert "finding" in finding and "n/a" in finding


def test_no_output_is_written_if_one_of_them_exists(tmp_path: Path) -> None:
    paths = ("--gguf", str(tmp_path / "new.gguf"), "--hf", str(tmp_path))
    done = RUN.invoke(app, ["models", "merge", "ragassay/judge", *paths])
    assert done.exit_code == 1 and "already exists" in done.stderr.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []

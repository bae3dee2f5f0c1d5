"""`ragassay finetune verifier`: a head over a base model, from files to a verifier of a run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from bases import ARCHITECTURES, save_base
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.evaluators.models import build_encoder, build_verifier_lm
from ragassay.models.adapters import read_shape
from ragassay.models.cards import load_card
from ragassay.models.cross_encoder import read_tensors
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.models.verifiers import open_entailment_model
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.optimizers.finetuning.head import HeadJob, build_head_examples
from ragassay.settings import load_settings

LEARNT = [
    {"claim": "Alpha gave higher pressure.", "evidence": "It did.", "label": "supports"},
    {"claim": "Beta harms.", "evidence": "No harm was seen.", "label": "REFUTE"},
    {"claim": "Beta is blue.", "evidence": "Gold fell.", "label": "not_relevant"},
]
HELD = [
    {"claim": "Zinc helps.", "evidence": "Zinc helped.", "label": "supports"},
    {"claim": "Tin helps.", "evidence": "Tea was drunk.", "label": "neutral"},
]


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["finetune", "verifier", *map(str, arguments)])


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def claim(text: str, label: int, rationale: tuple[int, ...]) -> LabelledClaim:
    return LabelledClaim(text, "", ("Alpha was tried.",), rationale, label, "g")


def test_only_claims_whose_deciding_sentences_are_marked_are_turned_over():
    text = "Alpha gave higher pressure."
    for marks, expected in (((0,), [SUPPORTS, CONTRADICTS]), ((), [SUPPORTS])):
        found = build_head_examples([[claim(text, SUPPORTS, marks)]], seed=0)
        assert [example.label for example in found] == expected


def test_a_set_that_comes_twice_weighs_twice_with_the_same_contraries():
    once = [claim("Alpha was safe and gave 3 times higher pressure.", SUPPORTS, (0,))]
    other = [claim("Beta.", NEUTRAL, ())]
    found = build_head_examples([once, once, other], seed=0)
    assert len(found) == 5 and found[:2] == found[2:4]


@pytest.mark.integration
def test_a_verifier_is_trained_measured_and_named_in_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    monkeypatch.chdir(tmp_path)
    data = write(tmp_path / "claims.jsonl", *LEARNT, {"claim": "?", "evidence": "!", "label": "x"})
    dev = write(tmp_path / "held.jsonl", *HELD)
    small = ("--base", "all-MiniLM-L6-v2", "--steps", 1, "--rank", 2, "--seed", 3)
    done = run("--data", data, "--data", data, "--dev", dev, "--out", "mine", *small)
    assert done.exit_code == 3, done.output
    assert "6 examples: supports 2, contradicts 2, neutral 2" in done.output
    assert "held.jsonl: accuracy" in done.output
    assert (
        "1 line of the training data" in done.output
        and "To use the model, pass ragassay/mine" in done.output
    )
    training = read_shape(Path("mine")).training
    assert training is not None and training.dev == "held.jsonl" and training.seed == 3
    assert training.data == ("claims.jsonl", "claims.jsonl") and training.n_examples == 6
    assert training.epochs == pytest.approx(16 / 6)  # one step of sixteen examples

    settings = load_settings(verifier="ragassay/mine")
    encoder = build_encoder(settings, Embedder())
    assert encoder is not None and encoder.model.name == "ragassay/mine"
    assert build_verifier_lm(settings) is None
    assert encoder.compare("Zinc helps.", "Zinc helped.").confidence > 0

    more = run("--data", data, "--start", "mine", "--out", "more", *small)
    assert more.exit_code == 3, more.output
    made = read_shape(Path("more")).training
    assert made is not None and made.start == read_shape(Path("mine")).weights_sha256

    card = load_card("ragassay/mine")
    assert card is not None and card.digest == read_shape(Path("mine")).weights_sha256
    assert [(f.metric, f.data, f.n) for f in card.figures] == [
        ("accuracy", "held.jsonl", 2),
        ("macro-F1", "held.jsonl", 2),
    ]
    again = shlex.split(card.figures[0].command)
    assert again[:3] == ["ragassay", "finetune", "verifier"] and again.count("--data") == 2
    assert "starting from" in getattr(load_card("ragassay/more"), "description", "")
    shown = CliRunner().invoke(app, ["models", "show", "mine"])
    assert "6 examples from claims.jsonl, claims.jsonl" in " ".join(shown.output.split())
    assert "held.jsonl" in shown.output and "accuracy" in shown.output
    unmeasured = CliRunner().invoke(app, ["models", "show", "more"])
    assert "It was not measured" in unmeasured.output and "Figures" not in unmeasured.output
    checked = CliRunner().invoke(app, ["models", "check", "mine"])
    assert checked.exit_code == 0 and "OK      ragassay/mine  adapter.safetensors" in checked.output


@pytest.mark.integration
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_any_base_learns_and_is_found_again(
    architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    monkeypatch.chdir(tmp_path)
    base = save_base(tmp_path / "base", architecture)
    data = write(tmp_path / "claims.jsonl", *LEARNT)
    options = ("--data", data, "--base", base, "--steps", 3, "--learning-rate", 0.1)
    done = run(*options, "--out", "mine")
    assert done.exit_code == 0, done.output
    changed = {name.split(".")[-2] for name in read_tensors(Path("mine")) if name.endswith(".b")}
    assert len(changed) == (4 if architecture == "bert" else 7)  # each matrix of a layer
    shape = read_shape(Path("mine"))
    assert (shape.base, shape.base_sha256) == (base, "")
    found = open_entailment_model("ragassay/mine", tmp_path).predict_probabilities(
        [("Tin.", "Tin helps.")]
    )
    assert found.sum() == pytest.approx(1) and found[0] != pytest.approx([1 / 3] * 3, abs=1e-6)
    other = save_base(tmp_path / "other", architecture)
    refused = run("--data", data, "--base", other, "--start", "mine", "--out", "more")
    assert refused.exit_code == 1 and "an adapter for another base" in refused.stderr


def test_the_command_of_a_job_is_that_job():
    job = HeadJob(data=(Path("a b.jsonl"),), out=Path("out"), dev=Path("d.jsonl"), rank=4, steps=2)
    assert shlex.split(job.command)[3:] == [
        *("--data", "a b.jsonl", "--dev", "d.jsonl", "--base", "smollm2-135m", "--epochs", "3.0"),
        *("--rank", "4", "--seed", "0", "--steps", "2", "--out", "out"),
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--base", "/nowhere/large"], "the model /nowhere/large is unavailable"),
        (["--start", "."], "is not an adapter with a head"),
        (["--dev", "claims.jsonl"], "3 of 3 claims share their text or document"),
        (["--dev", "empty.jsonl"], "empty.jsonl contains no claims"),
        (["--method", "sft", "--dev", "claims.jsonl"], "--dev requires --method head"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "claims.jsonl", *LEARNT)
    write(tmp_path / "empty.jsonl", {"claim": "", "evidence": "", "label": ""})
    done = run("--data", "claims.jsonl", "--out", "mine", *arguments)
    assert done.exit_code == 1 and problem in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_head_is_a_verifiers(tmp_path: Path):
    done = CliRunner().invoke(
        app,
        ["finetune", "judge", "--method", "head", "--data", "x.jsonl", "--out", str(tmp_path)],
    )
    assert done.exit_code == 1 and "--method head trains a classifier" in done.stderr

"""`ragassay finetune verifier`: a head over a base model, from files to a verifier of a run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from bases import ARCHITECTURES, save_base
from finetuning import check_refused, finetune
from jsonl import write_jsonl
from typer.testing import CliRunner, Result

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


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "claims.jsonl", *LEARNT)
    return tmp_path


def train(*arguments: object) -> Result:
    return finetune("verifier", "--data", "claims.jsonl", *arguments)


def show(command: str, name: str) -> str:
    done = CliRunner().invoke(app, ["models", command, name])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


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
def test_a_verifier_is_trained_measured_and_named_in_a_run(folder):
    wrong = {"claim": "?", "evidence": "!", "label": "x"}
    write_jsonl(folder / "claims.jsonl", *LEARNT, wrong)
    dev = write_jsonl(folder / "held.jsonl", *HELD)
    small = ("--base", "all-MiniLM-L6-v2", "--steps", 1, "--rank", 2, "--seed", 3)
    done = train("--data", "claims.jsonl", "--dev", dev, "--out", "mine", *small)
    assert done.exit_code == 3, done.output
    assert "6 examples: supports 2, contradicts 2, neutral 2" in done.output
    assert "held.jsonl: accuracy" in done.output
    assert "1 line of the training data" in done.output
    assert "To use the model, pass ragassay/mine" in done.output
    mine = read_shape(Path("mine"))
    training = mine.training
    assert training.dev == "held.jsonl" and training.seed == 3
    assert training.data == ("claims.jsonl", "claims.jsonl") and training.n_examples == 6
    assert training.epochs == pytest.approx(16 / 6)  # one step of sixteen examples

    settings = load_settings(verifier="ragassay/mine")
    encoder = build_encoder(settings, Embedder())
    assert encoder.model.name == "ragassay/mine"
    assert build_verifier_lm(settings) is None
    assert encoder.compare("Zinc helps.", "Zinc helped.").confidence > 0

    more = train("--start", "mine", "--out", "more", *small)
    assert more.exit_code == 3, more.output
    assert read_shape(Path("more")).training.start == mine.weights_sha256

    card = load_card("ragassay/mine")
    assert card.digest == mine.weights_sha256
    figures = [(figure.metric, figure.data, figure.n) for figure in card.figures]
    assert figures == [("accuracy", "held.jsonl", 2), ("macro-F1", "held.jsonl", 2)]
    again = shlex.split(card.figures[0].command)
    assert again[:3] == ["ragassay", "finetune", "verifier"] and again.count("--data") == 2
    assert "starting from" in load_card("ragassay/more").description
    shown, unmeasured = show("show", "mine"), show("show", "more")
    assert "6 examples from claims.jsonl, claims.jsonl" in shown
    assert "held.jsonl" in shown and "accuracy" in shown
    assert "It was not measured" in unmeasured and "Figures" not in unmeasured
    assert "OK ragassay/mine adapter.safetensors" in show("check", "mine")


@pytest.mark.integration
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_any_base_learns_and_is_found_again(architecture, folder):
    base = save_base(folder / "base", architecture)
    done = train("--base", base, "--steps", 3, "--learning-rate", 0.1, "--out", "mine")
    assert done.exit_code == 0, done.output
    changed = {name.split(".")[-2] for name in read_tensors(Path("mine")) if name.endswith(".b")}
    assert len(changed) == (4 if architecture == "bert" else 7)  # each matrix of a layer
    shape = read_shape(Path("mine"))
    assert (shape.base, shape.base_sha256) == (base, "")
    model = open_entailment_model("ragassay/mine", folder)
    found = model.predict_probabilities([("Tin.", "Tin helps.")])
    assert found.sum() == pytest.approx(1) and found[0] != pytest.approx([1 / 3] * 3, abs=1e-6)
    other = save_base(folder / "other", architecture)
    refused = train("--base", other, "--start", "mine", "--out", "more")
    assert refused.exit_code == 1 and "an adapter for another base" in refused.stderr


def test_the_command_of_a_job_is_that_job():
    job = HeadJob(data=(Path("a b.jsonl"),), out=Path("out"), dev=Path("d.jsonl"), rank=4, steps=2)
    assert job.command == (
        "ragassay finetune verifier --data 'a b.jsonl' --dev d.jsonl --base smollm2-135m "
        "--epochs 3.0 --rank 4 --seed 0 --steps 2 --out out"
    )


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
def test_mistakes_are_one_line(arguments, problem, folder):
    write_jsonl(folder / "empty.jsonl", {"claim": "", "evidence": "", "label": ""})
    check_refused(problem, "verifier", "--data", "claims.jsonl", "--out", "mine", *arguments)


def test_a_head_is_a_verifiers(tmp_path):
    arguments = ("judge", "--method", "head", "--data", "x.jsonl", "--out", tmp_path)
    check_refused("--method head trains a classifier", *arguments)

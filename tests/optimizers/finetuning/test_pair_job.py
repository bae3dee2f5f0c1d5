"""`ragassay finetune correctness` and `completeness`: from a user's file to a run."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from case_tables import each_case
from finetuning import finetune
from jsonl import write_jsonl
from tiny_verifiers import tiny_encoder
from typer.testing import CliRunner

import ragassay
from ragassay.cli import app
from ragassay.errors import SettingsError
from ragassay.evaluators.models import Models
from ragassay.instruments.labellers import open_head_labeller
from ragassay.models.adapters import CORRECTNESS, SHAPE, read_shape
from ragassay.models.cards import load_card
from ragassay.models.correctness import HeadCorrectness, open_correctness_model
from ragassay.models.embeddings import Embedder
from ragassay.models.fitted_models import PairClassifier
from ragassay.models.verifiers import open_entailment_model
from ragassay.optimizers.finetuning.pair_job import PairJob
from ragassay.records import RELEVANCE_LABELS, AnswerSentence
from ragassay.settings import load_settings

WORDS = ("alpha", "beta", "gamma", "pain", "pressure", "trial", "adults", "claim")


def correctness_file(path: Path, n: int = 24) -> Path:
    """A passage that names what its sentence names is its evidence."""
    rows = [
        {
            "sentence": f"The drug lowers {WORDS[i % 8]} .",
            "passage": f"In the trial {WORDS[(i + shift) % 8]} was lowered .",
            "label": label,
            "question": f"q{i}",
        }
        for i in range(n)
        for shift, label in ((0, "correct"), (3, "incorrect"))
    ]
    return write_jsonl(path, *rows)


def completeness_file(path: Path, n: int) -> Path:
    """Answers in MedAESQA's form, whose first sentence is required and whose second is not."""
    answers = []
    for i in range(n):
        labels = {
            f"alpha lowers {WORDS[i]} .": "required",
            f"beta raises {WORDS[i]} .": "unnecessary",
        }
        sentences = [
            {"answer_sentence": text, "answer_sentence_relevance": label}
            for text, label in labels.items()
        ]
        made = {"M1": {"answer": " ".join(labels), "answer_sentences": sentences}}
        question = {"question_id": f"q{i}", "question": f"What lowers {WORDS[i]} ?"}
        answers.append({**question, "machine_generated_answers": made})
    path.write_text(json.dumps(answers), encoding="utf-8")
    return path


@pytest.mark.parametrize("method", ["svm", "logistic"])
def test_a_classifier_is_fitted_to_ones_own_data_and_named_in_a_run(method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = correctness_file(tmp_path / "pairs.jsonl")
    done = finetune("correctness", "--data", data, "--method", method, "--seed", 3, "--out", "mine")
    assert done.exit_code == 0, done.output
    assert "48 pairs for 24 questions: correct 24, incorrect 24" in done.output
    assert "fold 5 of 5" in done.output and "held-out folds: accuracy" in done.output
    assert "To use the model, pass --correctness ragassay/mine" in done.output

    model = open_correctness_model("ragassay/mine", Embedder(), tmp_path)
    assert isinstance(model, PairClassifier) and model.name == "ragassay/mine"
    passages = [f"In the trial {word} was lowered ." for word in ("pain", "beta")]
    right, wrong = model.score_pairs([("The drug lowers pain .", text) for text in passages])
    assert right > wrong
    assert [bound.label for bound in model.bounds] == list(CORRECTNESS)
    assert all("5 held-out folds" in bound.data for bound in model.bounds)

    card = load_card("ragassay/mine")
    assert card.digest == model.digest and card.bounds == model.bounds
    assert "48 pairs for 24 questions from pairs.jsonl (SHA-256 " in card.description
    assert "seed 3" in card.description
    folds = [figure for figure in card.figures if "fold " in figure.data]
    assert len(folds) == 5 and all(figure.low is not None for figure in folds)
    metrics = {figure.metric for figure in card.figures}
    assert {"macro precision", "macro recall", "macro-F1", "AUC"} <= metrics
    again = shlex.split(card.figures[0].command)
    assert again[:3] == ["ragassay", "finetune", "correctness"]
    assert "--seed" in again and method in again
    shown = CliRunner().invoke(app, ["models", "show", "mine"])
    assert shown.exit_code == 0 and "pairs.jsonl" in shown.output, shown.output


@pytest.mark.integration
def test_heads_are_fitted_on_an_encoder_and_named_in_a_run(tmp_path, monkeypatch):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    monkeypatch.chdir(tmp_path)
    base = tiny_encoder(tmp_path / "base")
    small = ("--method", "head", "--base", base, "--steps", 2, "--rank", 2, "--folds", 2)

    data = correctness_file(tmp_path / "pairs.jsonl", 4)
    done = finetune("correctness", "--data", data, *small, "--out", "correct")
    assert done.exit_code == 0, done.output
    assert read_shape(Path("correct")).labels == CORRECTNESS
    model = open_correctness_model("ragassay/correct", Embedder(), tmp_path)
    assert isinstance(model, HeadCorrectness)
    (score,) = model.score_pairs([("alpha lowers pain .", "alpha .")])
    assert 0 < score < 1
    # Eight pairs are too few for a bound: nothing is decided.
    assert model.find_doubt([("alpha lowers pain .", "alpha .")]) is not None
    with pytest.raises(SettingsError, match="is not a verifier; pass it with --correctness"):
        open_entailment_model("ragassay/correct", tmp_path)

    answers = completeness_file(tmp_path / "answers.json", 4)
    done = finetune("completeness", "--data", answers, *small, "--out", "label")
    assert done.exit_code == 0, done.output
    assert "8 pairs for 4 questions: required 4, borderline 0, unnecessary 4" in done.output
    assert "To use the model, pass --labeller ragassay/label" in done.output
    shape = read_shape(Path("label"))
    assert shape.labels == RELEVANCE_LABELS
    assert [bound.label for bound in shape.bounds] == list(RELEVANCE_LABELS)
    labeller = open_head_labeller("ragassay/label", tmp_path)
    sentence = AnswerSentence(index=1, text="alpha lowers pain .", start=0, end=19)
    found = labeller.label("lowers pain ?", sentence)
    assert found.failure is not None and found.failure.reason == "undecided"
    assert found.tentative_label in RELEVANCE_LABELS
    settings = load_settings(labeller="ragassay/label", correctness="ragassay/correct")
    models = Models.from_settings(settings)
    assert models.labeller.name == "ragassay/label"
    assert set(models.labeller.identity) <= set(models.digests)
    with pytest.raises(SettingsError, match="is not a verifier; pass it with --labeller"):
        open_entailment_model("ragassay/label", tmp_path)
    assert "weighted-F1" in {figure.metric for figure in load_card("ragassay/label").figures}
    # Without its bounds all that it says counts, in a run as well.
    shutil.copytree("label", "free")
    (Path("free") / SHAPE).write_text(shape.model_copy(update={"bounds": ()}).model_dump_json())
    result = ragassay.evaluate(
        question="What lowers pain ?",
        answer="Alpha lowers pain. Beta raises pain.",
        only=("sentences",),
        labeller="ragassay/free",
    )
    assert len(result.labels) == 2 and all(one.label in RELEVANCE_LABELS for one in result.labels)
    score = result.scores["sentences.required"]
    assert (score.n, score.judge, score.n_unscored) == (2, "ragassay/free", 0)
    for wrong in ("ragassay/correct", "ragassay/absent", "somebody/else"):
        with pytest.raises(SettingsError, match="finetune completeness"):
            open_head_labeller(wrong, tmp_path)


@each_case(
    ("arguments", "label", "problem"),
    [
        (["correctness", "--method", "sft"], "correct", "choose svm, logistic or head"),
        (["correctness", "--dev", "x.jsonl"], "correct", "which is cross-validated"),
        (["completeness", "--method", "svm"], "correct", "svm only supports correctness"),
        (["completeness", "--method", "logistic"], "correct", "logistic only supports correctness"),
        (["judge", "--method", "svm"], "correct", "--method svm only supports correctness"),
        (["qa", "--method", "logistic"], "correct", "--method logistic only supports correctness"),
        (["correctness"], "correct", "two labels with at least two questions each"),
        (["correctness"], "?", "contains no labelled pairs"),
    ],
)
def test_what_does_not_fit_together_is_refused(arguments, label, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("one.jsonl"), {"sentence": "a", "passage": "b", "label": label})
    refused = finetune(*arguments, "--data", "one.jsonl", "--out", "out")
    assert refused.exit_code in (1, 2)
    assert problem in " ".join(refused.stderr.split())


def test_the_command_of_a_job_is_that_job():
    files = {"data": (Path("a b.jsonl"),), "out": Path("out")}
    job = PairJob(task="correctness", method="svm", base="x", **files)
    assert job.command == (
        "ragassay finetune correctness --data 'a b.jsonl' --method svm --folds 5 --seed 0 --out out"
    )
    head = replace(job, task="completeness", method="head", rank=2, steps=3)
    assert head.command == (
        "ragassay finetune completeness --data 'a b.jsonl' --method head --folds 5 --seed 0 "
        "--base x --epochs 3.0 --rank 2 --steps 3 --out out"
    )

"""`ragassay finetune`, from files to an adapter that the embedded provider answers with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bases import save_base
from finetuning import finetune
from jsonl import write_jsonl
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.models.local.loading import load_engine
from ragassay.models.local.replies import Prompt
from ragassay.models.tuned import find_tuned_note

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


@pytest.fixture
def base(tmp_path) -> str:
    return save_base(tmp_path / "base", "llama")


def train(task: str, data: Path, out: Path, *options: object, code: int = 0) -> str:
    """Return what the command prints."""
    done = finetune(task, "--data", data, "--out", out, *options)
    assert done.exit_code == code, done.output
    return done.output


def test_a_judge_is_trained_saved_and_answers(base, answers, tmp_path):
    out = tmp_path / "judge"
    small = ("--base", base, "--steps", 1, "--rank", 2, "--limit", 4)
    told = train("judge", answers, out, *small)
    assert "4 examples" in told and "ragassay/" in told
    note = find_tuned_note(f"ragassay/{out}")
    assert (note.task, note.method, note.n_examples) == ("judge", "sft", 4)
    assert note.base == base and note.data == ("t-answers.jsonl",)
    assert json.loads(note.recipe)["rank"] == 2

    schema = json.dumps({"type": "integer", "enum": [1, 2, 3, 4, 5]})
    [reply] = load_engine(str(out), tmp_path, "float32").answer([Prompt((("user", "x"),), schema)])
    assert reply.text in "12345"

    train("judge", answers, tmp_path / "cpo", "--method", "cpo", "--start", out, *small)
    refused = train("completeness", answers, tmp_path / "x", "--start", out, *small, code=1)
    assert "is a judge based on" in refused


def test_a_judge_learns_from_replies_and_reads_sources(base, answers, tmp_path):
    out = tmp_path / "judge"
    small = ("--base", base, "--steps", 1, "--rank", 2, "--limit", 40)
    told = train("judge", answers, out, *small, "--targets", "replies", "--source-chars", 400)
    assert "use replies of judges" in told
    note = find_tuned_note(f"ragassay/{out}")
    assert (note.targets, note.source_chars) == ("replies", 400)
    shown = CliRunner().invoke(app, ["models", "show", str(out)]).output
    assert "that judges gave in the data; its prompts contain up to 400 characters of" in shown

    wide = ("--base", base, "--source-chars", 9000)
    assert "increase --row-tokens" in train("judge", answers, out, *wide, code=1)
    long = train("judge", answers, tmp_path / "b", *wide, "--row-tokens", 10**6, code=1)
    assert "context length of the base model" in long
    targets = ("--base", base, "--targets", "replies")
    assert "not for labeller" in train("completeness", answers, out, *targets, code=1)


def test_a_labeller_learns_from_labelled_sentences(base, tmp_path):
    record = {"id": "a", "question": "Does it help?", "answer": "It helps. It is blue."}
    rows = [
        {"task": "relevance", "label": label, "record_id": "a", "sentence": n}
        for n, label in ((1, "required"), (2, "unnecessary"))
    ]
    answers = write_jsonl(tmp_path / "answers.jsonl", record)
    labels = write_jsonl(tmp_path / "labels.jsonl", *rows)
    out = tmp_path / "out"
    train("completeness", answers, out, "--labels", labels, "--base", base, "--steps", 1)
    note = find_tuned_note(f"ragassay/{out}")
    assert (note.task, note.n_examples) == ("labeller", 2)


@pytest.mark.integration
def test_a_verifier_learns_from_claims_and_says_which_could_not_be_read(base, tmp_path):
    rows = [
        {"claim": "It helps.", "evidence": "It helped in most patients.", "label": "supports"},
        {"claim": "It harms.", "evidence": "No harm was seen.", "label": "REFUTE"},
        {"claim": "It is blue.", "evidence": "It helped.", "label": "perhaps"},
    ]
    data, out = write_jsonl(tmp_path / "claims.jsonl", *rows), tmp_path / "v"
    told = train("verifier", data, out, "--base", base, "--steps", 1, "--method", "sft", code=3)
    assert "1 line of the training data" in told
    note = find_tuned_note(f"ragassay/{out}")
    assert note.task == "verifier" and note.n_examples >= 2


def test_bad_input_is_one_line(base, answers, tmp_path):
    out = tmp_path / "out"
    missing = train("judge", tmp_path / "none.jsonl", out, "--base", base, code=1)
    assert missing.startswith("error:")
    start = train("judge", answers, out, "--base", base, "--start", tmp_path, code=1)
    assert "is not an adapter" in start
    absent = train("judge", answers, out, "--base", tmp_path / "absent", code=1)
    assert "absent is unavailable" in absent.splitlines()[-1]
    train("poet", answers, out, code=2)

"""`ragassay finetune`, from files to an adapter that the embedded provider answers with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bases import save_base
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.models.local.loading import load_engine
from ragassay.models.local.replies import Prompt
from ragassay.models.tuned import find_tuned_note

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return Path(save_base(tmp_path / "base", "llama"))


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["finetune", *map(str, arguments)])


def test_a_judge_is_trained_saved_and_answers(base: Path, answers: Path, tmp_path: Path) -> None:
    out = tmp_path / "judge"
    small = ("--base", base, "--steps", 1, "--rank", 2, "--limit", 4)
    done = run("judge", "--data", answers, "--out", out, *small)
    assert done.exit_code == 0, done.output
    assert "4 examples" in done.output and "ragassay/" in done.output
    note = find_tuned_note(f"ragassay/{out}")
    assert note is not None and (note.task, note.method, note.n_examples) == ("judge", "sft", 4)
    assert note.base == str(base) and note.data == ("t-answers.jsonl",)
    assert json.loads(note.recipe)["rank"] == 2

    schema = json.dumps({"type": "integer", "enum": [1, 2, 3, 4, 5]})
    [reply] = load_engine(str(out), tmp_path, "float32").answer([Prompt((("user", "x"),), schema)])
    assert reply.text in "12345"

    more = run(
        "judge", "--data", answers, "--method", "cpo", "--start", out, "--out", tmp_path / "cpo",
        *small,
    )  # fmt: skip
    assert more.exit_code == 0, more.output
    other = run("completeness", "--data", answers, "--start", out, "--out", tmp_path / "x", *small)
    assert other.exit_code == 1 and "is a judge based on" in other.output


def test_a_judge_learns_from_replies_and_reads_sources(
    base: Path, answers: Path, tmp_path: Path
) -> None:
    out = tmp_path / "judge"
    small = ("--base", base, "--steps", 1, "--rank", 2, "--limit", 40)
    more = ("--targets", "replies", "--source-chars", 400)
    done = run("judge", "--data", answers, "--out", out, *small, *more)
    assert done.exit_code == 0, done.output
    assert "use replies of judges" in done.output
    note = find_tuned_note(f"ragassay/{out}")
    assert note is not None and (note.targets, note.source_chars) == ("replies", 400)
    shown = CliRunner().invoke(app, ["models", "show", str(out)])
    assert (
        "that judges gave in the data; its prompts contain up to 400 characters of" in shown.output
    )

    wide = run("judge", "--data", answers, "--out", out, "--base", base, "--source-chars", 9000)
    assert wide.exit_code == 1 and "increase --row-tokens" in wide.output
    long = ("--source-chars", 9000, "--row-tokens", 10**6)
    beyond = run("judge", "--data", answers, "--out", tmp_path / "b", "--base", base, *long)
    assert beyond.exit_code == 1 and "context length of the base model" in beyond.output
    other = run(
        "completeness", "--data", answers, "--out", out, "--base", base, "--targets", "replies"
    )
    assert other.exit_code == 1 and "not for labeller" in other.output


def test_a_labeller_learns_from_labelled_sentences(base: Path, tmp_path: Path) -> None:
    record = {"id": "a", "question": "Does it help?", "answer": "It helps. It is blue."}
    labels = [
        {"task": "relevance", "label": label, "record_id": "a", "sentence": n}
        for n, label in ((1, "required"), (2, "unnecessary"))
    ]
    (tmp_path / "answers.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    done = run(
        "completeness", "--data", tmp_path / "answers.jsonl", "--labels", tmp_path / "labels.jsonl",
        "--base", base, "--out", tmp_path / "out", "--steps", 1,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    note = find_tuned_note(f"ragassay/{tmp_path / 'out'}")
    assert note is not None and (note.task, note.n_examples) == ("labeller", 2)


@pytest.mark.integration
def test_a_verifier_learns_from_claims_and_says_which_could_not_be_read(
    base: Path, tmp_path: Path
) -> None:
    rows = [
        {"claim": "It helps.", "evidence": "It helped in most patients.", "label": "supports"},
        {"claim": "It harms.", "evidence": "No harm was seen.", "label": "REFUTE"},
        {"claim": "It is blue.", "evidence": "It helped.", "label": "perhaps"},
    ]
    data = tmp_path / "claims.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    small = ("--base", base, "--steps", 1, "--method", "sft")
    done = run("verifier", "--data", data, "--out", tmp_path / "v", *small)
    assert done.exit_code == 3 and "1 line of the training data" in done.output
    note = find_tuned_note(f"ragassay/{tmp_path / 'v'}")
    assert note is not None and note.task == "verifier" and note.n_examples >= 2


def test_bad_input_is_one_line(base: Path, answers: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    missing = run("judge", "--data", tmp_path / "none.jsonl", "--out", out, "--base", base)
    assert missing.exit_code == 1 and missing.output.startswith("error:")
    start = run("judge", "--data", answers, "--out", out, "--base", base, "--start", tmp_path)
    assert start.exit_code == 1 and "is not an adapter" in start.output
    absent = run("judge", "--data", answers, "--out", out, "--base", tmp_path / "absent")
    assert absent.exit_code == 1 and "absent is unavailable" in absent.output.splitlines()[-1]
    assert run("poet", "--data", answers, "--out", out).exit_code == 2

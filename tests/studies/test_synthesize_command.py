"""`ragassay synthesize`, and the commands that take what it writes."""

# Fixtures are imported.
# ruff: noqa: F811
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from calls import call as call_command
from calls import run as run_command
from case_tables import each_case
from rows import write_rows
from synthesizing import alpha, beta, n_written, questions, writer  # noqa: F401
from waiting import wait_until

import ragassay
from ragassay.formats import read_records
from ragassay.testing import Fault, ScriptedModel

call = partial(call_command, COLUMNS="200")
run = partial(run_command, COLUMNS="200")

pytestmark = pytest.mark.integration


def of(*models: ScriptedModel, option: str = "--model") -> list[str]:
    """The options that name models, as alpha, beta, ..."""
    named = zip(("alpha", "beta"), models, strict=False)
    return [word for name, m in named for word in (option, f"openai/{name}@{m.base_url}")]


@pytest.fixture
def written(alpha, beta, questions, tmp_path) -> Path:
    """The answers of two models to three questions."""
    file = tmp_path / "answers.jsonl"
    run("synthesize", questions, *of(alpha, beta), "--limit", 3, "--out", file)
    return file


def test_models_write_answers_and_the_command_says_what_came_out(alpha, beta, questions, tmp_path):
    file = tmp_path / "out" / "answers.jsonl"
    given = ("synthesize", questions, *of(alpha, beta), "--out", file)
    shown, errors = run(*given, "--dry-run")
    assert "3 questions, 2 models: at most 6 calls, about" in shown
    assert "skipped questions without papers: 1 (q4)" in errors
    assert json.loads(run(*given, "--dry-run", "--json")[0])["n_syntheses"] == 6
    assert alpha.n_requests == 0 and not file.parent.exists()
    shown, errors = run(*given, code=3)  # One question has no paper.
    assert f"{file}: 6 answers to 3 questions by 2 models" in shown.replace("\n", "")
    assert "6 model calls" in shown
    assert "skipped questions without papers: 1 (q4)" in errors
    assert len(read_records(file).records) == 6


def test_the_file_is_named_after_the_questions_where_none_is_named(
    alpha, questions, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert call("synthesize", questions, *of(alpha), "--limit", 1, "--quiet") == (0, "", "")
    assert (tmp_path / "runs" / "questions-answers.jsonl").exists()


def test_json_says_what_was_written_what_failed_and_what_it_cost(beta, questions, tmp_path):
    with ScriptedModel(reply=writer("alpha"), faults=[Fault("junk", contains="help? 2")]) as broken:
        given = ("synthesize", questions, *of(broken, beta), "--out", tmp_path / "a.jsonl")
        code, shown, errors = call(*given, "--json")
        assert code == 3
        found = json.loads(shown)
        assert found["n_written"] == {"openai/alpha": 2, "openai/beta": 3}
        (failed,) = found["failed"]
        assert (failed["question"], failed["model"]) == ("q2", "openai/alpha")
        assert found["without_paper"] == ["q4"] and found["usage"]["n_calls"] >= 5
        assert "openai/alpha has no synthesis for 1 of 3 questions (q2)" in errors
        n_asked = broken.n_requests
        assert call(*given, "--json")[1] == shown
        assert broken.n_requests == n_asked
    with ScriptedModel(reply=writer("alpha")) as whole:
        given = ("synthesize", questions, *of(whole, beta), "--out", tmp_path / "a.jsonl")
        again = ("--json", "--limit", 3, "--retry-failed")
        code, shown, _ = call(*given, *again)
        assert (code, json.loads(shown)["failed"], n_written(whole)) == (0, [], 1)


def test_evaluate_takes_the_answers_as_they_are(written, tmp_path):
    options = ("--only", "citations", "--out", tmp_path / "run", "--json", "--quiet")
    code, shown, errors = call("evaluate", written, *options)
    assert code in (0, 3), errors
    text = (tmp_path / "run" / "evaluations.jsonl").read_text(encoding="utf-8")
    found = [json.loads(line) for line in text.splitlines()]
    assert len(found) == 6
    assert "citations" in shown and any(one["verdicts"] for one in found)
    writers = {one["record_id"].split("/", 1)[1] for one in found}
    assert writers == {"openai/alpha", "openai/beta"}
    assert "invalid" not in text


def test_matrix_puts_judges_against_the_writers(written, alpha, beta, tmp_path):
    folders = [tmp_path / "alpha", tmp_path / "beta"]
    for folder, model in zip(folders, (alpha, beta), strict=True):
        asked = ("--model", f"openai/{folder.name}", "--api-base", model.base_url)
        judging = ("evaluate", written, "--only", "rubrics", "--rubric", "cohesion", *asked)
        run(*judging, "--out", folder, "--quiet")
    found = json.loads(run("matrix", *folders, "--json")[0])
    cells = {(c["row"], c["column"]): c["value"] for c in found["matrices"][0]["cells"]}
    assert len(cells) == 4
    assert cells["openai/alpha", "openai/alpha"] > cells["openai/alpha", "openai/beta"]
    assert len(found["self_preferences"]) == 2


def test_similarity_compares_the_writers(written):
    pytest.importorskip("rouge_score")
    shown, _ = run("similarity", written, "--metric", "rougeL", "--json")
    cells = json.loads(shown)["matrices"][0]["cells"]
    assert {c["row"] for c in cells} == {"openai/alpha", "openai/beta"}
    assert all(c["n"] == 3 for c in cells)


def test_matrix_does_not_write_again_what_was_written(written, alpha, beta, questions, tmp_path):
    given = ("matrix", "--generate", questions, *of(alpha, beta, option="--generator"))
    run(*given, "--limit", 3, "--out", tmp_path, "--quiet")
    assert (n_written(alpha), n_written(beta)) == (3, 3)


def test_matrix_finds_papers_as_synthesize_does(alpha, beta, tmp_path, monkeypatch):
    monkeypatch.setenv("RAGASSAY_LITERATURE__RERANKER", "none")
    corpus = write_rows(tmp_path / "c.jsonl", [{"id": "31452104", "text": "Drug A helps."}])
    topics = tmp_path / "topics.json"
    topics.write_text('{"1": "Does drug A help?"}', encoding="utf-8")
    given = ("matrix", "--generate", topics, *of(alpha, beta, option="--generator"))
    run(*given, "--corpus", corpus, "--out", tmp_path / "m", "--quiet")
    first, *_ = read_records(tmp_path / "m" / "answers.jsonl").records
    assert [source.id for source in first.sources] == ["31452104"]
    _, errors = run("matrix", "--ratings", topics, "--corpus", corpus, code=1)
    assert "require --generate" in errors


@each_case(
    ("words", "said"),
    [
        (["{q}"], "no model to write answers; pass --model NAME"),
        (["{q}", "{a}", "{a}"], "model openai/alpha is specified twice"),
        (["{q}", "--model", "ragassay/nonexist"], "unknown model ragassay/nonexist"),
        (["missing.jsonl", "{a}"], "missing.jsonl does not exist"),
        (["{bare}", "{a}"], "no question has sources; pass a corpus to search"),
        (["{bare}", "{a}", "--corpus", "missing.jsonl"], "missing.jsonl does not exist"),
        (["{empty}", "{a}"], "is empty"),
        (["{q}", "{a}", "--out", "{q}/x.jsonl"], "must be a folder but is a file"),
    ],
)
def test_a_wrong_use_is_one_clear_line(words, said, alpha, questions, tmp_path, monkeypatch):
    monkeypatch.delenv("RAGASSAY_JUDGE__MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    bare = write_rows(tmp_path / "bare.jsonl", [{"id": "a", "question": "Why?"}])
    (tmp_path / "empty.jsonl").touch()
    files = {"q": questions, "bare": bare, "empty": tmp_path / "empty.jsonl"}
    given: list[str] = []
    for word in words:
        given += of(alpha) if word == "{a}" else [word.format(**files)]
    shown, errors = run("synthesize", *given, "--quiet", code=1)
    assert shown == ""
    assert said in errors.replace("\n", " ") and errors.count("error:") == 1
    assert alpha.n_requests == 0


@each_case("words", [("--papers", "0"), ("--words", "3"), ("--limit", "0")])
def test_a_number_out_of_bounds_is_wrong_usage(words, questions):
    run("synthesize", questions, "--model", "openai/a", *words, code=2)


def test_a_killed_start_is_finished_by_the_next_one(tmp_path):
    rows = [{"id": f"q{n}", "question": f"Help? {n}", "sources": ["It does."]} for n in range(12)]
    asked, log = write_rows(tmp_path / "many.jsonl", rows), tmp_path / "log.jsonl"
    with ScriptedModel(reply=writer("alpha"), latency_s=0.1, log=log) as model:
        given = ["synthesize", str(asked), *of(model), "--concurrency", "2", "--quiet", "--out"]
        killed, whole = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
        command = [sys.executable, "-m", "ragassay", *given, str(killed)]
        process = subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.DEVNULL)
        wait_until(lambda: n_written(model) >= 5, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not killed.exists()
        run(*given, killed)
        # Only what was under way when it was killed is asked again.
        assert n_written(model) <= 12 + 2
        run(*given, whole)
    assert killed.read_bytes() == whole.read_bytes()


def test_python_writes_the_same(written, alpha, beta, questions, tmp_path):
    named = of(alpha, beta)[1::2]
    found = ragassay.synthesize(questions, tmp_path / "python.jsonl", model=named, limit=3)
    assert found.file.read_bytes() == written.read_bytes()
    with pytest.raises(ragassay.errors.InputError, match="specified twice"):
        ragassay.synthesize(questions, tmp_path / "none.jsonl", model=named[:1] * 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'modle'"):
        ragassay.synthesize(questions, tmp_path / "none.jsonl", modle=named)  # type: ignore[call-arg]


async def test_python_writes_inside_a_loop(alpha, tmp_path):
    heard: list[ragassay.Event] = []
    rows = [{"question": "Does drug A help?", "sources": ["It does.", "It coughs."]}]
    found = await ragassay.asynthesize(
        rows, tmp_path / "a.jsonl", model=of(alpha)[1], progress=heard.append
    )
    assert len(found.records) == 1 and found.usage.n_calls == 1
    assert sum(event.n_records for event in heard) == 1

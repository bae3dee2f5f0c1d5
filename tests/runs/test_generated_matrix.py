"""Models that write syntheses and rate each other's, from a file of questions to a matrix."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.errors import InputError
from ragassay.formats import read_records
from ragassay.prompts import load_prompts
from ragassay.runs.evaluate import run_sync
from ragassay.runs.syntheses import (
    generator_settings,
    read_synthesis_jobs,
    write_answers,
    write_syntheses,
)
from ragassay.settings import load_settings
from ragassay.testing import Fault, Reply, ScriptedModel

pytestmark = pytest.mark.integration

TASK = load_prompts().agents["synthesizer"].task
PAPERS = [
    {"title": "Trial", "abstract": "Drug A lowered blood pressure by 5 mmHg in adults."},
    {"title": "Safety", "abstract": "Cough was seen in some patients."},
]


def writer(name: str) -> Reply:
    """Writes a synthesis where it is asked for one, else rates: its own with 5, others' with 3."""

    def reply(messages: Sequence[object], schema: object) -> dict[str, object]:
        text = "\n".join(str(m["content"]) for m in messages)  # type: ignore[index]
        if TASK[:40] in text:
            return {"synthesis": f"By {name}: drug A helps [1].\n\nSome patients cough [2]."}
        reason = "The answer names both findings of the papers."
        return {"rating": 5 if f"By {name}:" in text else 3, "rationale": reason}

    return reply


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(reply=writer("alpha")) as started:
        yield started


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """YESciEval's file of questions: three with papers, one without."""
    rows = [{"id": f"q{n}", "question": f"Does drug A help? {n}", "papers": PAPERS} for n in "123"]
    rows.append({"id": "q4", "question": "And drug B?", "papers": []})
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def settings_for(model: ScriptedModel, name: str = "openai/alpha") -> object:
    return generator_settings(load_settings(model=name, api_base=model.base_url, max_attempts=1))


def n_written(model: ScriptedModel) -> int:
    return sum(TASK[:40] in str(request.messages) for request in model.requests)


@pytest.fixture
def other() -> Iterator[ScriptedModel]:
    with ScriptedModel(reply=writer("beta")) as started:
        yield started


def command(
    alpha: ScriptedModel, beta: ScriptedModel, questions: Path, out: Path, *more: str
) -> tuple[int, str, str]:
    named = [f"openai/alpha@{alpha.base_url}", f"openai/beta@{beta.base_url}"]
    two = ["--generator", named[0], "--generator", named[1]]
    arguments = ["matrix", "--generate", str(questions), *two, "--out", str(out), *more]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_a_synthesis_is_an_answer_with_its_papers_as_sources(model, questions, tmp_path):
    found = read_synthesis_jobs(questions)
    assert ([job.topic for job in found.jobs], found.n_bare) == (["q1", "q2", "q3"], 1)
    states = tmp_path / "out" / "states"
    written = run_sync(write_syntheses(found.jobs, settings_for(model), states))
    assert [one.text for one in written] == 3 * [
        "By alpha: drug A helps [1]. Some patients cough [2]."
    ]
    assert all(one.usage.n_calls == 1 and not one.problem for one in written)
    write_answers(written, tmp_path / "answers.jsonl")
    (first, *_) = read_records(tmp_path / "answers.jsonl").records
    assert (first.topic, first.system, len(first.sources)) == ("q1", "openai/alpha", 2)
    sent = str(model.requests[0].messages)
    assert "[2] Safety. Cough was seen" in sent and "words: 200" in sent


def test_nothing_is_written_twice_and_what_failed_is_tried_again(questions, tmp_path):
    jobs, states = read_synthesis_jobs(questions).jobs, tmp_path / "states"
    with ScriptedModel(reply=writer("alpha"), faults=[Fault("junk", contains="help? 2")]) as broken:
        first = run_sync(write_syntheses(jobs, settings_for(broken), states))
    assert [bool(one.text) for one in first] == [True, False, True]
    assert first[1].problem.startswith("unparsable")
    with ScriptedModel(reply=writer("alpha")) as whole:
        second = run_sync(write_syntheses(jobs, settings_for(whole), states))
        assert n_written(whole) == 1
    assert all(one.text for one in second)
    assert second[0] == first[0]


def test_tokens_bound_what_is_begun(model, questions, tmp_path):
    jobs = read_synthesis_jobs(questions).jobs
    settings = settings_for(model).model_copy(update={"concurrency": 1})  # type: ignore[attr-defined]
    found = run_sync(write_syntheses(jobs, settings, tmp_path / "states", max_tokens=1))
    assert [one.problem for one in found] == ["", *2 * ["not begun: 1 tokens used"]]
    assert n_written(model) == 1


def test_questions_are_taken_from_answers_with_sources(tmp_path):
    rows = [
        {"id": "a", "topic": "t", "question": "Q?", "answer": "x", "sources": ["One.", "Two."]},
        {"id": "b", "topic": "t", "question": "Q?", "answer": "y", "sources": ["One.", "Three."]},
        {"id": "c", "topic": "u", "question": "R?", "answer": "z"},
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = read_synthesis_jobs(path)
    (job,) = found.jobs
    assert [source.text for source in job.sources] == ["One.", "Two.", "Three."]
    assert len({source.id for source in job.sources}) == 3
    assert (job.topic, found.n_bare) == ("t", 1)
    path.write_text(json.dumps(rows[2]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="no question with papers"):
        read_synthesis_jobs(path)


def test_every_generator_is_rated_by_every_judge(model, other, questions, tmp_path):
    out = tmp_path / "out"
    code, shown, errors = command(model, other, questions, out, "--limit", "2", "--json")
    assert code == 0, errors
    # Each writes two syntheses and rates all four on nine rubrics.
    for one in (model, other):
        assert (n_written(one), one.n_requests) == (2, 2 + 4 * 9)
    assert "answers.jsonl: 4 of 4 syntheses" in errors
    found = json.loads(shown)
    (matrix,) = found["matrices"]
    values = {(c["row"], c["column"]): c["value"] for c in matrix["cells"]}
    alpha, beta = "openai/alpha", "openai/beta"
    assert len(values) == 4
    # The expectation over the rating tokens, which the scripted model spreads a little.
    assert min(values[alpha, alpha], values[beta, beta]) > 4.5
    assert max(values[alpha, beta], values[beta, alpha]) < 3.5
    assert all(one["own_gap"]["value"] > 1 for one in found["self_preferences"])
    assert len(found["self_preferences"]) == 2
    assert (out / "index.html").exists() and (out / "matrix.csv").exists()
    n_requests = model.n_requests
    assert command(model, other, questions, out, "--limit", "2")[0] == 0
    assert model.n_requests == n_requests


def test_a_missing_synthesis_is_said_and_made_up_later(other, questions, tmp_path):
    out, faults = tmp_path / "out", [Fault("junk", contains="help? 2")]
    with ScriptedModel(reply=writer("alpha"), faults=faults) as broken:
        judge = ("--judge", f"openai/gamma@{other.base_url}")
        code, _, errors = command(broken, other, questions, out, *judge)
    assert code == 3
    assert "openai/alpha has no synthesis for 1 of 3 questions" in errors
    assert len(read_records(out / "answers.jsonl").records) == 5
    n_before = other.n_requests
    with ScriptedModel(reply=writer("alpha")) as whole:
        code, _, errors = command(whole, other, questions, out, *judge)
        assert code == 0, errors
        assert whole.n_requests == 1
    assert other.n_requests - n_before == 9


def test_a_dry_run_asks_nobody(model, other, questions, tmp_path):
    out = tmp_path / "out"
    more = ("--judge", f"openai/gamma@{other.base_url}", "--dry-run")
    code, shown, _ = command(model, other, questions, out, *more)
    assert code == 0
    assert "6 calls that write and at most 54 that rate" in " ".join(shown.split())
    assert model.n_requests == 0 and not out.exists()


def test_a_wrong_use_is_one_clear_line(model, other, questions, tmp_path):
    alone = CliRunner().invoke(
        app, ["matrix", "--generate", str(questions), "--generator", "openai/a"]
    )
    assert alone.exit_code == 1 and "twice or more" in alone.stderr
    twice = ("--generator", f"openai/alpha@{model.base_url}")
    code, _, errors = command(model, other, questions, tmp_path / "out", *twice)
    assert code == 1 and "openai/alpha is named twice" in errors
    without = CliRunner().invoke(app, ["matrix", "--generator", "openai/a"])
    assert without.exit_code == 1 and "go with --generate" in without.stderr


def test_the_released_questions_are_read(shared):
    found = read_synthesis_jobs(shared / "data" / "yescieval" / "bioasq-train-questions.jsonl.gz")
    assert (len(found.jobs), found.n_bare, found.rejections) == (51, 0, ())

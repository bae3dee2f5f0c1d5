"""`ragassay.run`: questions to an application, its answers evaluated, its retriever measured."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import ragassay
from ragassay.applications.asking import AskedQuestions, Asking, ask_all, use_of
from ragassay.applications.retrieval import OTHER, SUPPORTS, score_by_documents, score_by_nuggets
from ragassay.cli import app as command_line
from ragassay.errors import InputError, RunMismatchError, SettingsError
from ragassay.formats import read_records
from ragassay.records import ApplicationUse, Case, Document, Nugget, Record
from ragassay.runs.folder import RunFolder
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.usefixtures("no_embedding_model")

ROWS = [
    {"id": "a", "question": "Does drug A work?", "nuggets": ["Drug A lowers blood pressure."]},
    {"id": "b", "question": "Does drug B work?", "reference": "No.", "topic": "t2"},
]
SOURCES = [{"id": "11", "text": "Drug A lowered blood pressure."}, {"id": "12", "text": "Cough."}]
ONLY = {"only": ["rubrics"], "rubrics": ["cohesion"]}


class App:
    """Answers each question, and counts how often it was asked; it fails where it is told to."""

    def __init__(self, *failing: str) -> None:
        self.failing, self.asked = set(failing), Counter[str]()

    async def __call__(self, question: str) -> dict[str, Any]:
        self.asked[question] += 1
        if question in self.failing:
            raise ConnectionError("the index is down")
        return {"answer": f"{question} Yes [11].", "sources": SOURCES, "cost_usd": 0.5}


def questions(n: int) -> list[Record]:
    return [Record(id=f"q{i}", question=f"Question {i}?", answer="") for i in range(n)]


@pytest.mark.integration
def test_answers_are_evaluated_and_a_failed_question_is_a_failure(settings, tmp_path):
    app = App(ROWS[0]["question"])
    out = tmp_path / "run"
    results = ragassay.run(app, ROWS, out=out, settings=settings, **ONLY)
    assert [one.record_id for one in results] == ["b"]
    assert [(f.record_id, f.evaluator) for f in results.failed] == [("a", "ask")]
    assert results.failed[0].failure.reason == "connection"
    assert "the index is down" in (out / "report.html").read_text()
    assert results.scores["rubric.cohesion"].n == 1
    assert (results.summary.n_records, results.summary.n_failed) == (2, 1)
    use = results.summary.application
    assert use is not None and (use.n_asked, use.n_failed, use.n_priced) == (2, 1, 1)
    assert use.cost_usd == 0.5 and use.latency_p50_s is not None
    (kept,) = read_records(out / "answers.jsonl").records
    assert (kept.reference, kept.topic, kept.sources[0].id) == ("No.", "t2", "11")
    assert float(kept.metadata["latency_s"]) >= 0


@pytest.mark.integration
def test_what_was_answered_is_not_asked_again(settings, tmp_path):
    app = App(ROWS[0]["question"])
    given: Any = {"out": tmp_path, "settings": settings, **ONLY}
    first = ragassay.run(app, ROWS, **given)
    assert ragassay.run(app, ROWS, **given).summary == first.summary
    assert set(app.asked.values()) == {1}, "a failure is kept too"
    app.failing.clear()
    again = ragassay.run(app, ROWS, retry_failed=True, **given)
    assert app.asked == {ROWS[0]["question"]: 2, ROWS[1]["question"]: 1}
    assert [one.record_id for one in again] == ["a", "b"] and again.failed == ()
    assert ragassay.run(app, ROWS, **given).scores == again.scores
    with pytest.raises(RunMismatchError):
        ragassay.run(app, ["Another question?"], **given)
    with pytest.raises(RunMismatchError):
        ragassay.run(lambda question: "A.", ROWS, **given)


@pytest.mark.integration
async def test_nothing_answered_is_a_result_too(settings):
    texts = ["Q one?", "Q two?"]
    results = await ragassay.arun(App(*texts), texts, settings=settings, **ONLY)
    assert len(results) == 0 and len(results.failed) == 2
    with pytest.raises(ragassay.UnjudgedError, match="2 failures:\n  q1: ask: ConnectionError"):
        await ragassay.arun(App(*texts), texts, settings=settings, raise_on_failure=True, **ONLY)


@pytest.mark.integration
def test_the_retriever_is_measured_by_judged_documents(settings, tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("b 0 11 1\nb 0 13 1\n")
    for qrels in (path, {"b": {"11": 1, "13": 1}}):
        results = ragassay.run(App(), ROWS[1:], qrels=qrels, settings=settings, only=["retrieval"])
        assert results.scores["retrieval.precision"].value == 0.5
        assert results.scores["retrieval.recall"].value == 0.5
    with pytest.raises(InputError, match="qrels file not found"):
        ragassay.run(App(), ROWS, qrels=tmp_path / "none.txt", settings=settings)


@pytest.mark.integration
def test_the_retriever_is_measured_by_gold_nuggets():
    def reply(messages: Any, schema: Any) -> Any:
        shown = messages[-1]["content"]
        return {"verdict": "supports" if "Drug A lowered" in shown else "neutral"}

    with ScriptedModel(reply=reply) as model:
        settings = load_settings(model=model.model_name, api_base=model.base_url, verifier="judge")
        results = ragassay.run(App(), ROWS[:1], settings=settings, only=["retrieval"])
    assert results.failed == ()
    assert {name: score.n for name, score in results.scores.items()} == {
        "retrieval.precision": 1,
        "retrieval.recall": 1,
        "retrieval.nDCG": 1,
    }
    verdicts = results[0].find_verdicts("retrieval")
    assert [v.item for v in verdicts] == ["1/1", "1/2"]


def case_of(n_nuggets: int) -> Case:
    gold = tuple(Nugget(text=f"fact {n}") for n in range(n_nuggets))
    return Case(record_id="a", question="q", answer="a", sentences=(), gold=gold)


def test_shares_of_nuggets_and_sources_by_hand():
    # Nugget 1 is in source 2, nugget 2 in none, nugget 3 nobody knows of source 1.
    labels = {f"{n}/{m}": OTHER for n in (1, 2, 3) for m in (1, 2)}
    labels |= {"1/2": SUPPORTS}
    scores = score_by_nuggets(labels, case_of(3), 2, "v")
    assert scores["retrieval.precision"].value == 0.5  # of 2 sources, 1
    assert scores["retrieval.recall"].value == pytest.approx(1 / 3, abs=1e-4)
    # The only gain, 1, stands second: 1 / log2(3); first, it would be 1.
    assert scores["retrieval.nDCG"].value == pytest.approx(1 / math.log2(3), abs=1e-4)
    open_ = score_by_nuggets(labels | {"3/1": None}, case_of(3), 2, "v")
    assert (open_["retrieval.recall"].n, open_["retrieval.recall"].n_unscored) == (2, 1)
    assert (open_["retrieval.precision"].n, open_["retrieval.precision"].n_unscored) == (1, 1)
    assert open_["retrieval.nDCG"].value is None and open_["retrieval.nDCG"].n_unscored == 1
    nothing = score_by_nuggets(dict.fromkeys(labels, OTHER), case_of(3), 2, "v")
    assert {score.value for score in nothing.values()} == {0.0}


def test_judged_documents_by_hand():
    # Relevant: a, b, c. Retrieved: x, a (in two chunks). nDCG: (1/log2 3) / (1 + 1/log2 3 + 1/2).
    sources = [Document(id=name, text="") for name in ("x", "a", "a#2")]
    scores = score_by_documents({"a": 1, "b": 1, "c": 1, "x": 0}, sources)
    assert scores["retrieval.precision"].value == 0.5
    assert scores["retrieval.recall"].value == pytest.approx(1 / 3, abs=1e-4)
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert scores["retrieval.nDCG"].value == pytest.approx(1 / math.log2(3) / ideal, abs=1e-4)
    assert {score.value for score in score_by_documents({"a": 1}, []).values()} == {0.0}


async def test_no_more_questions_are_asked_at_once_than_allowed():
    running, most = 0, 0

    async def app(question: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "A."

    asked = await ask_all(app, "app", questions(7), Asking(at_once=3))
    assert (len(asked.answers), most) == (7, 3)


async def test_retries_are_made_only_when_asked_for():
    calls: list[str] = []

    async def app(question: str) -> str:
        calls.append(question)
        if len(calls) < 3:
            raise RuntimeError("busy")
        return "A."

    asked = await ask_all(app, "app", questions(1), Asking())
    assert asked.failures["q0"].failure.detail == "RuntimeError: busy"
    calls.clear()
    assert (await ask_all(app, "app", questions(1), Asking(retries=2))).failures == {}


async def test_every_kind_of_failure_is_named():
    async def app(question: str) -> Any:
        if question == "Question 0?":
            await asyncio.Event().wait()
        if question == "Question 3?":
            raise TimeoutError("the index took too long")
        return {"Question 1?": "  ", "Question 2?": 3}[question]

    asked = await ask_all(app, "app", questions(4), Asking(timeout_s=0.5))
    assert {i: f.failure.reason for i, f in asked.failures.items()} == {
        "q0": "timeout",
        "q1": "empty_answer",
        "q2": "unparsable",
        "q3": "timeout",
    }
    assert asked.failures["q0"].failure.detail == "no answer within 0.5 s"
    assert asked.failures["q3"].failure.detail == "TimeoutError: the index took too long"


async def test_parse_reads_what_is_not_known():
    def parse(reply: list[str]) -> dict[str, Any]:
        return {"answer": reply[0], "sources": reply[1:]}

    async def app(question: str) -> list[str]:
        return ["A [1].", "c1"]

    asked = await ask_all(app, "app", questions(1), Asking(parse=parse))
    assert asked.answers["q0"].sources == (Document(id="1", text="c1"),)


async def test_answers_are_kept_one_by_one(tmp_path):
    """A stop in between loses nothing: the next start asks the rest."""
    folder = RunFolder(tmp_path)
    first = App()
    await ask_all(first, "app", questions(2), Asking(), folder)
    second = App()
    asked = await ask_all(second, "app", questions(3), Asking(), folder)
    assert list(second.asked) == ["Question 2?"] and len(asked.answers) == 3
    with pytest.raises(RunMismatchError, match="contains answers from app, not from other"):
        await ask_all(App(), "other", questions(3), Asking(), folder)


def test_percentiles_cover_what_was_answered():
    told = [("0.1", "0.01"), ("0.2", None), ("0.3", "0.03")]
    records = {
        str(i): Record(
            id=str(i),
            question="q",
            answer="a",
            metadata={"latency_s": seconds} | ({"cost_usd": cost} if cost else {}),
        )
        for i, (seconds, cost) in enumerate(told)
    }
    found = use_of("app", AskedQuestions(records))
    # Linear between order statistics: the 95th of three is 0.2 + 0.9 * 0.1.
    assert (found.latency_p50_s, found.latency_p95_s) == (0.2, 0.29)
    assert (found.n_priced, found.cost_usd) == (2, pytest.approx(0.04))
    assert use_of("app", AskedQuestions()) == ApplicationUse(name="app", n_asked=0, n_failed=0)


@pytest.mark.parametrize(
    ("given", "name"),
    [({"at_once": 0}, "at_once"), ({"retries": -1}, "retries"), ({"timeout_s": 0}, "timeout_s")],
)
def test_numbers_out_of_bounds_are_refused(given, name):
    with pytest.raises(InputError, match=f"`{name}=` must be"):
        ragassay.run(App(), ["Q?"], **given)


@pytest.mark.integration
def test_the_command_line_asks_an_application(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    Path("their_rag.py").write_text(
        "def answer(question):\n"
        "    if 'B' in question:\n"
        "        raise RuntimeError('no \\x1b[31mB')\n"
        "    return {'answer': 'Yes [1].', 'sources': ['c1']}\n"
    )
    Path("questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    monkeypatch.setenv("RAGASSAY_JUDGE__MODEL", settings.judge.model)
    monkeypatch.setenv("RAGASSAY_JUDGE__API_BASE", settings.judge.api_base or "")
    call = [
        "run",
        "their_rag:answer",
        "questions.jsonl",
        "--only",
        "rubrics",
        "--rubric",
        "cohesion",
    ]
    result = CliRunner().invoke(command_line, call)
    assert result.exit_code == 3, result.output
    assert "b: RuntimeError: no \ufffd[31mB" in result.stderr
    assert "their_rag:answer answered 1 of 2 questions; half within" in result.stdout
    assert Path("runs/questions/report.html").exists()
    alone = ["run", "their_rag:answer", "questions.jsonl", "--only", "retrieval", "--out", "alone"]
    assert CliRunner().invoke(command_line, alone).exit_code == 3
    assert "retrieval.recall" in Path("alone/summary.json").read_text()
    below = CliRunner().invoke(command_line, [*call, "--fail-under", "cohesion=5", "--json"])
    assert below.exit_code == 4 and "below 5" in below.stderr
    assert json.loads(below.stdout)["application"]["n_asked"] == 2
    unknown = CliRunner().invoke(command_line, [*call, "--fail-under", "nuggets.recall=.5"])
    assert unknown.exit_code == 5 and "nuggets.recall could not be measured" in unknown.stderr
    unknown = CliRunner().invoke(command_line, [*call, "--fail-under", "cohesin=1"])
    assert unknown.exit_code == 1 and "--fail-under: unknown score 'cohesin'" in unknown.stderr


def test_the_retriever_is_no_part_of_an_evaluation_without_an_application():
    with pytest.raises(SettingsError, match="only: unknown part 'retrieval'"):
        ragassay.evaluate(question="Q?", answer="A.", only="retrieval")

"""Runs: what they write, how they go on, what they refuse."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT
from fakes import WordEmbedder

from ragassay.errors import FatalModelError, InputError, RunMismatchError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.graphs.case import convert_to_case
from ragassay.process import run_sync
from ragassay.records import Record, Turn
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import Job, RunResult, build_job, plan, read_job, run_job
from ragassay.runs.folder import (
    RunFolder,
    append_line,
    read_lines,
    write_atomically,
    write_lines,
    write_pieces,
)
from ragassay.settings import load_settings
from ragassay.testing import Fault, ScriptedModel

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]


def run_for(model: ScriptedModel, job: Job, **options: object) -> Run:
    named = {"model": model.model_name, "api_base": model.base_url, "reranker": "none"}
    settings = load_settings(**named, **options)
    return build_run(settings, job.corpus).with_models(embedder=WordEmbedder())


async def run_in(folder: RunFolder, model: ScriptedModel, job: Job, **options: object) -> RunResult:
    return await run_job(job, run_for(model, job, **options), folder)


RUBRICS = {"only": ("rubrics",)}
COHESION = RUBRICS | {"rubrics": ("cohesion",)}


@pytest.fixture(scope="module")
def job(sample) -> Job:
    return read_job(sample / "answers.jsonl", sample / "abstracts.jsonl", limit=2)


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    return RunFolder(tmp_path / "run")


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "records.jsonl"


@dataclass
class Finished:
    """A run of the job with all that there is to ask."""

    model: ScriptedModel
    folder: RunFolder
    run: Run
    result: RunResult
    n_asked: int


@pytest.fixture(scope="module")
def finished(job, tmp_path_factory) -> Iterator[Finished]:
    folder = RunFolder(tmp_path_factory.mktemp("finished") / "run")
    with ScriptedModel() as model:
        run = run_for(model, job)
        yield Finished(model, folder, run, run_sync(run_job(job, run, folder)), model.n_requests)


def test_a_run_folder_holds_what_the_run_came_to(job, finished):
    folder, result = finished.folder, finished.result
    assert [e.record_id for e in folder.read_evaluations()] == [r.id for r in job.records]
    assert folder.read_evaluations() == result.evaluations
    assert folder.read_summary() == result.summary
    manifest = json.loads(folder.manifest_file.read_text())
    assert manifest["judge"] == "openai/scripted"
    assert manifest["answers"]["sha256"]
    assert "127.0.0.1" not in folder.manifest_file.read_text()
    page = (folder.path / "report.html").read_text()
    assert all(record.id in page for record in job.records)
    assert (folder.path / "report.md").read_text().startswith("#")


async def test_the_same_run_again_asks_nothing(job, finished):
    again = await run_job(job, run_for(finished.model, job), finished.folder)
    assert finished.model.n_requests == finished.n_asked
    assert again.evaluations == finished.result.evaluations


async def test_a_run_with_a_limit_is_continued_without_it(sample, folder):
    with ScriptedModel() as model:
        short, longer = (read_job(sample / "answers.jsonl", limit=n) for n in (1, 2))
        await run_in(folder, model, short, **RUBRICS)
        n_asked = model.n_requests
        result = await run_in(folder, model, longer, **RUBRICS)
        assert len(result.evaluations) == 2
        second = {r.key for r in model.requests[n_asked:]}
        assert not second & {r.key for r in model.requests[:n_asked]}


async def test_a_folder_from_before_a_setting_had_its_default(job, folder):
    with ScriptedModel() as model:
        await run_in(folder, model, job, **COHESION)
        noted = json.loads(folder.manifest_file.read_text(encoding="utf-8"))
        del noted["settings"]["samples"]
        folder.manifest_file.write_text(json.dumps(noted), encoding="utf-8")
        await run_in(folder, model, job, **COHESION)
        with pytest.raises(RunMismatchError, match="samples"):
            await run_in(folder, model, job, **COHESION, samples=3)


async def test_a_folder_of_another_run_is_refused(job, folder):
    with ScriptedModel() as model:
        await run_in(folder, model, job, **COHESION)
        with pytest.raises(RunMismatchError, match="rubrics"):
            await run_in(folder, model, job, **RUBRICS, rubrics=("coherence",))


async def test_a_wrong_key_stops_and_the_run_goes_on_with_the_right_one(job, folder):
    wrong = Fault("unauthorized", contains="rubric: relevancy.")
    with ScriptedModel(faults=[wrong]) as model, pytest.raises(FatalModelError):
        await run_in(folder, model, job, **RUBRICS)
    with ScriptedModel() as model:
        result = await run_in(folder, model, job, **RUBRICS)
    assert result.summary.n_evaluated == 2
    assert not [j.failure for e in result.evaluations for j in e.judgments if j.failure]
    assert not result.summary.findings.get("unscored")


async def test_a_record_that_cannot_be_evaluated_is_a_failure_beside_the_others(folder):
    records = [
        Record(id="long", question="q", answer="A sentence. " * 300),
        Record(id="fine", question="q", answer="Aspirin thins blood."),
    ]
    with ScriptedModel() as model:
        result = await run_in(folder, model, build_job(records, Corpus()), **RUBRICS)
    assert [e.record_id for e in result.evaluations] == ["fine"]
    (failure,) = folder.read_failures()
    assert failure.record_id == "long"
    assert "300 sentences" in failure.failure.detail
    assert result.summary.n_failed == 1


async def test_unscored_verdicts_are_tried_again_when_asked(job, folder):
    with ScriptedModel(faults=[Fault("refusal", contains="rubric: cohesion.")]) as model:
        result = await run_in(folder, model, job, **RUBRICS)
        assert result.summary.scores["rubric.cohesion"].n_unscored == 2
    with ScriptedModel() as model:
        folder.forget_failures()
        result = await run_in(folder, model, job, **RUBRICS)
        assert result.summary.scores["rubric.cohesion"].n == 2
        assert model.n_requests == 2, "only what had failed is asked for again"


async def test_two_processes_cannot_run_in_one_folder(job, finished):
    folder, manifest = finished.folder, finished.result.manifest
    with folder.open_locked(manifest), pytest.raises(InputError, match="another process"):
        await run_job(job, finished.run, RunFolder(folder.path))


def test_a_plan_counts_the_calls_that_the_run_then_takes_at_most(job, finished):
    found = plan(job, finished.run)
    cases = [convert_to_case(record, finished.run.settings, job.corpus) for record in job.records]
    sentences = [sentence for case in cases for sentence in case.sentences]
    # A citation may share its verdict; a sentence may need no second round and, where all that
    # was found speaks for it, no passage against it.
    n_spared = sum(len(s.citations) for s in sentences) + 2 * len(sentences)
    assert found.n_calls - n_spared <= finished.n_asked <= found.n_calls
    assert found.n_shared_tokens / found.n_prompt_tokens > 0.8


async def test_run_sync_works_inside_a_running_loop():
    async def answer() -> int:
        return 42

    assert run_sync(answer()) == 42


def test_a_line_cut_off_by_a_kill_is_dropped(file):
    record = Record(id="a", question="q", answer="x")
    append_line(file, record)
    with file.open("ab") as out:
        out.write(b'{"id": "b", "quest')
    assert read_lines(file, Record) == [record]
    append_line(file, record.model_copy(update={"id": "c"}))
    assert [r.id for r in read_lines(file, Record)] == ["a", "c"]


def test_a_damaged_line_is_named(file):
    write_atomically(file, '{"id": 1}\n')
    with pytest.raises(InputError, match=r"records\.jsonl is damaged"):
        read_lines(file, Record)


def test_two_processes_may_write_one_file_at_once(tmp_path):
    # pytest-xdist's workers do, where they evaluate by the same settings.
    file = tmp_path / "manifest.json"
    other = "from ragassay.runs.folder import write_atomically as w; w(Path(sys.argv[1]), 'other')"

    def pieces():
        yield "ou"
        program = f"import sys; from pathlib import Path; {other}"
        subprocess.run([sys.executable, "-c", program, str(file)], check=True, timeout=120)
        assert file.read_text() == "other"
        yield "rs"

    write_pieces(file, pieces())
    assert [one.name for one in tmp_path.iterdir()] == ["manifest.json"]
    assert file.read_text() == "ours"


def test_writing_no_record_leaves_no_file(file):
    write_lines(file, [Record(id="a", question="q", answer="x")])
    write_lines(file, [])
    assert not file.exists()


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(InputError, match="has no run"):
        RunFolder(tmp_path).read_manifest()


def test_a_run_that_is_killed_ends_as_if_it_had_not_been(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    kill_resume = importlib.import_module("kill_resume")
    job = kill_resume.COMMANDS["evaluate"](tmp_path, 2, ("rubrics", "sentences"))
    found = kill_resume.measure(job, tmp_path, n_kills=1, latency_s=0.05, seed=7)
    assert found["equal"]
    assert found["finished_and_asked_again"] == 0
    assert found["kills"] >= 1


def test_a_run_says_how_many_answers_carry_reasoning():
    plain = Record(id="a", question="Q?", answer="It fell.")
    thinking = plain.model_copy(update={"answer": "<think>Hm.</think> It fell."})
    one, two = (thinking.model_copy(update={"id": name}) for name in "bc")
    notes = [build_job(records, Corpus()).notes for records in ([plain], [plain, one], [one, two])]
    assert notes == [
        (),
        ("1 answer contains reasoning, which was not judged.",),
        ("2 answers contain reasoning, which was not judged.",),
    ]


def test_judges_read_an_answer_without_its_reasoning_and_with_earlier_turns():
    turns = (Turn(role="user", text="What is zelcoline?"), Turn(role="assistant", text="A drug."))
    answer = "<think>It may rise.</think> It falls [1]."
    record = Record(id="a", question="What does it do?", answer=answer, turns=turns)
    case = convert_to_case(record, load_settings(), Corpus())
    assert "It may rise" not in case.context
    assert case.context.index("user: What is zelcoline?") < case.context.index("What does it do?")
    (statement,) = case.sentences
    assert case.answer[statement.start : statement.end] == "It falls [1]."

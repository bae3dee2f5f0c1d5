"""Runs in a Ray cluster on this machine: the files of a local run, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import ROOT
from synthesizing import PAPERS, n_written, writer
from tiny_verifiers import tiny_alignscore, tiny_inference

import ragassay
from ragassay.errors import BudgetError, FatalModelError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.records import Evaluation, Record, Usage
from ragassay.runs.evaluate import Job, RunResult, build_job, read_job, run_job
from ragassay.runs.folder import RunFolder
from ragassay.runs.progress import Event
from ragassay.settings import load_settings
from ragassay.studies.syntheses import Syntheses
from ragassay.testing import Fault, ScriptedModel

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

SAME = ("evaluations.jsonl", "summary.json", "run.json", "report.html", "report.md")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """One cluster for all tests: it takes seconds to start."""
    ray = pytest.importorskip("ray", reason="ragassay[ray] is not installed")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    ray.init(
        "local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error"
    )
    yield
    ray.shutdown()


@pytest.fixture
def job() -> Job:
    folder = ROOT / "examples" / "sample"
    return read_job(folder / "answers.jsonl", folder / "abstracts.jsonl", limit=4)


def run_for(model: ScriptedModel, job: Job, engine: str = "ray", **options: object) -> Run:
    settings = load_settings(
        model=model.model_name, api_base=model.base_url, engine=engine, workers=2, **options
    )
    return build_run(settings, job.corpus)


async def judged(job: Job, run: Run, out: Path) -> RunResult:
    return await run_job(job, run, RunFolder(out))


@pytest.mark.long
async def test_by_the_shipped_models_the_files_are_those_of_a_local_run(job, tmp_path):
    two = build_job(job.records[:2], job.corpus)
    for engine in ("local", "ray"):
        run = build_run(load_settings(engine=engine, workers=2, signals=True), job.corpus)
        await judged(two, run, tmp_path / engine)
    check_same_files(tmp_path)


@pytest.mark.long
async def test_with_all_that_a_judge_is_asked_the_files_are_those_of_a_local_run(job, tmp_path):
    two = build_job(job.records[:2], job.corpus)
    for engine in ("local", "ray"):
        with ScriptedModel() as model:
            await judged(two, run_for(model, two, engine), tmp_path / engine)
    check_same_files(tmp_path)


async def test_equal_answers_are_judged_once_and_either_engine_goes_on_with_the_other_s(
    job, tmp_path
):
    def copies(n: int) -> Job:
        """Two copies of each of the first records."""
        pairs = [(record, copy) for copy in range(2) for record in job.records[:n]]
        named = [one.model_copy(update={"id": f"{one.id}-{copy}"}) for one, copy in pairs]
        return build_job(named, job.corpus)

    async def n_asked(n: int, engine: str, folder: Path, events: list[Event]) -> int:
        """Judge the copies of n records with a folder's verdicts; return the number of requests."""
        for name in SAME:
            (folder / name).unlink(missing_ok=True)
        given = copies(n)
        with ScriptedModel() as model:
            run = run_for(model, given, engine, only=("rubrics",))
            await run_job(given, run, RunFolder(folder), events.append)
            return model.n_requests

    local, ray = tmp_path / "local", tmp_path / "ray"
    totals = []
    for engine in ("local", "ray"):
        events: list[Event] = []
        assert await n_asked(2, engine, tmp_path / engine, events) == 2 * 9
        total = sum(events, Event())
        totals.append((total.n_expected, total.n_calls, total.n_records, total.usage))
    assert totals[0] == totals[1]
    check_same_files(tmp_path)
    assert await n_asked(3, "local", ray, []) == 9, "two records were judged in the cluster"
    assert await n_asked(4, "ray", ray, []) == 9, "three were judged, by either engine"
    await n_asked(4, "local", local, [])
    check_same_files(tmp_path)


def check_same_files(folder: Path) -> None:
    for name in SAME:
        here, there = (folder / engine / name for engine in ("local", "ray"))
        assert here.read_bytes() == there.read_bytes(), name


async def test_by_the_models_of_the_node_the_files_are_those_of_a_local_run(job, tmp_path):
    two = build_job(job.records[:2], job.corpus)
    checkpoint, base = tiny_alignscore(tmp_path)
    named = {
        "verifier": tiny_inference(tmp_path / "nli"),
        "correctness": f"alignscore:{checkpoint}@{base}",
        "only": ("citations", "correctness"),
    }
    for engine in ("local", "ray"):
        run = build_run(load_settings(engine=engine, workers=2, **named), job.corpus)
        await judged(two, run, tmp_path / engine)
    check_same_files(tmp_path)


async def test_without_a_folder_too_a_lost_worker_costs_what_it_had_under_way(job, tmp_path):
    mark = tmp_path / "once"
    mark.touch()
    run = deadly_run(job, job.records[1], mark, is_always=False)
    result = await run_job(job, run, None)
    assert not mark.exists(), "a worker was lost"
    assert not result.failures
    assert all(isinstance(evaluation, Evaluation) for evaluation in result.evaluations)
    assert [e.record_id for e in result.evaluations] == [r.id for r in job.records]


async def test_a_record_that_costs_every_worker_its_life_fails_alone(job, tmp_path):
    mark = tmp_path / "always"
    mark.touch()
    run = deadly_run(job, job.records[1], mark, is_always=True)
    result = await judged(job, run, tmp_path / "run")
    (failure,) = result.failures
    assert failure.record_id == job.records[1].id
    assert "the worker that processed it was lost 3 times" in failure.failure.detail
    assert len(result.evaluations) == len(job.records) - 1


async def test_a_wrong_key_ends_the_run_with_its_error(job, tmp_path):
    with ScriptedModel(faults=[Fault("unauthorized")]) as model:
        with pytest.raises(FatalModelError, match="openai/scripted"):
            await judged(job, run_for(model, job, only=("rubrics",)), tmp_path / "run")


async def test_money_is_bounded_over_all_workers(job, tmp_path):
    with ScriptedModel() as model:
        run = run_for(model, job, only=("rubrics",), max_usd=1e-9)
        with pytest.raises(BudgetError, match="max_usd"):
            await judged(job, run, tmp_path / "run")
        assert model.n_requests < 9 * len(job.records)


def deadly_run(job: Job, deadly: Record, mark: Path, *, is_always: bool) -> Run:
    """An evaluator that kills its worker at one record: always, or where it takes away the mark."""

    @ragassay.evaluator(labels=("fine", "poor"))
    async def is_fine(case):
        if case.record_id == deadly.id and mark.exists():
            if not is_always:
                mark.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return "fine"

    settings = load_settings(engine="ray", workers=2, only=("is_fine",))
    return build_run(settings, job.corpus, evaluators=[is_fine])


def questions(n: int) -> list[dict[str, Any]]:
    """Questions, of which the last is the first again."""
    rows = [{"id": f"q{i}", "question": f"Does drug A help? {i}"} for i in range(n - 1)]
    again = {**rows[0], "id": f"q{n - 1}"}
    sources = [f"{paper['title']}. {paper['abstract']}" for paper in PAPERS]
    return [{**row, "sources": sources} for row in (*rows, again)]


async def written(
    file: Path,
    engine: str,
    models: Sequence[ScriptedModel],
    n: int = 6,
    listen: Any = False,
    **how: Any,
) -> Syntheses:
    """Have models, named alpha and beta, write into a file."""
    names = zip(("alpha", "beta"), models, strict=False)
    base = load_settings(max_attempts=1)
    named = [f"openai/{name}@{model.base_url}" for name, model in names]
    spread: Any = {"engine": engine, "workers": 2, "concurrency": 2, "model": named}
    return await ragassay.asynthesize(
        questions(n), file, settings=base, progress=listen, **how, **spread
    )


async def test_the_file_is_that_of_a_local_run_and_each_engine_goes_on_with_the_other_s(tmp_path):
    found: dict[str, tuple[Syntheses, Any]] = {}
    with (
        ScriptedModel(reply=writer("alpha"), faults=[Fault("junk", contains="help? 2")]) as alpha,
        ScriptedModel(reply=writer("beta")) as beta,
    ):
        models, files = (alpha, beta), {e: tmp_path / e / "a.jsonl" for e in ("local", "ray")}
        for engine, file in files.items():
            events: list[Event] = []
            result = await written(file, engine, models, listen=events.append)
            told = sum(events, Event())
            found[engine] = result, (told.n_expected, told.n_calls, told.n_records, told.usage)
        n_asked = alpha.n_requests, beta.n_requests
        for engine, other in (("local", "ray"), ("ray", "local")):
            whole = files[other].read_bytes()
            await written(files[other], engine, models)
            assert files[other].read_bytes() == whole
        assert (alpha.n_requests, beta.n_requests) == n_asked, "nothing is asked twice"
        bounded = await written(tmp_path / "b.jsonl", "ray", (beta,), words=50, max_tokens=1)
        assert n_asked[1] < beta.n_requests <= n_asked[1] + 2, "a call of each worker"
        limited = "not started, because the limit of 1 tokens was reached"
        assert limited in {one.problem for one in bounded.failed}
    (here, told_here), (there, told_there) = found["local"], found["ray"]
    assert files["local"].read_bytes() == files["ray"].read_bytes()
    assert here.syntheses == there.syntheses and told_here == told_there
    assert [one.question.id for one in there.failed] == ["q2"]
    # Both engines together asked so often; calls that failed are on the bill.
    assert 2 * sum((one.usage for one in there.syntheses), Usage()).n_calls == sum(n_asked)


@pytest.mark.long
async def test_a_lost_worker_costs_nothing_that_was_written(tmp_path):
    replies, lost = writer("alpha"), []

    def deadly(messages: Any, schema: object) -> Any:
        if "help? 4" in str(messages) and not lost:
            lost.append(kill_a_worker())
        return replies(messages, schema)

    with ScriptedModel(reply=deadly, latency_s=0.5) as alpha:
        there = await written(tmp_path / "ray" / "a.jsonl", "ray", (alpha,), n=9)
        assert lost == [True]
        # Eight questions, and what the lost worker had under way or had not delivered.
        assert 8 <= n_written(alpha) <= 8 + 2
        await written(tmp_path / "local" / "a.jsonl", "local", (alpha,), n=9)
    assert not there.failed
    files = [tmp_path / engine / "a.jsonl" for engine in ("local", "ray")]
    assert files[0].read_bytes() == files[1].read_bytes()


def kill_a_worker() -> bool:
    """Kill one of the processes that work on a shard."""
    for process in psutil.Process().children(recursive=True):
        if process.cmdline()[:1] == ["ray::work_on_shard"]:
            os.kill(process.pid, signal.SIGKILL)
            return True
    return False

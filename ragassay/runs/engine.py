"""Judge answers in this process or in a cluster, and resume interrupted runs."""

from __future__ import annotations

import asyncio
import traceback
import warnings
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ragassay.errors import (
    FatalModelError,
    ModelError,
    RagassayError,
    StorageError,
    raise_ungrouped,
)
from ragassay.evaluators.base import Run
from ragassay.evaluators.cases import OpenCases
from ragassay.graphs.case import Input, hash_record, start_case
from ragassay.graphs.evaluate import EvaluateGraph, build_evaluate_graph
from ragassay.model_names import is_on_vllm, is_ragassay_model
from ragassay.models.batches import batch_calls
from ragassay.models.call_reply import compute_unbooked_usage
from ragassay.models.computed import cache_results
from ragassay.models.gateway import Meter, meter_calls
from ragassay.models.limiter import Limiter, limit_calls
from ragassay.process import delay_collection
from ragassay.records import (
    FAILED_CALLS,
    Compact,
    CompactEvaluations,
    Evaluation,
    Failure,
    Record,
    RecordFailure,
    Usage,
)
from ragassay.runs.folder import RunFolder, append_line
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import count_spent, write_spent
from ragassay.safe_text import hide_secrets
from ragassay.store import open_store
from ragassay.tracing import open_answer_span, trace_run

if TYPE_CHECKING:
    from ragassay.runs.distributed.worker import Outbox

N_LOCAL_IN_FLIGHT = 2
"""Number of concurrent answers with the embedded judge, which judges one while the next is
prepared."""

NOT_RESUMED = (
    "the run uses batch without out, so if it is stopped, batches that were paid for are lost; set "
    "out=FOLDER to keep them"
)

Keep = Callable[[Evaluation | RecordFailure], None]
"""Function that stores the result of a record."""


@dataclass
class RunOutcome:
    """Evaluations and failures of a run, keyed by record id."""

    evaluations: dict[str, Compact] = field(default_factory=dict)
    failures: dict[str, RecordFailure] = field(default_factory=dict)

    def add(self, result: Evaluation | RecordFailure) -> None:
        """Add the evaluation or failure of a record."""
        if isinstance(result, Evaluation):
            self.evaluations[result.record_id] = Compact.from_evaluation(result)
        else:
            self.failures[result.record_id] = result

    def list_evaluations(self, ids: Sequence[str]) -> CompactEvaluations:
        """Return the existing evaluations of the given records, in order."""
        return CompactEvaluations(self.evaluations[i] for i in ids if i in self.evaluations)


async def run_records(
    records: Sequence[Record],
    run: Run,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
) -> RunOutcome:
    """Judge records locally or in a cluster, as set in the settings.

    Args:
        records: Records with distinct ids.
        folder: Run folder. Work that is finished in it is not repeated.

    Raises:
        FatalModelError: The judge is unavailable, or the cost limit is reached. Finished work is
            kept on disk.
        StorageError: The disk is full, or a file in the folder is damaged. Finished work is kept on
            disk.
    """
    outcome = _read_finished(records, run, folder)
    waiting = [r for r in records if r.id not in outcome.evaluations | outcome.failures]
    listen(Event(n_records=len(records) - len(waiting), phase="loading models"))

    def keep(result: Evaluation | RecordFailure) -> None:
        outcome.add(result)
        if folder is not None:
            is_evaluation = isinstance(result, Evaluation)
            file = folder.evaluations_file if is_evaluation else folder.failures_file
            # Not synced, like the store: survives a killed process but not a machine crash.
            append_line(file, result, is_synced=False)
            write_spent(folder.spent_file, run.limiter, is_synced=False)

    path = folder.verdicts_file if folder else None
    try:
        if run.settings.limits.engine == "ray":
            from ragassay.runs.distributed.driver import work_in_cluster

            await work_in_cluster(waiting, run, Judging(), path, keep, listen)
        else:
            literature = run.settings.literature
            cache = cache_results(literature.cache_dir / "computed", literature.computed_mb)
            with open_store(path) as store, cache:
                local = replace(run, store=store)
                async with _batch_calls(run, folder, listen):
                    await judge_records(waiting, local, keep, listen)
    finally:
        if folder is not None:
            write_spent(folder.spent_file, run.limiter)
    return outcome


@dataclass(frozen=True)
class Judging:
    """The kind of work in which workers judge answers. See `WorkKind`."""

    def compute_identity(self, run: Run) -> str:
        """Return a hash of everything that the results depend on, except the records."""
        return run.identity

    async def work_on_records(
        self, records: Sequence[Record], run: Run, outbox: Outbox, limiter: Limiter
    ) -> None:
        """Judge the answers as in a local run."""
        await judge_records(records, run, outbox.keep, outbox.listen, limiter)

    def fail_record(self, record: Record, detail: str) -> RecordFailure:
        """Return the failure of a record."""
        failure = Failure(reason="error", detail=detail)
        return RecordFailure(record_id=record.id, stage="evaluate", failure=failure)


async def judge_records(
    records: Sequence[Record],
    run: Run,
    keep: Keep,
    listen: Listener,
    limiter: Limiter | None = None,
) -> None:
    """Judge answers in this process.

    Args:
        run: Configuration and services of the run. Work that is finished in its store is not
            repeated.
        limiter: Limiter of model calls. By default, the limiter of the run.

    Raises:
        FatalModelError: The judge is unavailable, or the cost limit is reached.
        StorageError: Finished work cannot be stored.
    """
    run = replace(run, open_cases=OpenCases())
    graph = build_evaluate_graph(run.settings.judge.max_attempts, run.registered)
    slots = asyncio.Semaphore(_choose_max_in_flight(run))
    is_traced, has_content = run.settings.output.tracing, run.settings.output.tracing_content
    with (
        delay_collection(),
        limit_calls(limiter or run.limiter),
        raise_ungrouped(FatalModelError, StorageError),
    ):
        async with trace_run(is_traced, has_content), asyncio.TaskGroup() as group:
            judge = AnswerJudge(run, graph, slots, keep, listen)
            for record in records:
                group.create_task(judge.judge_answer(record))


def _choose_max_in_flight(run: Run) -> int:
    has_local = any(
        is_ragassay_model(name) and not is_on_vllm(name) for name in run.settings.judge.judges
    )
    limit = N_LOCAL_IN_FLIGHT if has_local else run.settings.n_slots
    if run.settings.limits.batch:  # A batch contains the calls of all answers.
        limit = run.n_slots
    return max(2, limit)


@dataclass(frozen=True)
class AnswerJudge:
    """Judges answers concurrently.

    Attributes:
        slots: Semaphore that limits the number of concurrent answers.
    """

    run: Run
    graph: EvaluateGraph
    slots: asyncio.Semaphore
    keep: Keep
    listen: Listener

    async def judge_answer(self, record: Record) -> None:
        """Judge one answer. An error becomes a failure of the record, unless it is fatal."""
        async with self.slots:
            meter, booked, values = Meter(), Usage(), dict[str, Any]()
            try:
                with meter_calls() as meter, open_answer_span(record) as note:
                    open_case = await start_case(record, self.run)
                    # Each judge limits its own calls, so LangGraph needs no concurrency limit.
                    stream: AsyncIterator[Any] = self.graph.astream(
                        Input(case=open_case.id),
                        context=self.run,
                        stream_mode=["custom", "values"],
                        subgraphs=True,
                    )
                    async for subgraph, mode, chunk in stream:
                        if mode == "custom":
                            self.listen(_build_event(chunk, record.id))
                            booked += chunk.get("usage", Usage())
                        elif not subgraph:
                            values = chunk
                    failed = compute_unbooked_usage(meter.usage, booked)
                    self.listen(Event(usage=failed))
                    evaluation = values.get("evaluation")
                    if evaluation is None:
                        raise RagassayError("the graph ended without an evaluation")
                    result = _add_failed_calls(evaluation, failed)
                    note(result)
            except StorageError:
                raise
            except Exception as error:
                if self.run.fatal is not None:
                    raise self.run.fatal from error
                self.run.open_cases.close(hash_record(self.run, record))
                result = _build_failure(record, error, meter.usage)
            self.keep(result)
            self.listen(Event(n_records=1))


def _add_failed_calls(evaluation: Evaluation, failed: Usage) -> Evaluation:
    if not failed.n_calls:
        return evaluation
    by_part = evaluation.usage_by_part | {FAILED_CALLS: failed}
    return evaluation.model_copy(
        update={"usage": evaluation.usage + failed, "usage_by_part": by_part}
    )


def _build_event(chunk: dict[str, Any], answer: str) -> Event:
    return Event(
        n_expected=chunk.get("expected", 0),
        n_calls=chunk.get("done", 0),
        usage=chunk.get("usage", Usage()),
        phase=chunk.get("phase", ""),
        answer=answer,
    )


def _build_failure(record: Record, error: Exception, usage: Usage) -> RecordFailure:
    reason = error.reason if isinstance(error, ModelError) else "error"
    detail = hide_secrets(str(error))[:400]
    if not isinstance(error, RagassayError):
        frame = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {detail} ({frame.name}, line {frame.lineno})"
    return RecordFailure(
        record_id=record.id,
        stage="evaluate",
        failure=Failure(reason=reason, detail=detail),
        usage=usage,
    )


@asynccontextmanager
async def _batch_calls(run: Run, folder: RunFolder | None, listen: Listener) -> AsyncIterator[None]:
    """Use the provider's batch API for the calls made inside the context, if the setting is on."""
    if not run.settings.limits.batch:
        yield
        return
    if folder is None:
        warnings.warn(NOT_RESUMED, stacklevel=2)
    path = folder.path if folder else None
    async with batch_calls(path, run.limiter, lambda phase: listen(Event(phase=phase))):
        yield


def _read_finished(records: Sequence[Record], run: Run, folder: RunFolder | None) -> RunOutcome:
    outcome = RunOutcome()
    if folder is None:
        return outcome
    wanted = {record.id: hash_record(run, record) for record in records}
    earlier: list[Usage] = []
    for evaluation in folder.iter_evaluations():
        if wanted.get(evaluation.record_id) == evaluation.fingerprint:
            outcome.add(evaluation)
            earlier.append(evaluation.usage)
    count_spent(folder.spent_file, run.limiter, earlier)
    for failure in folder.read_failures():
        if failure.record_id in wanted:
            outcome.add(failure)
    return outcome

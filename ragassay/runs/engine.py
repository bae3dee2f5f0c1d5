"""Judge records, here or in a cluster; a killed run continues from what it had finished."""

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
from ragassay.graphs.case import Input, fingerprint, open_case_of
from ragassay.graphs.evaluate import EvaluateGraph, build_evaluate_graph
from ragassay.model_names import is_on_vllm, is_ours
from ragassay.models.batches import batching
from ragassay.models.call_reply import unbooked_usage
from ragassay.models.computed import computed_in
from ragassay.models.gateway import Meter, meter_calls
from ragassay.models.limiter import Limiter, limit_calls
from ragassay.process import patient_collector
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
from ragassay.safe_text import without_secrets
from ragassay.store import opened_store
from ragassay.tracing import answer_span, traced_run

if TYPE_CHECKING:
    from ragassay.runs.distributed.hub import Outbox

N_LOCAL_IN_FLIGHT = 2
"""Concurrent answers with the embedded judge: one is judged while the next is prepared."""

NOT_RESUMED = (
    "batch without out: if this run is stopped, its batches are lost and paid for; out=FOLDER "
    "keeps them"
)

Keep = Callable[[Evaluation | RecordFailure], None]
"""Keeps the result of a record as soon as there is one."""


@dataclass
class RunOutcome:
    """Evaluations and failures of the records, by id."""

    evaluations: dict[str, Compact] = field(default_factory=dict)
    failures: dict[str, RecordFailure] = field(default_factory=dict)

    def add(self, result: Evaluation | RecordFailure) -> None:
        """Add the result of a record."""
        if isinstance(result, Evaluation):
            self.evaluations[result.record_id] = Compact.of(result)
        else:
            self.failures[result.record_id] = result

    def in_order(self, ids: Sequence[str]) -> CompactEvaluations:
        """Return the evaluations of those of some records that have one."""
        return CompactEvaluations(self.evaluations[i] for i in ids if i in self.evaluations)


async def run_records(
    records: Sequence[Record],
    tools: Run,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
) -> RunOutcome:
    """Judge records, here or in a cluster, as the settings say.

    Args:
        records: Records with distinct ids.
        tools: The graph's tools.
        folder: The folder of finished work, which is not repeated.
        listen: Receives progress events.

    Raises:
        FatalModelError: The judge is unavailable, or the money is spent; finished work is kept.
        StorageError: The disk is full, or a file of the folder is damaged; finished work is kept.
    """
    outcome = _read_finished(records, tools, folder)
    waiting = [r for r in records if r.id not in outcome.evaluations | outcome.failures]
    listen(Event(n_records=len(records) - len(waiting), phase="loading models"))

    def keep(result: Evaluation | RecordFailure) -> None:
        outcome.add(result)
        if folder is not None:
            is_evaluation = isinstance(result, Evaluation)
            file = folder.evaluations_file if is_evaluation else folder.failures_file
            # Not synced, like the store: a crash of the machine can lose it, a killed process not.
            append_line(file, result, is_synced=False)
            write_spent(folder.spent_file, tools.limiter, is_synced=False)

    path = folder.verdicts_file if folder else None
    try:
        if tools.settings.limits.engine == "ray":
            from ragassay.runs.distributed.driver import work_in_cluster

            await work_in_cluster(waiting, tools, Judging(), path, keep, listen)
        else:
            literature = tools.settings.literature
            kept = computed_in(literature.cache_dir / "computed", literature.computed_mb)
            with opened_store(path) as store, kept:
                mine = replace(tools, store=store)
                async with _batching(tools, folder, listen), judging(mine, keep, listen) as judge:
                    for record in waiting:
                        judge.group.create_task(judge.answer(record))
    finally:
        if folder is not None:
            write_spent(folder.spent_file, tools.limiter)
    return outcome


@dataclass(frozen=True)
class Judging:
    """The work of a cluster's workers on a run's records; see `WorkKind`."""

    def identity(self, tools: Run) -> str:
        """Return the run's."""
        return tools.identity

    async def work(
        self, records: Sequence[Record], tools: Run, outbox: Outbox, limiter: Limiter
    ) -> None:
        """Judge the answers, as a local run does."""
        async with judging(tools, outbox.keep, outbox.listen, limiter) as judge:
            for record in records:
                judge.group.create_task(judge.answer(record))

    def fail_record(self, record: Record, detail: str) -> RecordFailure:
        """Return the failure of an answer."""
        failure = Failure(reason="error", detail=detail)
        return RecordFailure(record_id=record.id, stage="evaluate", failure=failure)


@asynccontextmanager
async def judging(
    tools: Run, keep: Keep, listen: Listener, limiter: Limiter | None = None
) -> AsyncIterator[AnswerJudge]:
    """Judge answers in this process, as tasks of the group that is yielded, and wait for them.

    Args:
        tools: The graph's tools; what its store has is not asked again.
        keep: Receives each result.
        listen: Receives progress events.
        limiter: Bounds the model calls; by default the run's.

    Raises:
        FatalModelError: The judge is unavailable, or the money is spent.
        StorageError: What is finished cannot be stored.
    """
    tools = replace(tools, open_cases=OpenCases())
    graph = build_evaluate_graph(tools.settings.judge.max_attempts, tools.registered)
    slots = asyncio.Semaphore(_n_in_flight(tools))
    is_traced, has_content = tools.settings.output.tracing, tools.settings.output.tracing_content
    with (
        patient_collector(),
        limit_calls(limiter or tools.limiter),
        raise_ungrouped(FatalModelError, StorageError),
    ):
        async with traced_run(is_traced, has_content), asyncio.TaskGroup() as group:
            yield AnswerJudge(tools, graph, slots, keep, listen, group)


def _n_in_flight(tools: Run) -> int:
    has_small = any(is_ours(one) and not is_on_vllm(one) for one in tools.settings.judge.judges)
    limit = N_LOCAL_IN_FLIGHT if has_small else tools.settings.n_slots
    if tools.settings.limits.batch:  # A batch holds the calls of all answers.
        limit = tools.n_slots
    return max(2, limit)


@dataclass(frozen=True)
class AnswerJudge:
    """Judges answers, some at a time.

    Attributes:
        slots: Places of the answers under way.
        keep: Receives each result.
        listen: Receives progress events.
        group: The tasks of the answers.
    """

    tools: Run
    graph: EvaluateGraph
    slots: asyncio.Semaphore
    keep: Keep
    listen: Listener
    group: asyncio.TaskGroup

    async def answer(self, record: Record) -> None:
        """Run one unit of work: any error of a record becomes its failure."""
        async with self.slots:
            meter, booked, values = Meter(), Usage(), dict[str, Any]()
            try:
                with meter_calls() as meter, answer_span(record) as note:
                    open_case = await open_case_of(record, self.tools)
                    # Each judge limits its own calls; a limit of LangGraph's would delay others.
                    stream: AsyncIterator[Any] = self.graph.astream(
                        Input(case=open_case.id),
                        context=self.tools,
                        stream_mode=["custom", "values"],
                        subgraphs=True,
                    )
                    async for inside, mode, chunk in stream:
                        if mode == "custom":
                            self.listen(_event(chunk, record.id))
                            booked += chunk.get("usage", Usage())
                        elif not inside:
                            values = chunk
                    failed = unbooked_usage(meter.usage, booked)
                    self.listen(Event(usage=failed))
                    evaluation = values.get("evaluation")
                    if evaluation is None:
                        raise RagassayError("the graph ended without an evaluation")
                    result = _with_failed_calls(evaluation, failed)
                    note(result)
            except StorageError:
                raise
            except Exception as error:
                if self.tools.fatal is not None:
                    raise self.tools.fatal from error
                self.tools.open_cases.close(fingerprint(self.tools, record))
                result = _failure(record, error, meter.usage)
            self.keep(result)
            self.listen(Event(n_records=1))


def _with_failed_calls(evaluation: Evaluation, failed: Usage) -> Evaluation:
    """Add the calls that gave no verdict to the bill of an evaluation."""
    if not failed.n_calls:
        return evaluation
    by_part = evaluation.usage_by_part | {FAILED_CALLS: failed}
    return evaluation.model_copy(
        update={"usage": evaluation.usage + failed, "usage_by_part": by_part}
    )


def _event(chunk: dict[str, Any], answer: str) -> Event:
    return Event(
        n_expected=chunk.get("expected", 0),
        n_calls=chunk.get("done", 0),
        usage=chunk.get("usage", Usage()),
        phase=chunk.get("phase", ""),
        answer=answer,
    )


def _failure(record: Record, error: Exception, usage: Usage) -> RecordFailure:
    reason = error.reason if isinstance(error, ModelError) else "error"
    detail = without_secrets(str(error))[:400]
    if not isinstance(error, RagassayError):
        where = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {detail} ({where.name}, line {where.lineno})"
    return RecordFailure(
        record_id=record.id,
        stage="evaluate",
        failure=Failure(reason=reason, detail=detail),
        usage=usage,
    )


@asynccontextmanager
async def _batching(tools: Run, folder: RunFolder | None, listen: Listener) -> AsyncIterator[None]:
    """Answer the enclosed calls in batches, where the settings say so."""
    if not tools.settings.limits.batch:
        yield
        return
    if folder is None:
        warnings.warn(NOT_RESUMED, stacklevel=2)
    path = folder.path if folder else None
    async with batching(path, tools.limiter, lambda words: listen(Event(phase=words))):
        yield


def _read_finished(records: Sequence[Record], tools: Run, folder: RunFolder | None) -> RunOutcome:
    """Return the results of an earlier start, by the hash of their inputs; count their cost."""
    outcome = RunOutcome()
    if folder is None:
        return outcome
    wanted = {record.id: fingerprint(tools, record) for record in records}
    earlier: list[Usage] = []
    for evaluation in folder.iter_evaluations():
        if wanted.get(evaluation.record_id) == evaluation.fingerprint:
            outcome.add(evaluation)
            earlier.append(evaluation.usage)
    count_spent(folder.spent_file, tools.limiter, earlier)
    for failure in folder.failures():
        if failure.record_id in wanted:
            outcome.add(failure)
    return outcome

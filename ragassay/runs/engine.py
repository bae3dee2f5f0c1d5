"""Send records through the evaluation graph concurrently, and keep finished work after a kill."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig

from ragassay.errors import FatalModelError, ModelError, RagassayError, StorageError
from ragassay.evaluators.toolbox import Toolbox
from ragassay.garbage import patient_collector
from ragassay.graphs.evaluate import EvaluateGraph, build_evaluate_graph
from ragassay.graphs.files import open_file
from ragassay.graphs.keys import fingerprint
from ragassay.graphs.persistence import Saver, opened_cache, opened_checkpointer
from ragassay.graphs.state import Input
from ragassay.model_names import is_ours
from ragassay.records import Evaluation, Failure, Record, RecordFailure, Usage
from ragassay.redaction import without_secrets
from ragassay.runs.folder import RunFolder, append_line
from ragassay.tracing import traced_answer, traced_run

N_LOCAL_IN_FLIGHT = 2
"""Concurrent answers with the embedded judge: one is judged while the next is prepared."""


@dataclass(frozen=True)
class Event:
    """An event of a run.

    Attributes:
        n_expected: Newly expected calls.
        n_calls: Finished or failed verdicts.
        n_records: Finished answers.
        usage: The verdicts' cost.
        phase: What has begun, in a word or two; empty where nothing has.
        answer: Id of the answer that it has begun for.
    """

    n_expected: int = 0
    n_calls: int = 0
    n_records: int = 0
    usage: Usage = field(default_factory=Usage)
    phase: str = ""
    answer: str = ""


Listener = Callable[[Event], None]


@dataclass
class RunOutcome:
    """Evaluations and failures of the records, by id."""

    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    failures: dict[str, RecordFailure] = field(default_factory=dict)


async def run_records(
    records: Sequence[Record],
    tools: Toolbox,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
) -> RunOutcome:
    """Evaluate records.

    Args:
        records: Records with distinct ids.
        tools: The graph's tools.
        folder: The folder of finished work, which is not repeated.
        listen: Receives progress events.

    Raises:
        FatalModelError: The judge is unavailable; finished work is kept.
        StorageError: The disk is full, or a file of the folder is damaged; finished work is kept.
    """
    outcome = _finished(records, tools, folder)
    waiting = [r for r in records if r.id not in outcome.evaluations | outcome.failures]
    listen(Event(n_records=len(records) - len(waiting), phase="loading models"))
    with patient_collector():
        is_traced, has_content = tools.settings.tracing, tools.settings.tracing_content
        async with (
            traced_run(is_traced, has_content),
            _opened_runner(tools, folder, outcome, listen) as runner,
        ):
            try:
                async with asyncio.TaskGroup() as group:
                    for record in waiting:
                        group.create_task(runner.run(record))
            except* FatalModelError as errors:
                for record in waiting:
                    await runner.forget(record)
                raise first_error(errors) from None
            except* StorageError as errors:
                raise first_error(errors) from None
    return outcome


def _finished(records: Sequence[Record], tools: Toolbox, folder: RunFolder | None) -> RunOutcome:
    """Return the results of an earlier start of the same run, by the hash of their inputs."""
    if folder is None:
        return RunOutcome()
    wanted = {record.id: fingerprint(tools, record) for record in records}
    return RunOutcome(
        {e.record_id: e for e in folder.evaluations() if wanted.get(e.record_id) == e.fingerprint},
        {f.record_id: f for f in folder.failures() if f.record_id in wanted},
    )


@asynccontextmanager
async def _opened_runner(
    tools: Toolbox, folder: RunFolder | None, outcome: RunOutcome, listen: Listener
) -> AsyncIterator[_Runner]:
    attempts = tools.settings.max_attempts
    asked = tools.registered
    if folder is None:
        graph = build_evaluate_graph(attempts, evaluators=asked)
        yield _Runner(tools, graph, None, None, outcome, listen)
        return
    async with opened_checkpointer(folder.state_file) as checkpointer:
        with opened_cache(folder.verdicts_file) as cache:
            graph = build_evaluate_graph(attempts, cache, checkpointer, asked)
            yield _Runner(tools, graph, checkpointer, folder, outcome, listen)


class _Runner:
    """An evaluator of records, any number of them concurrently."""

    def __init__(
        self,
        tools: Toolbox,
        graph: EvaluateGraph,
        checkpointer: Saver | None,
        folder: RunFolder | None,
        outcome: RunOutcome,
        listen: Listener,
    ) -> None:
        self._tools, self._graph, self._checkpointer = tools, graph, checkpointer
        self._folder, self._outcome, self._listen = folder, outcome, listen
        has_local = any(map(is_ours, tools.settings.judges))
        limit = N_LOCAL_IN_FLIGHT if has_local else tools.settings.n_slots
        self._slots = asyncio.Semaphore(max(2, limit))

    async def run(self, record: Record) -> None:
        """Run one unit of work: any error of a record becomes its failure."""
        async with self._slots:
            try:
                evaluation = await self._evaluate(record)
            except StorageError:
                raise
            except Exception as error:
                if self._tools.fatal is not None:
                    raise self._tools.fatal from error
                self._keep_failure(_failure(record, error))
            else:
                self._outcome.evaluations[record.id] = evaluation
                if self._folder is not None:
                    append_line(self._folder.evaluations_file, evaluation)
            await self.forget(record)
            self._listen(Event(n_records=1))

    async def forget(self, record: Record) -> None:
        """Delete the states of an evaluation; its verdicts stay in the cache."""
        self._tools.files.close(fingerprint(self._tools, record))
        if self._checkpointer is not None:
            await self._checkpointer.adelete_thread(fingerprint(self._tools, record))

    def _keep_failure(self, failure: RecordFailure) -> None:
        self._outcome.failures[failure.record_id] = failure
        if self._folder is not None:
            append_line(self._folder.failures_file, failure)

    @traced_answer
    async def _evaluate(self, record: Record) -> Evaluation:
        # Each judge limits its own calls. A limit of LangGraph's would also delay what stores
        # finished verdicts, until the last call of a step has begun.
        config: RunnableConfig = {
            "configurable": {"thread_id": fingerprint(self._tools, record)},
        }
        start: Input | None = None
        values: dict[str, Any] = {}
        if self._checkpointer is not None:
            values = (await self._graph.aget_state(config)).values
        file = await open_file(record, self._tools, values)
        if not values:
            start = Input(case=file.id)
        evaluation: Evaluation | None = None
        modes: list[Any] = ["custom", "values"]
        stream: AsyncIterator[Any] = self._graph.astream(
            start, config, context=self._tools, stream_mode=modes, subgraphs=True
        )
        async for inside, mode, chunk in stream:
            if mode == "custom":
                self._listen(_event(chunk, record.id))
            elif not inside:
                evaluation = chunk.get("evaluation") or evaluation
        if evaluation is None:
            raise RagassayError("the graph ended without an evaluation")
        return evaluation


def _event(chunk: dict[str, Any], answer: str) -> Event:
    return Event(
        n_expected=chunk.get("expected", 0),
        n_calls=chunk.get("done", 0),
        usage=chunk.get("usage", Usage()),
        phase=chunk.get("phase", ""),
        answer=answer,
    )


def _failure(record: Record, error: Exception) -> RecordFailure:
    reason = error.reason if isinstance(error, ModelError) else "error"
    detail = without_secrets(str(error))[:400]
    if not isinstance(error, RagassayError):
        where = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {detail} ({where.name}, line {where.lineno})"
    return RecordFailure(
        record_id=record.id, stage="evaluate", failure=Failure(reason=reason, detail=detail)
    )


def first_error(errors: BaseExceptionGroup) -> BaseException:
    """Return the first error of a group, whose members may be groups."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error

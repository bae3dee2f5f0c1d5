"""Sends records through the evaluation graph, many at a time, and forgets nothing when killed."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ragassay.errors import FatalModelError, ModelError, RagassayError
from ragassay.graphs.evaluate import build_evaluate_graph
from ragassay.graphs.persistence import opened_cache, opened_checkpointer
from ragassay.graphs.state import Input
from ragassay.graphs.toolbox import Toolbox
from ragassay.model_names import is_local
from ragassay.records import Evaluation, Failure, Record, RecordFailure, Usage
from ragassay.runs.folder import RunFolder, append_line

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

N_LOCAL_IN_FLIGHT = 2
"""Answers under way with the embedded judge: one is judged while the next is prepared."""


@dataclass(frozen=True)
class Event:
    """Something happened.

    Attributes:
        n_expected: Calls that came into sight.
        n_calls: Verdicts that were had, or given up.
        n_records: Answers that ended.
        usage: What the verdicts cost.
    """

    n_expected: int = 0
    n_calls: int = 0
    n_records: int = 0
    usage: Usage = Usage()


Listener = Callable[[Event], None]


@dataclass
class Outcome:
    """What became of the records, by their id."""

    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    failures: dict[str, RecordFailure] = field(default_factory=dict)


async def run_records(
    records: Sequence[Record],
    tools: Toolbox,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
) -> Outcome:
    """Evaluate records.

    Args:
        records: Ids differ.
        tools: What the graph works with.
        folder: Where finished work is kept; what is there already is not done again.
        listen: Told of progress.

    Raises:
        FatalModelError: The judge cannot be asked at all; what is finished stays finished.
    """
    outcome = _finished(records, tools, folder)
    waiting = [r for r in records if r.id not in outcome.evaluations | outcome.failures]
    listen(Event(n_records=len(records) - len(waiting)))
    limit = N_LOCAL_IN_FLIGHT if is_local(tools.settings.model) else tools.settings.n_slots
    slots = asyncio.Semaphore(max(2, limit))
    async with _opened_graph(tools, folder) as graph:

        async def one(record: Record) -> None:
            async with slots:
                await _run_one(record, tools, graph, folder, outcome, listen)

        try:
            async with asyncio.TaskGroup() as group:
                for record in waiting:
                    group.create_task(one(record))
        except* FatalModelError as errors:
            for record in waiting:
                await _forget(graph, tools.fingerprint(record))
            raise _first(errors) from None
    return outcome


def _finished(records: Sequence[Record], tools: Toolbox, folder: RunFolder | None) -> Outcome:
    """What an earlier start of the same run has left, by the hash of all that it depends on."""
    if folder is None:
        return Outcome()
    wanted = {record.id: tools.fingerprint(record) for record in records}
    return Outcome(
        {
            e.record_id: e
            for e in folder.evaluations()
            if wanted.get(e.record_id) == e.fingerprint
        },
        {f.record_id: f for f in folder.failures() if f.record_id in wanted},
    )


@asynccontextmanager
async def _opened_graph(
    tools: Toolbox, folder: RunFolder | None
) -> AsyncIterator[CompiledStateGraph[Any, Toolbox, Any, Any]]:
    attempts = tools.settings.max_attempts
    if folder is None:
        yield build_evaluate_graph(attempts)
        return
    async with opened_checkpointer(folder.state_file) as checkpointer:
        with opened_cache(folder.verdicts_file) as cache:
            yield build_evaluate_graph(attempts, cache, checkpointer)


async def _run_one(
    record: Record,
    tools: Toolbox,
    graph: CompiledStateGraph[Any, Toolbox, Any, Any],
    folder: RunFolder | None,
    outcome: Outcome,
    listen: Listener,
) -> None:
    """One unit of work: whatever goes wrong with a record becomes its failure."""
    thread = tools.fingerprint(record)
    try:
        evaluation = await _evaluate(record, thread, tools, graph, listen)
    except Exception as error:
        if tools.lm.fatal is not None:
            raise tools.lm.fatal from error
        await _forget(graph, thread)
        failure = _failure(record, error)
        outcome.failures[record.id] = failure
        if folder is not None:
            append_line(folder.failures_file, failure)
    else:
        outcome.evaluations[record.id] = evaluation
        if folder is not None:
            append_line(folder.evaluations_file, evaluation)
        await _forget(graph, thread)
    listen(Event(n_records=1))


async def _forget(graph: CompiledStateGraph[Any, Toolbox, Any, Any], thread: str) -> None:
    """Drop the states of an evaluation that ended; its verdicts stay in the cache."""
    if graph.checkpointer:
        await graph.checkpointer.adelete_thread(thread)


async def _evaluate(
    record: Record,
    thread: str,
    tools: Toolbox,
    graph: CompiledStateGraph[Any, Toolbox, Any, Any],
    listen: Listener,
) -> Evaluation:
    config: Any = {
        "configurable": {"thread_id": thread},
        "max_concurrency": tools.settings.n_slots,
    }
    start: Input | None = Input(record=record)
    if graph.checkpointer and await graph.checkpointer.aget_tuple(config):
        start = None
    evaluation: Evaluation | None = None
    stream = graph.astream(start, config, context=tools, stream_mode=["custom", "values"])
    async for mode, chunk in stream:
        if mode == "custom":
            listen(_event(chunk))
        elif chunk.get("evaluation") is not None:
            evaluation = chunk["evaluation"]
    if evaluation is None:
        raise RagassayError("the graph ended without an evaluation")
    return evaluation


def _event(chunk: dict[str, Any]) -> Event:
    return Event(
        n_expected=chunk.get("expected", 0),
        n_calls=chunk.get("done", 0),
        usage=chunk.get("usage", Usage()),
    )


def _failure(record: Record, error: Exception) -> RecordFailure:
    reason = error.reason if isinstance(error, ModelError) else "error"
    where = traceback.extract_tb(error.__traceback__)[-1]
    detail = f"{type(error).__name__}: {error}"[:400]
    if not isinstance(error, RagassayError):
        detail += f" ({where.name}, line {where.lineno})"
    return RecordFailure(
        record_id=record.id, stage="evaluate", failure=Failure(reason=reason, detail=detail)
    )


def _first(errors: BaseExceptionGroup[FatalModelError]) -> FatalModelError:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, FatalModelError)
    return error

"""Send records through the evaluation graph concurrently, in this process."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.cache.base import BaseCache

from ragassay.errors import FatalModelError, ModelError, RagassayError, StorageError, ungrouped
from ragassay.evaluators.toolbox import Toolbox
from ragassay.garbage import patient_collector
from ragassay.graphs.evaluate import EvaluateGraph, build_evaluate_graph
from ragassay.graphs.files import open_file
from ragassay.graphs.keys import fingerprint
from ragassay.graphs.persistence import Saver
from ragassay.graphs.state import Input
from ragassay.model_names import is_on_vllm, is_ours
from ragassay.models.call_usage import unbooked_usage
from ragassay.models.gateway import Meter, metered
from ragassay.models.limiter import Limiter, limited
from ragassay.records import FAILED_CALLS, Evaluation, Failure, Record, RecordFailure, Usage
from ragassay.redaction import without_secrets
from ragassay.runs.events import Event, Listener
from ragassay.tracing import answer_span, traced_run

N_LOCAL_IN_FLIGHT = 2
"""Concurrent answers with the embedded judge: one is judged while the next is prepared."""

Keep = Callable[[Evaluation | RecordFailure], None]
"""Keeps the result of a record as soon as there is one."""


async def judge_here(
    records: Sequence[Record],
    tools: Toolbox,
    keep: Keep,
    listen: Listener,
    cache: BaseCache[Any] | None = None,
    checkpointer: Saver | None = None,
    limiter: Limiter | None = None,
) -> None:
    """Evaluate records in this process.

    Args:
        records: Records with distinct ids.
        tools: The graph's tools.
        keep: Receives each result.
        listen: Receives progress events.
        cache: Finished verdicts.
        checkpointer: States of unfinished evaluations.
        limiter: Bounds the model calls; by default the toolbox's.

    Raises:
        FatalModelError: The judge is unavailable, or the money is spent.
        StorageError: What is finished cannot be stored.
    """
    graph = build_evaluate_graph(tools.settings.max_attempts, cache, checkpointer, tools.registered)
    runner = _Runner(tools, graph, checkpointer, keep, listen)
    is_traced, has_content = tools.settings.tracing, tools.settings.tracing_content
    with patient_collector(), limited(limiter or tools.limiter):
        async with traced_run(is_traced, has_content):
            try:
                with ungrouped(FatalModelError, StorageError):
                    async with asyncio.TaskGroup() as group:
                        for record in records:
                            group.create_task(runner.run(record))
            except FatalModelError:
                for record in records:
                    await runner.forget(record)
                raise


class _Runner:
    """An evaluator of records, any number of them concurrently."""

    def __init__(
        self,
        tools: Toolbox,
        graph: EvaluateGraph,
        checkpointer: Saver | None,
        keep: Keep,
        listen: Listener,
    ) -> None:
        self._tools, self._graph, self._checkpointer = tools, graph, checkpointer
        self._keep, self._listen = keep, listen
        has_small = any(is_ours(one) and not is_on_vllm(one) for one in tools.settings.judges)
        limit = N_LOCAL_IN_FLIGHT if has_small else tools.settings.n_slots
        if tools.settings.batch:  # A batch holds the calls of all answers.
            limit = tools.n_slots
        self._slots = asyncio.Semaphore(max(2, limit))

    async def run(self, record: Record) -> None:
        """Run one unit of work: any error of a record becomes its failure."""
        async with self._slots:
            meter = Meter()
            try:
                with metered() as meter, answer_span(record) as note:
                    evaluation = await self._evaluate(record, meter)
                    note(evaluation)
            except StorageError:
                raise
            except Exception as error:
                if self._tools.fatal is not None:
                    raise self._tools.fatal from error
                self._keep(_failure(record, error, meter.usage))
            else:
                self._keep(evaluation)
            await self.forget(record)
            self._listen(Event(n_records=1))

    async def forget(self, record: Record) -> None:
        """Delete the states of an evaluation; its verdicts stay in the cache."""
        self._tools.files.close(fingerprint(self._tools, record))
        if self._checkpointer is not None:
            await self._checkpointer.adelete_thread(fingerprint(self._tools, record))

    async def _evaluate(self, record: Record, meter: Meter) -> Evaluation:
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
        booked = Usage()
        modes: list[Any] = ["custom", "values"]
        stream: AsyncIterator[Any] = self._graph.astream(
            start, config, context=self._tools, stream_mode=modes, subgraphs=True
        )
        async for inside, mode, chunk in stream:
            if mode == "custom":
                self._listen(_event(chunk, record.id))
                booked += chunk.get("usage", Usage())
            elif not inside:
                evaluation = chunk.get("evaluation") or evaluation
        if evaluation is None:
            raise RagassayError("the graph ended without an evaluation")
        failed = unbooked_usage(meter.usage, booked)
        self._listen(Event(usage=failed))
        return _with_failed_calls(evaluation, failed)


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

"""Evaluate records, here or in a cluster, and keep finished work after a kill."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langgraph.cache.base import BaseCache

from ragassay.evaluators.toolbox import Toolbox
from ragassay.graphs.keys import fingerprint
from ragassay.graphs.persistence import Saver, opened_cache, opened_checkpointer
from ragassay.models.batches import batching
from ragassay.records import (
    Compact,
    CompactEvaluations,
    Evaluation,
    Record,
    RecordFailure,
    Usage,
)
from ragassay.runs.events import Event, Listener
from ragassay.runs.folder import RunFolder, append_line
from ragassay.runs.judging import Keep, judge_here
from ragassay.runs.spent import count_spent, write_spent

NOT_RESUMED = (
    "batch without out: if this run is stopped, its batches are lost and paid for; out=FOLDER "
    "keeps them"
)


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
    tools: Toolbox,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
) -> RunOutcome:
    """Evaluate records, here or in a cluster, as the settings say.

    Args:
        records: Records with distinct ids.
        tools: The graph's tools.
        folder: The folder of finished work, which is not repeated.
        listen: Receives progress events.

    Raises:
        FatalModelError: The judge is unavailable, or the money is spent; finished work is kept.
        StorageError: The disk is full, or a file of the folder is damaged; finished work is kept.
    """
    outcome = _finished(records, tools, folder)
    waiting = [r for r in records if r.id not in outcome.evaluations | outcome.failures]
    listen(Event(n_records=len(records) - len(waiting), phase="loading models"))

    def keep(result: Evaluation | RecordFailure) -> None:
        outcome.add(result)
        if folder is not None:
            is_evaluation = isinstance(result, Evaluation)
            append_line(folder.evaluations_file if is_evaluation else folder.failures_file, result)
            write_spent(folder.spent_file, tools.limiter)

    try:
        await _judge(waiting, tools, folder, keep, listen)
    finally:
        if folder is not None:
            write_spent(folder.spent_file, tools.limiter)
    return outcome


async def _judge(
    records: Sequence[Record],
    tools: Toolbox,
    folder: RunFolder | None,
    keep: Keep,
    listen: Listener,
) -> None:
    if tools.settings.engine == "ray":
        from ragassay.runs.distributed.driver import judge_in_cluster

        await judge_in_cluster(records, tools, folder, keep, listen)
        return
    async with _opened_storage(folder) as (cache, checkpointer), _batching(tools, folder, listen):
        await judge_here(records, tools, keep, listen, cache, checkpointer)


@asynccontextmanager
async def _batching(
    tools: Toolbox, folder: RunFolder | None, listen: Listener
) -> AsyncIterator[None]:
    """Answer the enclosed calls in batches, where the settings say so."""
    if not tools.settings.batch:
        yield
        return
    if folder is None:
        warnings.warn(NOT_RESUMED, stacklevel=2)
    path = folder.path if folder else None
    async with batching(path, tools.limiter, lambda words: listen(Event(phase=words))):
        yield


def _finished(records: Sequence[Record], tools: Toolbox, folder: RunFolder | None) -> RunOutcome:
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


@asynccontextmanager
async def _opened_storage(
    folder: RunFolder | None,
) -> AsyncIterator[tuple[BaseCache[Any] | None, Saver | None]]:
    """Open the verdicts and the states of a folder; without one, nothing is kept."""
    if folder is None:
        yield None, None
        return
    async with opened_checkpointer(folder.state_file) as checkpointer:
        with opened_cache(folder.verdicts_file) as cache:
            yield cache, checkpointer

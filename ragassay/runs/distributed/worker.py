"""Work on a shard of records in a worker of the cluster, with the graphs of a local run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from ragassay.errors import SettingsError
from ragassay.evaluators.toolbox import Given, Toolbox
from ragassay.models.hosting import ModelHost, hosted
from ragassay.records import Record
from ragassay.retrievers.literature import Literature
from ragassay.runs.distributed.kinds import Kind, Means
from ragassay.runs.distributed.shared import Outbox, SharedCache, SharedLimiter
from ragassay.settings import Settings


@dataclass(frozen=True)
class Work:
    """The common part of all shards of a run.

    Attributes:
        kind: What is done with the records.
        given: What the toolbox is built from.
        settings: The settings that it is used with.
        corpus: Where literature is looked up.
        identity: The work's identity at the driver.
        is_bounded: Whether each call is admitted by the hub.
        has_verdicts: Whether an earlier start has left verdicts, or other rows.
        host: The models of the worker's node; None where each worker loads its own.
        run: The run's own name: a process may serve several runs of one identity.
    """

    kind: Kind
    given: Given
    settings: Settings
    corpus: Literature
    identity: str
    is_bounded: bool
    has_verdicts: bool
    host: ModelHost | None = None
    run: str = field(default_factory=lambda: uuid4().hex)


def work_on_shard(work: Work, records: Sequence[Record], hub: Any, *, is_repeated: bool) -> None:
    """Bring records to their ends and deliver their results to the hub.

    Args:
        work: What all shards of the run have in common.
        records: The records.
        hub: The actor of the hub.
        is_repeated: Whether a lost worker may have left some of their verdicts.

    Raises:
        FatalModelError: The judge is unavailable, or the money is spent.
        SettingsError: This machine has another ragassay, or other models, than the driver.
        StorageError: The hub cannot store what is finished.
    """
    outbox = Outbox(hub)
    cache = SharedCache(hub, outbox, asks=is_repeated or work.has_verdicts)
    asyncio.run(_work_on(work, records, hub, outbox, cache))


async def _work_on(
    work: Work, records: Sequence[Record], hub: Any, outbox: Outbox, cache: SharedCache
) -> None:
    limiter = SharedLimiter(hub) if work.is_bounded else outbox.limiter
    with hosted(work.host):
        tools = replace(_built(work), settings=work.settings)
        if work.kind.identity(tools) != work.identity:
            raise SettingsError(
                "a worker would work by another identity than the driver: install the same "
                "ragassay, with the same models and the same files, on all machines"
            )
        async with outbox.opened():
            await work.kind.work(records, Means(tools, outbox, cache, limiter))


_BUILT: dict[str, Toolbox] = {}


def _built(work: Work) -> Toolbox:
    """Return the toolbox of a run, built once a process."""
    if work.run not in _BUILT:
        _BUILT.clear()
        given = work.given
        _BUILT[work.run] = Toolbox.of(given.settings, work.corpus, given.evaluators, given.rubrics)
    return _BUILT[work.run]

"""Work on a shard of records in a worker of the cluster, with the graphs of a local run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import uuid4

from ragassay.errors import SettingsError
from ragassay.evaluators.base import Run, RunArguments
from ragassay.evaluators.build_run import build_run
from ragassay.models.hosting import ModelHost, hosted
from ragassay.models.limiter import Limiter
from ragassay.records import Record
from ragassay.retrievers.literature import Literature
from ragassay.runs.distributed.hub import Result
from ragassay.runs.distributed.shared import Outbox, SharedLimiter, SharedStore
from ragassay.settings import Settings


class Kind(Protocol):
    """A kind of work, such as judging answers; it is sent to the workers."""

    @property
    def max_tokens(self) -> int:
        """Tokens of the run after which nothing is begun; 0 for no bound."""
        ...

    def identity(self, tools: Run) -> str:
        """Return a hash of all that the results depend on, besides the records."""
        ...

    async def work(
        self, records: Sequence[Record], tools: Run, outbox: Outbox, limiter: Limiter
    ) -> None:
        """Bring records to their ends, and put their results into the outbox."""
        ...

    def lost(self, record: Record, detail: str) -> Result:
        """Return the result of a record that crashed too many workers."""
        ...


@dataclass(frozen=True)
class Work:
    """The common part of all shards of a run.

    Attributes:
        kind: What is done with the records.
        given: What the run is built from.
        settings: The settings that it is used with.
        corpus: Where literature is looked up.
        identity: The work's identity at the driver.
        is_bounded: Whether each call is admitted by the hub.
        has_rows: Whether an earlier start has left finished work.
        host: The models of the worker's node; None where each worker loads its own.
        run: The run's own name: a process may serve several runs of one identity.
    """

    kind: Kind
    given: RunArguments
    settings: Settings
    corpus: Literature
    identity: str
    is_bounded: bool
    has_rows: bool
    host: ModelHost | None = None
    run: str = field(default_factory=lambda: uuid4().hex)


def work_on_shard(work: Work, records: Sequence[Record], hub: Any, *, is_repeated: bool) -> None:
    """Bring records to their ends and deliver their results to the hub.

    Args:
        work: What all shards of the run have in common.
        records: The records.
        hub: The actor of the hub.
        is_repeated: Whether a lost worker may have finished some of their work.

    Raises:
        FatalModelError: The judge is unavailable, or the money is spent.
        SettingsError: This machine has another ragassay, or other models, than the driver.
        StorageError: The hub cannot store what is finished.
    """
    outbox = Outbox(hub)
    store = SharedStore(hub, outbox, asks=is_repeated or work.has_rows)
    asyncio.run(_work_on(work, records, hub, outbox, store))


async def _work_on(
    work: Work, records: Sequence[Record], hub: Any, outbox: Outbox, store: SharedStore
) -> None:
    limiter = SharedLimiter(hub) if work.is_bounded else outbox.limiter
    with hosted(work.host):
        tools = replace(_built(work), settings=work.settings, store=store)
        if work.kind.identity(tools) != work.identity:
            raise SettingsError(
                "a worker would work by another identity than the driver: install the same "
                "ragassay, with the same models and the same files, on all machines"
            )
        async with outbox.opened():
            await work.kind.work(records, tools, outbox, limiter)


_BUILT: dict[str, Run] = {}


def _built(work: Work) -> Run:
    """Return a run, built once a process."""
    if work.run not in _BUILT:
        _BUILT.clear()
        given = work.given
        _BUILT[work.run] = build_run(given.settings, work.corpus, given.evaluators, given.rubrics)
    return _BUILT[work.run]

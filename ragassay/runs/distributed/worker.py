"""The code that the workers of a cluster run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

from ragassay.errors import RagassayError, SettingsError, raise_ungrouped
from ragassay.evaluators.base import Run, RunArguments
from ragassay.evaluators.build_run import build_run
from ragassay.models.hosting import Recipe, use_host
from ragassay.models.limiter import Limiter
from ragassay.records import Record
from ragassay.retrievers.literature import Literature
from ragassay.runs.distributed.hub import EventBatch
from ragassay.runs.progress import Event
from ragassay.settings import Settings
from ragassay.store import Row, Store

DELIVERY_S = 0.1
"""Seconds between two batches. If a worker is lost, only the work since its last batch has to be
repeated."""


class Outbox:
    """Finished work of a worker that it has not yet sent to the hub."""

    def __init__(self, hub: Any) -> None:
        self._hub, self._batch = hub, EventBatch()

    @asynccontextmanager
    async def deliver_while_open(self) -> AsyncIterator[None]:
        """Send finished work to the hub regularly and at the end, even after an error.

        Raises:
            StorageError: The hub cannot store a batch.
        """
        closed = asyncio.Event()
        with raise_ungrouped(RagassayError):
            async with asyncio.TaskGroup() as group:
                delivering = group.create_task(self._deliver_until(closed))
                try:
                    yield
                finally:
                    closed.set()
                    await asyncio.wait([delivering])

    def keep(self, result: Any) -> None:
        """Add the result of a record to the next batch."""
        self._batch.results.append(result)

    def listen(self, event: Event) -> None:
        """Add an event to the next batch."""
        self._batch.event += event

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add finished work to the next batch."""
        self._batch.rows += rows

    async def _deliver_until(self, closed: asyncio.Event) -> None:
        is_last = False
        while not is_last:
            with suppress(TimeoutError):
                await asyncio.wait_for(closed.wait(), DELIVERY_S)
            is_last = closed.is_set()
            batch, self._batch = self._batch, EventBatch()
            if batch != EventBatch():
                await self._hub.deliver.remote(batch)


class SharedStore(Store):
    """Finished work of a shard; work of other workers can be looked up in the hub.

    Args:
        asks: Whether to ask the hub for work that this worker has not done.
    """

    def __init__(self, hub: Any, outbox: Outbox, *, asks: bool) -> None:
        super().__init__()
        self._hub, self._outbox, self._asks = hub, outbox, asks
        self._known: dict[str, bytes] = {}

    async def find(self, key: str) -> bytes | None:
        """Return the finished work stored under a key, by this worker or in the hub."""
        if key not in self._known and self._asks:
            return await self._hub.find.remote(key)
        return self._known.get(key)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Store finished work and add it to the next batch."""
        new = dict(rows)
        self._known |= new
        self._outbox.add_rows(new.items())


@dataclass(frozen=True)
class SharedLimiter:
    """A `Limiter` whose methods run in the hub, and so limit the calls of all workers."""

    hub: Any

    async def admit(self, endpoint: str) -> None:
        """Wait until a call to an endpoint is allowed."""
        await self.hub.admit.remote(endpoint)

    async def settle(self, cost_usd: float | None, n_tokens: int = 0) -> None:
        """Count the cost of a finished call."""
        # Awaited, because the actor could otherwise handle this worker's next call first.
        await self.hub.settle.remote(cost_usd, n_tokens)

    async def count_spent_tokens(self) -> int:
        """Return the number of tokens used by all workers."""
        return await self.hub.count_spent_tokens.remote()

    async def hold(self, endpoint: str, wait_s: float) -> None:
        """Block calls to an endpoint for `wait_s` seconds."""
        await self.hub.hold.remote(endpoint, wait_s)


class WorkKind(Protocol):
    """A kind of work that workers can do, such as judging answers."""

    def compute_identity(self, run: Run) -> str:
        """Return a hash of everything that the results depend on, except the records."""
        ...

    async def work_on_records(
        self, records: Sequence[Record], run: Run, outbox: Outbox, limiter: Limiter
    ) -> None:
        """Process records, and add their results to the outbox for the hub."""
        ...

    def fail_record(self, record: Record, detail: str) -> Any:
        """Return the failure to report for a record that crashed too many workers."""
        ...


@dataclass(frozen=True)
class WorkerTask:
    """Data shared by all shards of a run.

    Attributes:
        has_rows: Whether the hub has finished work from an earlier start.
        models: Actors that serve models, keyed by id of the node.
        run_id: Unique id of the run. A worker process may serve several runs.
    """

    kind: WorkKind
    run_arguments: RunArguments
    settings: Settings
    corpus: Literature
    identity: str
    has_rows: bool
    hub: Any
    models: dict[str, Any]
    run_id: str = field(default_factory=lambda: uuid4().hex)


def work_on_shard(work: WorkerTask, records: Sequence[Record], *, is_repeated: bool) -> None:
    """Process records as a task of the cluster, and send their results to the hub.

    Raises:
        FatalModelError: The judge is unavailable, or the cost limit is reached.
        SettingsError: The ragassay version, models or files differ from those of the driver.
        StorageError: The hub cannot store finished work.
    """
    asyncio.run(_work_on_shard(work, records, asks=is_repeated or work.has_rows))


async def _work_on_shard(work: WorkerTask, records: Sequence[Record], *, asks: bool) -> None:
    import ray

    node = ray.get_runtime_context().get_node_id()
    models = work.models.get(node) or next(iter(work.models.values()))  # for nodes added later
    outbox = Outbox(work.hub)
    store = SharedStore(work.hub, outbox, asks=asks)
    with use_host(partial(compute_on_node, models)):
        run = replace(_build_run(work), settings=work.settings, store=store)
        if work.kind.compute_identity(run) != work.identity:
            raise SettingsError(
                "a worker has a different installation than the driver; install the same version "
                "of ragassay with the same models and files on all machines"
            )
        async with outbox.deliver_while_open():
            limiter = SharedLimiter(work.hub)
            await work.kind.work_on_records(records, run, outbox, limiter)


_BUILT: dict[str, Run] = {}


def _build_run(work: WorkerTask) -> Run:
    if work.run_id not in _BUILT:
        _BUILT.clear()
        run_arguments = work.run_arguments
        _BUILT[work.run_id] = build_run(
            run_arguments.settings, work.corpus, run_arguments.evaluators, run_arguments.rubrics
        )
    return _BUILT[work.run_id]


def compute_on_node(
    models: Any, recipe: Recipe, method: str, arguments: Sequence[Any]
) -> Future[Any]:
    """Call a method of a model in the actor on the worker's node. See `ModelHost`."""
    from ray.exceptions import RayTaskError

    result: Future[Any] = Future()

    def copy_result(reply: Future[Any]) -> None:
        error = reply.exception()
        if isinstance(error, RayTaskError):
            error = error.cause or error
        if error is None:
            result.set_result(reply.result())
        else:
            result.set_exception(error)

    models.compute.remote(recipe, method, arguments).future().add_done_callback(copy_result)
    return result

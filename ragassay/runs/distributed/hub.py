"""The hub of a cluster's workers, and a worker's side of it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from ragassay.errors import RagassayError, SettingsError, raise_ungrouped
from ragassay.evaluators.base import Run, RunArguments
from ragassay.evaluators.build_run import build_run
from ragassay.models.hosting import Recipe, use_host
from ragassay.models.limiter import Limiter, RunLimiter
from ragassay.records import Record
from ragassay.retrievers.literature import Literature
from ragassay.runs.progress import Event
from ragassay.settings import Settings
from ragassay.store import Row, Store


@dataclass(frozen=True)
class EventBatch:
    """The work of a worker since its last batch.

    Attributes:
        results: What records came to: evaluations, syntheses, failures.
        rows: Finished work: verdicts, or syntheses.
    """

    results: tuple[Any, ...] = ()
    rows: tuple[Row, ...] = ()
    event: Event = field(default_factory=Event)


class Hub(RunLimiter):
    """The one place of a run that all of its workers talk to; an actor of the cluster.

    It bounds their calls together. A verdict is on disk when its batch has been delivered: no loss
    of a worker takes it back.

    Args:
        path: The file of verdicts; None where the driver's files are out of reach: then the hub
            keeps its own, and the driver gets a copy of each.
        limiter: The bounds of the run, with what is spent already.
    """

    def __init__(self, path: Path | None, limiter: RunLimiter) -> None:
        super().__init__()
        vars(self).update(vars(limiter))
        self._path = path
        self._opened: Store | None = None
        self._batches: list[EventBatch] = []
        self._has_news = asyncio.Event()

    async def deliver(self, batch: EventBatch) -> None:
        """Take a worker's batch.

        Raises:
            StorageError: The verdicts cannot be stored.
        """
        self._store.add_rows(batch.rows)
        self._batches.append(batch if self._path is None else replace(batch, rows=()))
        self._has_news.set()

    async def collect(self, wait_s: float) -> list[EventBatch]:
        """Return the batches since the last call, after at most so many seconds without any."""
        # Without any wait, Python 3.11 times out also where there is news.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._has_news.wait(), wait_s)
        found, self._batches = self._batches, []
        self._has_news.clear()
        return found

    async def add_rows(self, rows: Sequence[Row]) -> None:
        """Store finished work of an earlier start.

        Raises:
            StorageError: They cannot be stored.
        """
        self._store.add_rows(rows)

    async def has_rows(self) -> bool:
        """Return whether anything is finished."""
        return not self._store.is_empty

    async def find(self, key: str) -> bytes | None:
        """Return finished work."""
        return await self._store.find(key)

    @property
    def _store(self) -> Store:
        """The file, opened by the thread that uses it."""
        if self._opened is None:
            if self._path is None:
                self._folder = tempfile.TemporaryDirectory(prefix="ragassay-hub-")
            self._opened = Store(self._path or Path(self._folder.name) / "verdicts.sqlite")
        return self._opened


DELIVERY_S = 0.1
"""Pause between two batches: so much work at most is done again when a worker is lost."""


class Outbox:
    """The work of a worker that is not delivered yet."""

    def __init__(self, hub: Any) -> None:
        self._hub = hub
        self._rows: list[Row] = []
        self._results: list[Any] = []
        self._event = Event()

    @asynccontextmanager
    async def deliver_while_open(self) -> AsyncIterator[None]:
        """Deliver while it is open, and what is left at the end, also of a run that broke off.

        Raises:
            StorageError: The hub cannot store it.
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
        """Put the result of a record into the next batch."""
        self._results.append(result)

    def listen(self, event: Event) -> None:
        """Put an event into the next batch."""
        self._event += event

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Put finished work into the next batch."""
        self._rows += rows

    async def _deliver_until(self, closed: asyncio.Event) -> None:
        is_last = False
        while not is_last:
            with suppress(TimeoutError):
                await asyncio.wait_for(closed.wait(), DELIVERY_S)
            is_last = closed.is_set()
            batch = EventBatch(tuple(self._results), tuple(self._rows), self._event)
            self._results, self._rows, self._event = [], [], Event()
            if batch != EventBatch():
                await self._hub.deliver.remote(batch)


class SharedStore(Store):
    """The finished work of a shard, and that of other workers.

    Args:
        asks: Whether the hub may have work for this shard.
    """

    def __init__(self, hub: Any, outbox: Outbox, *, asks: bool) -> None:
        super().__init__()
        self._hub, self._outbox, self._asks = hub, outbox, asks
        self._known: dict[str, bytes] = {}

    async def find(self, key: str) -> bytes | None:
        """Return finished work as it is stored, here or in the hub."""
        if key not in self._known and self._asks:
            return await self._hub.find.remote(key)
        return self._known.get(key)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Store finished work, and put it into the next batch."""
        new = dict(rows)
        self._known |= new
        self._outbox.add_rows(new.items())


class SharedLimiter:
    """Asks the hub before each call: a `Limiter`."""

    def __init__(self, hub: Any) -> None:
        self._hub = hub

    async def admit(self, endpoint: str) -> None:
        """Wait until a call to an endpoint may begin."""
        await self._hub.admit.remote(endpoint)

    async def settle(self, cost_usd: float | None, n_tokens: int = 0) -> None:
        """Count what an admitted call has cost."""
        # Waited for: an actor of coroutines may take the next question of this worker before it.
        await self._hub.settle.remote(cost_usd, n_tokens)

    async def n_tokens(self) -> int:
        """Return how many tokens the calls of all workers took."""
        return await self._hub.n_tokens.remote()

    async def hold(self, endpoint: str, wait_s: float) -> None:
        """Admit no call to an endpoint for so many seconds."""
        await self._hub.hold.remote(endpoint, wait_s)


class WorkKind(Protocol):
    """A kind of work, such as judging answers; it is sent to the workers."""

    def identity(self, tools: Run) -> str:
        """Return a hash of all that the results depend on, besides the records."""
        ...

    async def work(
        self, records: Sequence[Record], tools: Run, outbox: Outbox, limiter: Limiter
    ) -> None:
        """Bring records to their ends, and put their results into the outbox."""
        ...

    def fail_record(self, record: Record, detail: str) -> Any:
        """Return the result of a record that crashed too many workers."""
        ...


@dataclass(frozen=True)
class WorkerTask:
    """The common part of all shards of a run.

    Attributes:
        run_arguments: What the run is built from.
        identity: The work's identity at the driver.
        has_rows: Whether an earlier start has left finished work.
        models: The actor of each node that holds models for the node's workers.
        run: The run's own name: a process may serve several runs of one identity.
    """

    kind: WorkKind
    run_arguments: RunArguments
    settings: Settings
    corpus: Literature
    identity: str
    has_rows: bool
    hub: Any
    models: dict[str, Any]
    run: str = field(default_factory=lambda: uuid4().hex)


def work_on_shard(work: WorkerTask, records: Sequence[Record], *, is_repeated: bool) -> None:
    """Finish records and deliver their results to the hub; a task of the cluster.

    Raises:
        FatalModelError: The judge is unavailable, or the money is spent.
        SettingsError: This machine has another ragassay, or other models, than the driver.
        StorageError: The hub cannot store what is finished.
    """
    asyncio.run(_work_on_shard(work, records, asks=is_repeated or work.has_rows))


async def _work_on_shard(work: WorkerTask, records: Sequence[Record], *, asks: bool) -> None:
    import ray

    node = ray.get_runtime_context().get_node_id()
    models = work.models.get(node) or next(iter(work.models.values()))  # a node that came later
    outbox = Outbox(work.hub)
    store = SharedStore(work.hub, outbox, asks=asks)
    with use_host(NodeModels(models)):
        tools = replace(_build_run(work), settings=work.settings, store=store)
        if work.kind.identity(tools) != work.identity:
            raise SettingsError(
                "a worker would work by another identity than the driver: install the same "
                "ragassay, with the same models and the same files, on all machines"
            )
        async with outbox.deliver_while_open():
            await work.kind.work(records, tools, outbox, SharedLimiter(work.hub))


_BUILT: dict[str, Run] = {}


def _build_run(work: WorkerTask) -> Run:
    """Return a run, built once a process."""
    if work.run not in _BUILT:
        _BUILT.clear()
        run_arguments = work.run_arguments
        _BUILT[work.run] = build_run(
            run_arguments.settings, work.corpus, run_arguments.evaluators, run_arguments.rubrics
        )
    return _BUILT[work.run]


@dataclass(frozen=True)
class NodeModels:
    """The models of a worker's node, which an actor holds: a `ModelHost`."""

    actor: Any

    def submit(self, recipe: Recipe, method: str, arguments: Sequence[Any]) -> Future[Any]:
        """Return what a model's method will return; its error is the one of a local run."""
        from ray.exceptions import RayTaskError

        found: Future[Any] = Future()

        def hand_over(reply: Future[Any]) -> None:
            error = reply.exception()
            if isinstance(error, RayTaskError):
                error = error.cause or error
            if error is None:
                found.set_result(reply.result())
            else:
                found.set_exception(error)

        self.actor.compute.remote(recipe, method, arguments).future().add_done_callback(hand_over)
        return found

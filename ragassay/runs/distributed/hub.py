"""The hub of a cluster's workers, and a worker's side of it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from ragassay.errors import RagassayError, raise_ungrouped
from ragassay.models.limiter import RunLimiter
from ragassay.runs.progress import Event
from ragassay.store import Row, Store


class Result(Protocol):
    """The outcome of a record: an evaluation, a synthesis, a failure."""

    @property
    def record_id(self) -> str:
        """The record's id."""
        ...


@dataclass(frozen=True)
class Parcel:
    """The work of a worker since its last parcel.

    Attributes:
        results: What records came to.
        rows: Finished work: verdicts, or syntheses.
        event: What has happened.
    """

    results: tuple[Result, ...] = ()
    rows: tuple[Row, ...] = ()
    event: Event = field(default_factory=Event)


class Hub:
    """The one place of a run that all of its workers talk to; an actor of the cluster.

    A verdict is on disk when its parcel has been delivered: no loss of a worker takes it back.

    Args:
        path: The file of verdicts; None where the driver's files are out of reach: then the hub
            keeps its own, and the driver gets a copy of each.
        limiter: Bounds the calls of all workers together.
    """

    def __init__(self, path: Path | None, limiter: RunLimiter) -> None:
        self._path, self._limiter = path, limiter
        self._opened: Store | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._parcels: list[Parcel] = []
        self._has_news = asyncio.Event()

    async def deliver(self, parcel: Parcel) -> dict[str, float]:
        """Take a worker's parcel; return the pauses that endpoints have asked for, in seconds.

        Raises:
            StorageError: The verdicts cannot be stored.
        """
        self._store.add_rows(parcel.rows)
        self._parcels.append(parcel if self._path is None else replace(parcel, rows=()))
        self._has_news.set()
        return self._limiter.pauses()

    async def collect(self, wait_s: float) -> list[Parcel]:
        """Return the parcels since the last call, after at most so many seconds without any."""
        # Without any wait, Python 3.11 times out also where there is news.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._has_news.wait(), wait_s)
        found, self._parcels = self._parcels, []
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

    async def admit(self, endpoint: str) -> None:
        """Wait until a call to an endpoint may begin.

        Raises:
            BudgetError: The money is spent.
        """
        await self._limiter.admit(endpoint)

    async def settle(self, cost_usd: float | None, n_tokens: int = 0) -> None:
        """Count what an admitted call has cost."""
        await self._limiter.settle(cost_usd, n_tokens)

    async def n_tokens(self) -> int:
        """Return how many tokens the calls of all workers took."""
        return await self._limiter.n_tokens()

    async def hold(self, endpoint: str, wait_s: float) -> None:
        """Admit no call to an endpoint for so many seconds."""
        await self._limiter.hold(endpoint, wait_s)

    @property
    def _store(self) -> Store:
        """The file, opened by the thread that uses it."""
        if self._opened is None:
            path = self._path
            if path is None:
                self._folder = tempfile.TemporaryDirectory(prefix="ragassay-hub-")
                path = Path(self._folder.name) / "verdicts.sqlite"
            self._opened = Store(path)
        return self._opened


DELIVERY_S = 0.1
"""Pause between two parcels: so much work at most is done again when a worker is lost."""


class Outbox:
    """The work of a worker that is not delivered yet.

    Args:
        hub: The actor of the hub.

    Attributes:
        limiter: Keeps the pauses that an endpoint has asked another worker for.
    """

    def __init__(self, hub: Any) -> None:
        self.limiter = PausedLimiter(hub)
        self._hub = hub
        self._rows: list[Row] = []
        self._results: list[Result] = []
        self._event = Event()
        self._under_way: asyncio.Future[Any] | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Deliver while it is open, and what is left at the end, also of a run that broke off.

        Raises:
            StorageError: The hub cannot store it.
        """
        try:
            with raise_ungrouped(RagassayError):
                async with asyncio.TaskGroup() as group:
                    delivering = group.create_task(self._deliver_on())
                    yield
                    delivering.cancel()
        finally:
            await self._deliver()

    def keep(self, result: Result) -> None:
        """Put the result of a record into the next parcel."""
        self._results.append(result)

    def listen(self, event: Event) -> None:
        """Put an event into the next parcel."""
        self._event += event

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Put finished work into the next parcel."""
        self._rows += rows

    async def _deliver_on(self) -> None:
        while True:
            await asyncio.sleep(DELIVERY_S)
            await self._deliver()

    async def _deliver(self) -> None:
        """Deliver what is new, once an earlier parcel has arrived whose sender was cancelled."""
        if self._under_way is not None:
            await asyncio.shield(self._under_way)
        parcel = Parcel(tuple(self._results), tuple(self._rows), self._event)
        if parcel == Parcel():
            return
        self._results, self._rows, self._event = [], [], Event()
        arriving = self._under_way = asyncio.ensure_future(self._hub.deliver.remote(parcel))
        self.limiter.heed(await asyncio.shield(arriving))


class SharedStore(Store):
    """The finished work of a shard, and that of other workers.

    Args:
        hub: The actor of the hub.
        outbox: Takes new work.
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
        """Store finished work, and put it into the next parcel."""
        new = dict(rows)
        self._known |= new
        self._outbox.add_rows(list(new.items()))


class PausedLimiter(RunLimiter):
    """Bounds nothing, but pauses where an endpoint has asked any worker to.

    Args:
        hub: The actor of the hub.
    """

    def __init__(self, hub: Any) -> None:
        super().__init__()
        self._hub = hub

    async def hold(self, endpoint: str, wait_s: float) -> None:
        """Admit no call to an endpoint for so many seconds, here and in the other workers."""
        await super().hold(endpoint, wait_s)
        self._hub.hold.remote(endpoint, wait_s)

    def heed(self, pauses: Mapping[str, float]) -> None:
        """Admit no call for as long as endpoints have asked the others to wait, in seconds."""
        for endpoint, wait_s in pauses.items():
            self.pause(endpoint, wait_s)


class SharedLimiter:
    """Asks the hub before each call.

    Args:
        hub: The actor of the hub.
    """

    def __init__(self, hub: Any) -> None:
        self._hub = hub

    async def admit(self, endpoint: str) -> None:
        """Wait until a call to an endpoint may begin.

        Raises:
            BudgetError: The money is spent.
        """
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

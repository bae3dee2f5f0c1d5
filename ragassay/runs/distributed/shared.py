"""A worker's side of what it shares with the others, by way of the hub."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ragassay.errors import RagassayError, ungrouped
from ragassay.models.limiter import RunLimiter
from ragassay.runs.distributed.hub import Parcel, Result
from ragassay.runs.events import Event
from ragassay.store import Row, Store

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
            with ungrouped(RagassayError):
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

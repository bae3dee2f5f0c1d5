"""The hub, which all workers of a cluster share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ragassay.models.limiter import RunLimiter
from ragassay.runs.progress import Event
from ragassay.store import Row, Store


@dataclass
class EventBatch:
    """Work that a worker has finished since its last batch.

    Attributes:
        results: Results of the records: evaluations, syntheses or failures.
        rows: Finished work, as rows for the store.
    """

    results: list[Any] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    event: Event = field(default_factory=Event)


class Hub(RunLimiter):
    """Cluster actor that collects the work of all workers and limits their calls.

    The driver collects and stores finished work, so it survives the loss of a worker. The hub keeps
    a copy in a temporary file, in which workers look up the work of a lost worker or an earlier
    start.

    Args:
        limiter: Limits of the run, including the cost so far.
    """

    def __init__(self, limiter: RunLimiter) -> None:
        super().__init__()
        vars(self).update(vars(limiter))
        self._batches: list[EventBatch] = []
        self._has_news = asyncio.Event()

    async def deliver(self, batch: EventBatch) -> None:
        """Keep a worker's batch for the driver.

        Raises:
            StorageError: The finished work cannot be stored.
        """
        self._store.add_rows(batch.rows)
        self._batches.append(batch)
        self._has_news.set()

    async def collect(self, wait_s: float) -> list[EventBatch]:
        """Return the batches since the last call; if none, wait for one up to `wait_s` seconds."""
        # With a wait of 0, Python 3.11 times out even if the event is set.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._has_news.wait(), wait_s)
        batches, self._batches = self._batches, []
        self._has_news.clear()
        return batches

    async def add_rows(self, rows: Iterable[Row]) -> None:
        """Store results of an earlier start.

        Raises:
            StorageError: The rows cannot be stored.
        """
        self._store.add_rows(rows)

    async def find(self, key: str) -> bytes | None:
        """Return the finished work stored under a key, or None if there is none."""
        return await self._store.find(key)

    @cached_property
    def _store(self) -> Store:
        """The store of finished work, opened in the thread that uses it."""
        return Store("")

"""The hub, which all workers of a cluster share."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragassay.models.limiter import RunLimiter
from ragassay.runs.progress import Event
from ragassay.store import Row, Store


@dataclass(frozen=True)
class EventBatch:
    """Work that a worker has finished since its last batch.

    Attributes:
        results: Results of the records: evaluations, syntheses or failures.
        rows: Finished work, as rows for the store.
    """

    results: tuple[Any, ...] = ()
    rows: tuple[Row, ...] = ()
    event: Event = field(default_factory=Event)


class Hub(RunLimiter):
    """Cluster actor that collects the results of all workers and limits their calls.

    Verdicts that reached the hub are on disk, so they survive the loss of a worker.

    Args:
        path: File of verdicts. None if the hub cannot access the driver's files. If None, the hub
            uses a temporary file and sends copies of the verdicts to the driver.
        limiter: Limits of the run, including the cost so far.
    """

    def __init__(self, path: Path | None, limiter: RunLimiter) -> None:
        super().__init__()
        vars(self).update(vars(limiter))
        self._path = path
        self._opened: Store | None = None
        self._batches: list[EventBatch] = []
        self._has_news = asyncio.Event()

    async def deliver(self, batch: EventBatch) -> None:
        """Store a worker's batch.

        Raises:
            StorageError: The verdicts cannot be stored.
        """
        self._store.add_rows(batch.rows)
        self._batches.append(batch if self._path is None else replace(batch, rows=()))
        self._has_news.set()

    async def collect(self, wait_s: float) -> list[EventBatch]:
        """Return the batches since the last call; if none, wait for one up to `wait_s` seconds."""
        # With a wait of 0, Python 3.11 times out even if the event is set.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._has_news.wait(), wait_s)
        batches, self._batches = self._batches, []
        self._has_news.clear()
        return batches

    async def add_rows(self, rows: Sequence[Row]) -> None:
        """Store results of an earlier start.

        Raises:
            StorageError: The rows cannot be stored.
        """
        self._store.add_rows(rows)

    async def has_rows(self) -> bool:
        """Return whether the hub has any finished work."""
        return not self._store.is_empty

    async def find(self, key: str) -> bytes | None:
        """Return the finished work stored under a key, or None if there is none."""
        return await self._store.find(key)

    @property
    def _store(self) -> Store:
        """The store of finished work, opened in the thread that uses it."""
        if self._opened is None:
            if self._path is None:
                self._folder = tempfile.TemporaryDirectory(prefix="ragassay-hub-")
            self._opened = Store(self._path or Path(self._folder.name) / "verdicts.sqlite")
        return self._opened

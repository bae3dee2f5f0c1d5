"""The hub of a cluster's workers: finished work, results, bounds of calls and money."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ragassay.models.limiter import RunLimiter
from ragassay.runs.events import Event
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

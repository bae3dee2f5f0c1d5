"""Ask hosted judges in batches, at half the price: calls wait together for one submitted batch.

A call is made as ever. Only its HTTP request goes no further than this process: it waits in a
`BatchQueue` until every call of the run waits, is submitted with the others, and its reply in the
batch is the HTTP response. So what LiteLLM does to requests, replies and errors stays the same.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.models.batch_store import BatchStore, SubmittedBatch

if TYPE_CHECKING:
    from ragassay.models.limiter import RunLimiter


class Batches:
    """The batches of a run, by model."""

    def __init__(self, store: BatchStore, limiter: RunLimiter, tell: Callable[[str], None]) -> None:
        self.store, self.tell = store, tell
        self._limiter = limiter
        self.queues: dict[tuple[str, str | None], Any] = {}
        self._context = contextvars.copy_context()
        self._tasks: set[asyncio.Task[None]] = set()
        self._estimates: dict[str, float | None] = {}

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do work that belongs to no call in particular."""
        task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def reserve(self, batch: SubmittedBatch) -> None:
        """Count the estimated cost of a batch until it is collected.

        Raises:
            BudgetError: It and the others that are under way may cost more than what is left.
        """
        estimates = [*self._estimates.values(), batch.estimate_usd]
        known = [one for one in estimates if one is not None]
        self._limiter.check_estimate(sum(known) if len(known) == len(estimates) else None)
        self._estimates[batch.name] = batch.estimate_usd

    def release(self, batch: SubmittedBatch) -> None:
        """Count the estimated cost of a batch no longer."""
        self._estimates.pop(batch.name, None)

    async def close(self) -> None:
        """Stop looking after batches; what is submitted goes on at the providers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


_BATCHES: contextvars.ContextVar[Batches | None] = contextvars.ContextVar(
    "ragassay_batches", default=None
)


@asynccontextmanager
async def batching(
    run: Path | None, limiter: RunLimiter, tell: Callable[[str], None]
) -> AsyncIterator[None]:
    """Answer the calls of judges with `batch=True` in batches, in the enclosed code.

    Args:
        run: The run's folder, where submitted batches of an earlier start are found; None keeps
            nothing.
        limiter: The bounds of the run.
        tell: Receives what is going on, in words.
    """
    batches = Batches(BatchStore(run), limiter, tell)
    token = _BATCHES.set(batches)
    try:
        yield
    finally:
        _BATCHES.reset(token)
        await batches.close()


def current_batches() -> Batches | None:
    """Return the batches of the run that calls; None outside of `batching`."""
    return _BATCHES.get()

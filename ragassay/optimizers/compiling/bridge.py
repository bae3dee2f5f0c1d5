"""From DSPy's optimizers, which call in threads, to agents and judges, which are asynchronous."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

T = TypeVar("T")


class BridgeClosed(BaseException):
    """The job has ended, and a thread of it has not noticed yet. No `Exception`: it is no mark."""


class Bridge:
    """An event loop in a thread of its own, in which everything asynchronous of a job runs.

    One loop for all: a judge's semaphore and its HTTP connections belong to the loop that first
    uses them. Use it in a `with` statement.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="bridge")
        self._lock = threading.Lock()
        self._is_closed = False

    def __enter__(self) -> Self:
        """Start the loop."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the loop; what is under way in it is given up."""
        with self._lock:
            self._is_closed = True
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop, from any other thread, and wait for what it gives.

        The caller's context variables, and so DSPy's settings, hold in it.

        Raises:
            BridgeClosed: The loop has ended, or ended meanwhile: nobody may wait for it for ever.
        """
        with self._lock:
            if self._is_closed:
                coroutine.close()
                raise BridgeClosed
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError as error:
            raise BridgeClosed from error


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)

"""Run code in a worker thread, and a coroutine where an event loop is running already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

_WORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragassay")
"""One thread: more would not be faster, and would keep the event loop waiting for its turn."""


async def in_thread(compute: Callable[..., T], *arguments: Any) -> T:
    """Run a computation in the worker thread and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_WORKER, compute, *arguments)


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, even inside a running loop (a notebook, a server)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    results: list[T] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(asyncio.run(coroutine))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]

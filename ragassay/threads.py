"""One worker thread for computations that must not block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

_WORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragassay")
"""One thread: more would not be faster, and would keep the event loop waiting for its turn."""


async def in_thread(compute: Callable[..., T], *arguments: Any) -> T:
    """Run a computation in the worker thread and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_WORKER, compute, *arguments)

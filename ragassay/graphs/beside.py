"""Work that must not keep the event loop waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

_BESIDE = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragassay")
"""Where embeddings are computed. One thread: more would not be faster, and would keep the event
loop waiting for its turn."""


async def beside(compute: Callable[..., T], *arguments: Any) -> T:
    """Compute in the one thread that stands beside the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_BESIDE, compute, *arguments)

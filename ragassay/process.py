"""Process-wide helpers: garbage collection, worker threads and pickling."""

from __future__ import annotations

import asyncio
import atexit
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self, TypeVar

THRESHOLDS = (50_000, 20, 20)
"""Arguments of `gc.set_threshold`. With Python's defaults, repeated scans of the million objects
that libraries create take a fifth of the CPU time of a run."""

_LOCK = threading.Lock()
_previous: list[tuple[int, int, int]] = []
"""Thresholds to restore, one entry for each active `delay_collection`."""


@contextmanager
def delay_collection() -> Iterator[None]:
    """Collect garbage less often in the whole process while the context is active.

    The last context to exit restores the previous thresholds, unless other code has changed them.
    """
    with _LOCK:
        _previous.append(_previous[0] if _previous else gc.get_threshold())
        gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        with _LOCK:
            before = _previous.pop()
            if not _previous and gc.get_threshold() == THRESHOLDS:
                gc.set_threshold(*before)


@contextmanager
def speed_up_import(module: str) -> Iterator[None]:
    """Disable garbage collection in the whole process while a module is imported.

    If the module is already imported, nothing is changed. Libraries create a million long-lived
    objects, and scanning them takes a tenth of the CPU time of a short run.
    """
    if module in sys.modules:
        yield
        return
    with _LOCK:
        was_on = gc.isenabled()
        gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():  # Leave objects frozen by the host application alone.
                gc.freeze()
                gc.unfreeze()  # Moves all objects to the oldest, rarely scanned generation.
            gc.enable()


@functools.cache
def end_without_collecting() -> None:
    """Skip garbage collection at process exit, which takes seconds with all libraries loaded.

    Use this function only in ragassay's own processes. A host application may rely on finalizers at
    exit.
    """
    atexit.register(gc.freeze)


T = TypeVar("T")

_WORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragassay")
"""Single worker thread.

Additional threads do not save time, and block the event loop for longer.
"""


_CORE_PREFIX = "ragassay-core"
_THREAD = threading.local()


@functools.cache
def get_core_pool() -> ThreadPoolExecutor:
    """Return a thread pool with one thread per available core.

    Splitting a forward pass of a small model across cores costs more time than it saves, and on a
    busy machine the threads of a split pass waste CPU time while they wait for each other.
    """
    # Not every system reports which cores a process may use.
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return ThreadPoolExecutor(n_cores, _CORE_PREFIX)


def use_one_core() -> None:
    """Limit torch to one core in the current thread, if it is a thread of `cores`."""
    import torch

    is_core_thread = threading.current_thread().name.startswith(_CORE_PREFIX)
    if is_core_thread and not hasattr(_THREAD, "is_set"):
        torch.set_num_threads(1)
        _THREAD.is_set = True


async def run_in_thread(compute: Callable[..., T], *arguments: Any) -> T:
    """Run a computation in the worker thread and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_WORKER, compute, *arguments)


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to completion, even from inside a running event loop."""
    results: list[T] = []

    async def collect() -> None:
        # asyncio.run formats the result of a finished task, which takes seconds for many answers.
        results.append(await coroutine)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(collect())
        return results[0]
    errors: list[BaseException] = []

    def run_loop() -> None:
        try:
            asyncio.run(collect())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run_loop)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


class Rebuilt:
    """Base class for objects that are pickled as their constructor arguments.

    The receiving process opens its own files and connections, and loads its own weights.
    """

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Record the arguments."""
        instance = super().__new__(cls)
        instance.__dict__["_made_with"] = (arguments, options)
        return instance

    def __reduce__(self) -> tuple[Any, ...]:
        arguments, options = self.__dict__["_made_with"]
        return functools.partial(type(self), **options), arguments

"""Control this process: rare garbage collection, worker threads, objects sent elsewhere."""

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
"""Arguments of `gc.set_threshold`. With Python's defaults, the collector scans the million objects
of the libraries again and again: a fifth of the processor time of a run."""

_LOCK = threading.Lock()
_kept: list[tuple[int, int, int]] = []
"""What holds without us; one entry for each that is patient now."""


@contextmanager
def patient_collector() -> Iterator[None]:
    """Collect rarely, in the whole process; the last one to leave restores what was before.

    What somebody else sets in the meantime stays.
    """
    with _LOCK:
        _kept.append(_kept[0] if _kept else gc.get_threshold())
        gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        with _LOCK:
            before = _kept.pop()
            if not _kept and gc.get_threshold() == THRESHOLDS:
                gc.set_threshold(*before)


@contextmanager
def importing(module: str) -> Iterator[None]:
    """Import a module inside without collecting, in the whole process; nothing where it is there.

    Libraries make a million objects, none of them garbage: looking at them takes a tenth of the
    processor time of a short run.
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
            if not gc.get_freeze_count():  # else a host has frozen something, which must stay so
                gc.freeze()
                gc.unfreeze()  # Now all objects are old, and no small collection looks at them.
            gc.enable()


@functools.cache
def end_without_collecting() -> None:
    """Let this process end without collecting: with the libraries loaded, that takes seconds.

    For processes of our own alone: in a host's, objects in cycles may still have something to do.
    """
    atexit.register(gc.freeze)


T = TypeVar("T")

_WORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragassay")
"""One thread: more would not be faster, and would keep the event loop waiting for its turn."""


_CORE_PREFIX = "ragassay-core"
_THREAD = threading.local()


@functools.cache
def cores() -> ThreadPoolExecutor:
    """Return a thread for each core that this process may use.

    Splitting one small model's pass among cores costs more than it saves, and on a busy machine the
    parts keep their cores busy while they wait for each other.
    """
    # Not every system says which cores a process may use.
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return ThreadPoolExecutor(n_cores, _CORE_PREFIX)


def use_one_core() -> None:
    """Have torch compute on one core in this thread, where it is one of `cores`."""
    import torch

    is_ours = threading.current_thread().name.startswith(_CORE_PREFIX)
    if is_ours and not hasattr(_THREAD, "is_set"):
        torch.set_num_threads(1)
        _THREAD.is_set = True


async def in_thread(compute: Callable[..., T], *arguments: Any) -> T:
    """Run a computation in the worker thread and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_WORKER, compute, *arguments)


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, even inside a running loop (a notebook, a server)."""
    results: list[T] = []

    async def collect() -> None:
        # When it ends, asyncio spells out the task and what it returns: for many answers, seconds.
        results.append(await coroutine)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(collect())
        return results[0]
    errors: list[BaseException] = []

    def target() -> None:
        try:
            asyncio.run(collect())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


class Rebuilt:
    """Is pickled as the arguments that it was made with.

    Open files, connections and loaded weights stay where they are: the other process opens and
    loads its own.
    """

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Remember the arguments."""
        made = super().__new__(cls)
        made.__dict__["_made_with"] = (arguments, options)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it again."""
        arguments, options = self.__dict__["_made_with"]
        return functools.partial(type(self), **options), arguments

"""Compute on all cores, each computation on one of them."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor


@functools.cache
def cores() -> ThreadPoolExecutor:
    """Return a thread for each core; in it, torch uses that core alone.

    Splitting one small model's pass among cores costs more than it saves, and on a busy machine the
    parts keep their cores busy while they wait for each other.
    """
    import torch

    return ThreadPoolExecutor(
        torch.get_num_threads(),
        "ragassay-core",
        initializer=torch.set_num_threads,
        initargs=(1,),
    )

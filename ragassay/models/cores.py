"""Compute on all cores, each computation on one of them."""

from __future__ import annotations

import functools
import threading
from concurrent.futures import ThreadPoolExecutor

_PREFIX = "ragassay-core"
_THREAD = threading.local()


@functools.cache
def cores() -> ThreadPoolExecutor:
    """Return a thread for each core that this process may use.

    Splitting one small model's pass among cores costs more than it saves, and on a busy machine the
    parts keep their cores busy while they wait for each other.
    """
    import joblib

    return ThreadPoolExecutor(joblib.cpu_count(), _PREFIX)


def use_one_core() -> None:
    """Have torch compute on one core in this thread, where it is one of `cores`."""
    import torch

    is_ours = threading.current_thread().name.startswith(_PREFIX)
    if is_ours and not hasattr(_THREAD, "is_set"):
        torch.set_num_threads(1)
        _THREAD.is_set = True

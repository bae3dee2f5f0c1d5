"""Collect garbage rarely while libraries are loaded and a run is under way, and not at the end."""

from __future__ import annotations

import atexit
import functools
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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


@functools.cache
def end_without_collecting() -> None:
    """Let this process end without collecting: with the libraries loaded, that takes seconds.

    For processes of our own alone: in a host's, objects in cycles may still have something to do.
    """
    atexit.register(gc.freeze)

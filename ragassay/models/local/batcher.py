"""Collect prompts from all threads into batches, which are answered by one thread."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragassay.errors import ModelError
from ragassay.models.local.replies import measure_common_prefix

if TYPE_CHECKING:
    from ragassay.models.local.engine import Engine
    from ragassay.models.local.replies import GeneratedReply, Prompt

QUIET_S = 0.1
"""Time in seconds without new calls after which a batch starts."""

MOST_WAIT_S = 1.5
"""Maximum time in seconds for collecting the calls of a batch."""

N_MOST = 64
"""Maximum number of calls in a batch. The key-value caches of all calls must fit in memory."""

N_CHARS_MOST = 100_000
"""Maximum number of characters in the padded texts of a batch, about 25,000 tokens."""


@dataclass(eq=False)
class _Call:
    prompt: Prompt
    future: Future[GeneratedReply] = field(default_factory=Future)


@dataclass
class Load:
    """Counters of a batcher. `n_ended` counts answered, failed and cancelled calls."""

    n_submitted: int = 0
    n_ended: int = 0
    n_batches: int = 0
    n_batched: int = 0
    n_largest: int = 0

    @property
    def n_waiting(self) -> int:
        """Return the number of calls that are waiting or running."""
        return self.n_submitted - self.n_ended


_BATCHERS: weakref.WeakSet[Batcher] = weakref.WeakSet()


def list_batcher_loads() -> list[Load]:
    """Return the counters of all batchers in this process."""
    return [batcher.load for batcher in list(_BATCHERS)]


class Batcher:
    """Answers prompts from all threads. `build` loads the engine when the first prompt arrives."""

    def __init__(self, build: Callable[[], Engine]) -> None:
        self.load = Load()
        _BATCHERS.add(self)
        self._build = build
        self._waiting: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, prompt: Prompt) -> Future[GeneratedReply]:
        """Queue a prompt and return a future for its reply, which may raise `ModelError`."""
        call = _Call(prompt)
        with self._lock:
            self.load.n_submitted += 1
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name="ragassay-local-judge", daemon=True
                )
                self._thread.start()
        self._waiting.put(call)
        return call.future

    def _serve(self) -> None:
        engine: Engine | None = None
        backlog: list[_Call] = []
        while True:
            if not backlog:
                backlog.append(self._waiting.get())
            batch = backlog
            try:
                # Building first lets more calls arrive for the batch.
                engine = engine or self._build()
                backlog += self._gather_calls(N_MOST - len(backlog))
                batch = _select_similar(backlog)
                live = [call for call in batch if call.future.set_running_or_notify_cancel()]
                self._count(len(live))
                _answer(engine, live)
            # The thread must survive any error, including llguidance panics (`BaseException`).
            except BaseException as error:
                _fail(batch, error)
            self.load.n_ended += len(batch)
            backlog = [call for call in backlog if call not in batch]

    def _count(self, n_calls: int) -> None:
        self.load.n_batches += 1
        self.load.n_batched += n_calls
        self.load.n_largest = max(self.load.n_largest, n_calls)

    def _gather_calls(self, n_most: int) -> list[_Call]:
        """Collect waiting calls until none arrives for `QUIET_S`, but for at most `MOST_WAIT_S`."""
        calls: list[_Call] = []
        end = time.monotonic() + MOST_WAIT_S
        while len(calls) < n_most:
            try:
                pause_s = min(QUIET_S, end - time.monotonic())
                calls.append(self._waiting.get(timeout=max(0.0, pause_s)))
            except queue.Empty:
                break
        return calls


def _fail(calls: list[_Call], error: BaseException) -> None:
    """Raise an `Exception` in all waiting callers.

    Errors of other types are raised as `ModelError`.
    """
    if not isinstance(error, Exception):
        cause, error = error, ModelError(f"the embedded judge failed: {error!r}")
        error.__cause__ = cause
    for call in calls:
        future = call.future
        # A future that is not running can be cancelled at any moment.
        if future.running() or (not future.done() and future.set_running_or_notify_cancel()):
            future.set_exception(error)


def _answer(engine: Engine, calls: list[_Call]) -> None:
    valid: list[_Call] = []
    for call in calls:
        try:
            engine.check(call.prompt)
            valid.append(call)
        except ModelError as error:
            call.future.set_exception(error)
    if valid:
        engine.answer(
            [call.prompt for call in valid],
            lambda position, reply: valid[position].future.set_result(reply),
        )


def _select_similar(calls: list[_Call]) -> list[_Call]:
    """Return the first call, and other calls that start with at least half of its text."""
    first = calls[0].prompt.text
    selected, longest = calls[:1], len(first)
    for call in calls[1:]:
        text = call.prompt.text
        width = max(longest, len(text))
        is_similar = 2 * measure_common_prefix(first, text) >= len(first)
        if is_similar and len(selected) < N_MOST and (len(selected) + 1) * width <= N_CHARS_MOST:
            selected.append(call)
            longest = width
    return selected

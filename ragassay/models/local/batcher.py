"""One thread that owns the engine; calls that wait together are answered together."""

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
from ragassay.models.local.replies import common_prefix_length

if TYPE_CHECKING:
    from ragassay.models.local.engine import Engine
    from ragassay.models.local.replies import GeneratedReply, Prompt

QUIET_S = 0.1
"""A batch starts when no further call has come for so long."""

MOST_WAIT_S = 1.5
"""And at the latest so long after its first call, however many still trickle in."""

N_MOST = 64
"""Calls answered in one batch at the most: their keys and values are held together."""

N_CHARS_MOST = 100_000
"""Text of one batch at the most, as long for each call as for the longest: 25,000 tokens."""


@dataclass(eq=False)
class _Call:
    prompt: Prompt
    future: Future[GeneratedReply] = field(default_factory=Future)


@dataclass
class Load:
    """The work of a batcher so far.

    Attributes:
        n_ended: Calls that were answered, failed or were given up by their callers.
    """

    n_submitted: int = 0
    n_ended: int = 0
    n_batches: int = 0
    n_batched: int = 0
    n_largest: int = 0

    @property
    def n_waiting(self) -> int:
        """Return how many calls wait or are being answered."""
        return self.n_submitted - self.n_ended


_BATCHERS: weakref.WeakSet[Batcher] = weakref.WeakSet()


def loads() -> list[Load]:
    """Return the load of each batcher of this process."""
    return [batcher.load for batcher in list(_BATCHERS)]


class Batcher:
    """Answer prompts from any thread; the engine is built by the first of them.

    Args:
        build: Load the engine; its error goes to every caller that waits.
    """

    def __init__(self, build: Callable[[], Engine]) -> None:
        self.load = Load()
        _BATCHERS.add(self)
        self._build = build
        self._waiting: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, prompt: Prompt) -> Future[GeneratedReply]:
        """Queue a prompt; the future ends with its reply or its `ModelError`."""
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
                # Loaded before the batch is closed: its fellows come meanwhile.
                engine = engine or self._build()
                backlog += self._gather_calls(N_MOST - len(backlog))
                batch = _kin(backlog)
                live = [call for call in batch if call.future.set_running_or_notify_cancel()]
                self._count(len(live))
                _answer(engine, live)
            # Nothing may end this thread, a panic of llguidance (no Exception) least of all.
            except BaseException as error:
                _fail(batch, error)
            self.load.n_ended += len(batch)
            backlog = [call for call in backlog if call not in batch]

    def _count(self, n_calls: int) -> None:
        self.load.n_batches += 1
        self.load.n_batched += n_calls
        self.load.n_largest = max(self.load.n_largest, n_calls)

    def _gather_calls(self, n_most: int) -> list[_Call]:
        """Return the calls that wait, and those that follow without a pause of `QUIET_S`."""
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
    """Hand an error to the callers that still wait; one that is no `Exception` as `ModelError`."""
    if not isinstance(error, Exception):
        cause, error = error, ModelError(f"the embedded judge broke down: {error!r}")
        error.__cause__ = cause
    for call in calls:
        future = call.future
        # A future that does not run yet may be cancelled at any moment, also just now.
        if future.running() or (not future.done() and future.set_running_or_notify_cancel()):
            future.set_exception(error)


def _answer(engine: Engine, calls: list[_Call]) -> None:
    fitting: list[_Call] = []
    for call in calls:
        try:
            engine.check(call.prompt)
            fitting.append(call)
        except ModelError as error:
            call.future.set_exception(error)
    if fitting:
        engine.answer(
            [call.prompt for call in fitting],
            lambda position, reply: fitting[position].future.set_result(reply),
        )


def _kin(calls: list[_Call]) -> list[_Call]:
    """Return the first call and those that share at least half of its text, as many as fit."""
    first = calls[0].prompt.text
    kin, longest = calls[:1], len(first)
    for call in calls[1:]:
        text = call.prompt.text
        width = max(longest, len(text))
        is_kin = 2 * common_prefix_length(first, text) >= len(first)
        if is_kin and len(kin) < N_MOST and (len(kin) + 1) * width <= N_CHARS_MOST:
            kin.append(call)
            longest = width
    return kin

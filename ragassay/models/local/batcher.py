"""One thread that owns the engine; calls that wait together are answered together."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragassay.errors import PromptTooLongError

if TYPE_CHECKING:
    from ragassay.models.local.engine import Engine, Prompt, Reply

QUIET_S = 0.05
"""A batch starts when no further call has come for so long."""

N_MOST = 64
"""Calls answered in one batch at the most: their keys and values are held together."""


@dataclass(eq=False)
class _Call:
    prompt: Prompt
    future: Future[Reply] = field(default_factory=Future)


class Batcher:
    """Answers prompts from any thread; the engine is built by the first of them.

    Args:
        build: Loads the engine; what it raises goes to every caller that waits.
    """

    def __init__(self, build: Callable[[], Engine]) -> None:
        self._build = build
        self._waiting: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, prompt: Prompt) -> Future[Reply]:
        """Queue a prompt; the future ends with its reply or its `ModelError`."""
        call = _Call(prompt)
        with self._lock:
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
            backlog += self._gathered(wait=not backlog)
            batch = _kin(backlog)
            backlog = [call for call in backlog if call not in batch]
            live = [call for call in batch if call.future.set_running_or_notify_cancel()]
            try:
                engine = engine or self._build()
                _answer(engine, live)
            except BaseException as error:  # the callers' threads are where it must surface
                for call in live:
                    if not call.future.done():
                        call.future.set_exception(error)

    def _gathered(self, wait: bool) -> list[_Call]:
        """All calls that wait, and those that follow before `QUIET_S` pass without one."""
        calls: list[_Call] = []
        try:
            if wait:
                calls.append(self._waiting.get())
            while len(calls) < N_MOST:
                calls.append(self._waiting.get(timeout=QUIET_S if wait else 0))
        except queue.Empty:
            pass
        return calls


def _answer(engine: Engine, calls: list[_Call]) -> None:
    fitting: list[_Call] = []
    for call in calls:
        try:
            engine.check_length(call.prompt)
            fitting.append(call)
        except PromptTooLongError as error:
            call.future.set_exception(error)
    if fitting:
        engine.answer(
            [call.prompt for call in fitting],
            lambda position, reply: fitting[position].future.set_result(reply),
        )


def _kin(calls: list[_Call]) -> list[_Call]:
    """The first call and those that share at least half of its text from the start."""
    first = calls[0].prompt.text
    shared = first[: len(first) // 2]
    return [call for call in calls if call.prompt.text.startswith(shared)][:N_MOST]

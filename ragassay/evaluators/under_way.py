"""Equal questions that are asked at the same time are asked once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

KEPT_S = 1.0
"""An answer is kept for so long after it came: by then the cache of verdicts has it."""


class UnderWay:
    """The questions that are being asked, by the key of their verdicts.

    The cache knows what was answered; this knows what is about to be.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._answers: dict[str, asyncio.Future[Any]] = {}

    async def once(self, key: str, ask: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
        """Return the answer to a question, and whether it was asked here.

        Where it is being asked already, wait for that answer; if none comes, ask.

        Args:
            key: What the answer depends on; an empty one is no other's.
            ask: Asks the question.
        """
        if not key:
            return await ask(), True
        answers = self._of_loop()
        while key in answers:
            waited = answers[key]
            await asyncio.wait([waited])
            if not waited.cancelled():
                return waited.result(), False
        loop = asyncio.get_running_loop()
        answer = answers[key] = loop.create_future()
        try:
            found = await ask()
        except BaseException:
            del answers[key]
            answer.cancel()  # a waiter asks then, with tries of its own
            raise
        answer.set_result(found)
        loop.call_later(KEPT_S, answers.pop, key, None)
        return found, True

    def _of_loop(self) -> dict[str, asyncio.Future[Any]]:
        """Return the questions of the running loop; those of one that has ended are forgotten."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._answers = loop, {}
        return self._answers

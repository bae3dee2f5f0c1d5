"""Equal questions that are asked at the same time are asked once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


class UnderWay:
    """The questions that are being asked, by the key of their verdicts.

    The cache knows what was answered; this knows what is about to be.
    """

    def __init__(self) -> None:
        self._answers: dict[str, asyncio.Future[Any]] = {}

    async def once(self, key: str, ask: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
        """Return the answer to a question, and whether it was asked here.

        Where it is being asked already, wait for that answer; if none comes, ask.

        Args:
            key: What the answer depends on; an empty one is no other's.
            ask: Asks the question.
        """
        while key in self._answers:
            waited = self._answers[key]
            await asyncio.wait([waited])
            if not waited.cancelled():
                return waited.result(), False
        if not key:
            return await ask(), True
        answer = self._answers[key] = asyncio.get_running_loop().create_future()
        try:
            found = await ask()
            answer.set_result(found)
        finally:
            del self._answers[key]
            if not answer.done():  # a waiter asks then, with tries of its own
                answer.cancel()
        return found, True

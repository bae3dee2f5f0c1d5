"""The one event loop of a compile job, for DSPy's optimizers, which call from threads.

All calls share it: a judge's semaphore and its HTTP connections belong to the loop that first uses
them, and DSPy's `syncify` would run a loop for each call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from ragassay.errors import RagassayError


class JobStopped(BaseException):
    """The end of a job that cannot go on. Not an `Exception`: optimizers score those as zero.

    Attributes:
        reason: The message for the user.
    """

    def __init__(self, reason: RagassayError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class JobLoop:
    """A thread that runs asynchronous calls; open it with `opened_loop`."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal

    def wait(self, call: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Run a call in the loop, from any other thread, and return its result.

        The caller's context variables, and so DSPy's settings, apply in it.

        Raises:
            JobStopped: The loop has ended or ends meanwhile, so that no caller waits for ever.
        """
        try:
            found, error = self._portal.call(_outcome, call, *arguments)
        except (RuntimeError, CancelledError) as ended:
            raise JobStopped(RagassayError("the job has ended")) from ended
        if error is not None:
            raise error
        return found


async def _outcome(
    call: Callable[..., Awaitable[Any]], *arguments: Any
) -> tuple[Any, BaseException | None]:
    """Return errors as values: one that is not an `Exception` would end the loop."""
    try:
        return await call(*arguments), None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error


@contextmanager
def opened_loop() -> Iterator[JobLoop]:
    """Start the loop; at the end wait for open calls, or cancel them after an error."""
    with start_blocking_portal() as portal:
        yield JobLoop(portal)

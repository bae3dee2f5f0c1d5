"""DSPy language model that stores replies, and stops an optimization job at a limit."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dspy
from anyio.from_thread import BlockingPortal, start_blocking_portal

from ragassay.errors import (
    BudgetError,
    FatalModelError,
    ModelError,
    PromptTooLongError,
    RagassayError,
    RefusedError,
    StorageError,
    TransientModelError,
    UnparsableReplyError,
)
from ragassay.model_names import is_local
from ragassay.models.gateway import JudgeLM, meter_calls
from ragassay.optimizers.compiling.memory import Memory, StoredReply, hash_request
from ragassay.prompts.texts import load_proposals


class JobStopped(BaseException):
    """`BaseException` that stops a job, because optimizers would score an `Exception` as 0."""

    def __init__(self, reason: RagassayError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class JobLoop:
    """Event loop in a separate thread, started by `open_loop`."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal

    def wait(self, call: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Run an async call in the loop from another thread, and return its result.

        The call uses the caller's context variables, including DSPy's settings.

        Raises:
            JobStopped: The loop has ended.
        """
        try:
            result, error = self._portal.call(_catch_error, call, *arguments)
        except (RuntimeError, CancelledError) as ended:
            raise JobStopped(RagassayError("the job has ended")) from ended
        if error is not None:
            raise error
        return result


async def _catch_error(
    call: Callable[..., Awaitable[Any]], *arguments: Any
) -> tuple[Any, BaseException | None]:
    """Return an error instead of raising it, because a `BaseException` would end the loop."""
    try:
        return await call(*arguments), None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error


@contextmanager
def open_loop() -> Iterator[JobLoop]:
    """Start an event loop. On exit, wait for running calls or, after an error, cancel them."""
    with start_blocking_portal() as portal:
        yield JobLoop(portal)


RESUME_HINT = "nothing is lost; run the same command with a higher limit to continue"

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 20.0

_FINAL: Mapping[str, type[ModelError]] = {
    "unparsable": UnparsableReplyError,
    "refused": RefusedError,
    "too_long": PromptTooLongError,
}
"""Errors that are permanent, and are therefore stored like replies."""


@dataclass
class Budget:
    """Limits on the total cost and number of calls of a job, including earlier runs of the job.

    Attributes:
        max_usd: Maximum cost, or None for no limit.
        max_calls: Maximum number of calls, or None for no limit.
        n_in_flight: Number of calls in progress, whose cost is not yet known.
        stopped: Error that further calls raise after the job was stopped.
    """

    max_usd: float | None = None
    max_calls: int | None = None
    n_in_flight: int = 0
    stopped: JobStopped | None = None

    def check(self, memory: Memory, model: str) -> None:
        """Check that the budget covers another call at the average cost of the previous calls.

        Raises:
            JobStopped: A limit was reached, or the price of the model is unknown.
        """
        if self.stopped is not None:
            raise self.stopped
        n_made = memory.usage.n_calls
        if self.max_calls is not None and n_made + self.n_in_flight >= self.max_calls:
            self.stop(BudgetError(f"--max-calls {self.max_calls} reached; {RESUME_HINT}"))
        if self.max_usd is None or is_local(model):
            return
        spent = memory.usage.cost_usd
        if spent is None:
            self.stop(
                BudgetError(f"--max-usd cannot be used because the price of {model} is unknown")
            )
        elif spent + (spent / n_made if n_made else 0.0) * (self.n_in_flight + 1) > self.max_usd:
            cost = f"{n_made} calls cost {spent:.4f} USD"
            self.stop(BudgetError(f"--max-usd {self.max_usd:g} reached: {cost}; {RESUME_HINT}"))

    def stop(self, reason: RagassayError) -> None:
        """Stop the job and prevent further calls.

        Raises:
            JobStopped: Always.
        """
        self.stopped = self.stopped or JobStopped(reason)
        raise self.stopped


@dataclass(frozen=True)
class Shared:
    """State shared by the models of a job.

    `in_flight` contains unfinished requests, keyed by hash.
    """

    loop: JobLoop
    memory: Memory
    budget: Budget
    max_attempts: int = 5
    in_flight: dict[str, asyncio.Future[StoredReply]] = field(
        default_factory=dict[str, "asyncio.Future[StoredReply]"]
    )

    async def settle(self) -> None:
        """Wait for unfinished calls, so that their replies are stored."""
        await asyncio.gather(*self.in_flight.values(), return_exceptions=True)


class CompilingLM(dspy.BaseLM):
    """DSPy language model whose replies come from a judge."""

    def __init__(self, judge: JudgeLM, shared: Shared) -> None:
        super().__init__(judge.model, cache=False)
        self.kwargs = {}  # Only for options of copies, such as a temperature.
        self.takes_schema = judge.takes_schema
        self.judge = judge
        self.shared = shared

    def __call__(
        self, prompt: str | None = None, *, messages: Any = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """Call `acall` from any thread other than the loop's thread.

        Raises:
            ModelError: The call failed.
        """
        call = functools.partial(self.acall, prompt, messages=messages, **kwargs)
        return self.shared.loop.wait(call)

    async def acall(
        self, prompt: str | None = None, *, messages: Any = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """Return `n` replies (1 by default) in the format of DSPy's adapters.

        Raises:
            ModelError: The call failed.
        """
        request = list(messages or [{"role": "user", "content": prompt}])
        options = self.kwargs | kwargs
        n, draw = options.pop("n", None) or 1, options.pop("rollout_id", None) or 0
        draws = range(draw, draw + n)
        return list(
            await asyncio.gather(*(self._request_reply(request, options, d) for d in draws))
        )

    async def _request_reply(
        self, messages: list[dict[str, Any]], options: dict[str, Any], draw: int
    ) -> dict[str, Any]:
        if draw and is_local(self.model):
            messages = _reword_request(messages, draw)
        # The key contains the draw, because repeated requests should get different replies.
        sent = {name: value for name, value in options.items() if value is not None}
        own = {k: v for k, v in self.judge.kwargs.items() if k != "api_base" and k not in options}
        key = hash_request(self.model, messages, own | sent | {"draw": draw})
        reply = self.shared.memory.find_reply(key) or await self._share_request(
            key, messages, options
        )
        if reply.failure is not None:
            raise _FINAL[reply.failure](reply.detail)
        return {"text": reply.text, "logprobs": _parse_logprobs(reply.logprobs)}

    async def _share_request(
        self, key: str, messages: list[dict[str, Any]], options: dict[str, Any]
    ) -> StoredReply:
        """Make a request. If an identical request is in progress, wait for its reply."""
        waiting = self.shared.in_flight.get(key)
        if waiting is None:
            waiting = asyncio.ensure_future(self._ask(key, messages, options))
            self.shared.in_flight[key] = waiting
            waiting.add_done_callback(lambda done: self.shared.in_flight.pop(key, None))
        # A cancelled caller must not cancel a request that other callers share.
        return await asyncio.shield(waiting)

    async def _ask(
        self, key: str, messages: list[dict[str, Any]], options: dict[str, Any]
    ) -> StoredReply:
        budget, memory, pause = self.shared.budget, self.shared.memory, FIRST_PAUSE_S
        for attempt in range(1, self.shared.max_attempts + 1):
            budget.check(memory, self.model)
            budget.n_in_flight += 1
            try:
                reply = await self._send_request(key, messages, options)
                memory.keep(reply)
                return reply
            except TransientModelError as error:
                if attempt == self.shared.max_attempts:
                    budget.stop(error)
            except (FatalModelError, StorageError) as error:
                budget.stop(error)
            finally:
                budget.n_in_flight -= 1
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
        raise AssertionError("unreachable")

    async def _send_request(
        self, key: str, messages: list[dict[str, Any]], options: dict[str, Any]
    ) -> StoredReply:
        with meter_calls() as meter:
            try:
                reply = (await self.judge.acall(messages=messages, **options))[0]
            except (UnparsableReplyError, RefusedError, PromptTooLongError) as error:
                return StoredReply(
                    key=key, failure=error.reason, detail=str(error), usage=meter.usage
                )
        logprobs = reply["logprobs"]
        dumped = logprobs.model_dump(mode="json") if logprobs is not None else None
        return StoredReply(key=key, text=reply["text"], logprobs=dumped, usage=meter.usage)


def _reword_request(messages: Sequence[dict[str, Any]], draw: int) -> list[dict[str, Any]]:
    """Add a line to a repeated request, because the embedded model is deterministic."""
    *before, last = messages
    again = load_proposals().again.replace("{number}", str(draw + 1))
    return [*before, last | {"content": f"{last['content']}\n{again}"}]


def _parse_logprobs(dumped: dict[str, Any] | None) -> Any:
    from litellm.types.utils import ChoiceLogprobs

    return None if dumped is None else ChoiceLogprobs.model_validate(dumped)

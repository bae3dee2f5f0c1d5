"""The model of a compile job: a judge with a memory and a budget, on one event loop."""

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
from ragassay.optimizers.compiling.memory import Memory, StoredReply, request_key
from ragassay.prompts.texts import load_proposals


class JobStopped(BaseException):
    """The end of a job that cannot go on. Not an `Exception`: optimizers score those as zero."""

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


GOES_ON = "nothing is lost, and the same command with a higher limit continues from here"

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 20.0

_FINAL: Mapping[str, type[ModelError]] = {
    "unparsable": UnparsableReplyError,
    "refused": RefusedError,
    "too_long": PromptTooLongError,
}
"""Errors that a repeated request would give again: they are stored too."""


@dataclass
class Budget:
    """The money and the calls that a job may spend, earlier starts counted in; None for no limit.

    Calls under way are not paid yet; where it is stopped, no further call may be made.
    """

    max_usd: float | None = None
    max_calls: int | None = None
    n_in_flight: int = 0
    stopped: JobStopped | None = None

    def check(self, memory: Memory, model: str) -> None:
        """Refuse a call that the budget cannot cover.

        A call is assumed to cost the average of the calls so far.

        Raises:
            JobStopped: The money or the calls are spent, or the model's price is unknown.
        """
        if self.stopped is not None:
            raise self.stopped
        n_made = memory.usage.n_calls
        if self.max_calls is not None and n_made + self.n_in_flight >= self.max_calls:
            self.stop(BudgetError(f"--max-calls {self.max_calls}: that many are made; {GOES_ON}"))
        if self.max_usd is None or is_local(model):
            return
        spent, n = memory.usage.cost_usd, n_made
        if spent is None:
            self.stop(BudgetError(f"--max-usd: the price of {model} is not known; leave it out"))
        elif spent + (spent / n if n else 0.0) * (self.n_in_flight + 1) > self.max_usd:
            told = f"{spent:.4f} USD are spent on {n} calls"
            self.stop(BudgetError(f"--max-usd {self.max_usd:g}: {told}; {GOES_ON}"))

    def stop(self, reason: RagassayError) -> None:
        """Refuse all further calls.

        Raises:
            JobStopped: Always.
        """
        self.stopped = self.stopped or JobStopped(reason)
        raise self.stopped


@dataclass(frozen=True)
class Shared:
    """The state that the models of a job share; others may wait for the calls under way, by key."""

    loop: JobLoop
    memory: Memory
    budget: Budget
    max_attempts: int = 5
    in_flight: dict[str, asyncio.Future[StoredReply]] = field(
        default_factory=dict[str, "asyncio.Future[StoredReply]"]
    )

    async def settle(self) -> None:
        """Wait for the open calls: they are paid for, so their replies are stored."""
        await asyncio.gather(*self.in_flight.values(), return_exceptions=True)


class CompilingLM(dspy.BaseLM):
    """A judge in the form that DSPy's optimizers and the agents need."""

    def __init__(self, judge: JudgeLM, shared: Shared) -> None:
        super().__init__(judge.model, cache=False)
        # Only a copy's options, such as a temperature; the judge has its own.
        self.kwargs = {}
        self.takes_schema = judge.takes_schema
        self.judge = judge
        self.shared = shared

    def __call__(
        self, prompt: str | None = None, *, messages: Any = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """Make a call as `acall` does, from any thread but the loop's.

        Raises:
            ModelError: One of its children; see `ragassay.errors`.
        """
        call = functools.partial(self.acall, prompt, messages=messages, **kwargs)
        return self.shared.loop.wait(call)

    async def acall(
        self, prompt: str | None = None, *, messages: Any = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """Return replies as DSPy's adapters expect them; `n` of them if requested.

        Raises:
            ModelError: One of its children; see `ragassay.errors`.
        """
        asked = list(messages or [{"role": "user", "content": prompt}])
        options = self.kwargs | kwargs
        n, draw = options.pop("n", None) or 1, options.pop("rollout_id", None) or 0
        draws = [draw + place for place in range(n)]
        return list(await asyncio.gather(*(self._one(asked, options, d) for d in draws)))

    async def _one(
        self, messages: list[dict[str, Any]], options: dict[str, Any], draw: int
    ) -> dict[str, Any]:
        if draw and is_local(self.model):
            messages = _reword_request(messages, draw)
        # The draw is part of the key: a repeated request must give another reply.
        told = {name: value for name, value in options.items() if value is not None}
        own = {k: v for k, v in self.judge.kwargs.items() if k != "api_base" and k not in options}
        key = request_key(self.model, messages, own | told | {"draw": draw})
        found = self.shared.memory.recall(key) or await self._share_request(key, messages, options)
        if found.failure is not None:
            raise _FINAL[found.failure](found.detail)
        return {"text": found.text, "logprobs": _logprobs(found.logprobs)}

    async def _share_request(
        self, key: str, messages: list[dict[str, Any]], options: dict[str, Any]
    ) -> StoredReply:
        """Make a request, or wait for another caller's identical one."""
        waiting = self.shared.in_flight.get(key)
        if waiting is None:
            waiting = asyncio.ensure_future(self._ask(key, messages, options))
            self.shared.in_flight[key] = waiting
            waiting.add_done_callback(lambda done: self.shared.in_flight.pop(key, None))
        # A caller that gives up must not cancel it for the others.
        return await asyncio.shield(waiting)

    async def _ask(
        self, key: str, messages: list[dict[str, Any]], options: dict[str, Any]
    ) -> StoredReply:
        budget, memory, pause = self.shared.budget, self.shared.memory, FIRST_PAUSE_S
        for attempt in range(1, self.shared.max_attempts + 1):
            budget.check(memory, self.model)
            budget.n_in_flight += 1
            try:
                found = await self._send_request(key, messages, options)
                memory.keep(found)
                return found
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
    """Reword a request slightly: the embedded model samples nothing at random."""
    *before, last = messages
    again = load_proposals().again.replace("{number}", str(draw + 1))
    return [*before, last | {"content": f"{last['content']}\n{again}"}]


def _logprobs(dumped: dict[str, Any] | None) -> Any:
    from litellm.types.utils import ChoiceLogprobs

    return None if dumped is None else ChoiceLogprobs.model_validate(dumped)

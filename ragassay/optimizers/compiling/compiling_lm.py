"""The model of a compile job: a judge that remembers, keeps to a budget, and can be called in step.

`JudgeLM` is asynchronous, and its semaphore belongs to one event loop. DSPy's optimizers call from
many threads and wait: here every call, of either kind, goes through the job's one loop.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy

from ragassay.errors import (
    BudgetError,
    FatalModelError,
    ModelError,
    PromptTooLongError,
    RagassayError,
    RefusedError,
    TransientModelError,
    UnparsableReplyError,
)
from ragassay.model_names import is_local
from ragassay.models.gateway import JudgeLM, metered
from ragassay.optimizers.compiling.loop import JobLoop, JobStopped
from ragassay.optimizers.compiling.memory import Memory, Remembered, request_key
from ragassay.prompts.proposals import load_proposals

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 20.0

_FINAL: Mapping[str, type[ModelError]] = {
    "unparsable": UnparsableReplyError,
    "refused": RefusedError,
    "too_long": PromptTooLongError,
}
"""What comes out the same, asked again: it is remembered too."""


@dataclass
class Budget:
    """The money that a job may spend.

    Attributes:
        max_usd: What may be spent; None for no limit.
        n_under_way: Calls that were begun and are not paid yet.
        stopped: Why nothing more may be asked.
    """

    max_usd: float | None = None
    n_under_way: int = 0
    stopped: JobStopped | None = None

    def check(self, memory: Memory, model: str) -> None:
        """Refuse a further call that could not be paid.

        A call is taken to cost what the calls so far cost on average.

        Raises:
            JobStopped: The money is spent, or nobody knows what the model costs.
        """
        if self.stopped is not None:
            raise self.stopped
        if self.max_usd is None or is_local(model):
            return
        spent, n = memory.usage.cost_usd, memory.usage.n_calls
        if spent is None:
            self.stop(BudgetError(f"--max-usd: the price of {model} is not known; leave it out"))
        elif spent + (spent / n if n else 0.0) * (self.n_under_way + 1) > self.max_usd:
            self.stop(
                BudgetError(
                    f"--max-usd {self.max_usd:g}: {spent:.4f} USD are spent on {n} calls; nothing "
                    "is lost, and the same command with more goes on from here"
                )
            )

    def stop(self, reason: RagassayError) -> None:
        """Let no further call through.

        Raises:
            JobStopped: Always.
        """
        self.stopped = self.stopped or JobStopped(reason)
        raise self.stopped


@dataclass(frozen=True)
class Shared:
    """What the models of a job share.

    Attributes:
        loop: All calls run in it.
        memory: Replies by content.
        budget: Lets a call through, or stops the job.
        max_attempts: How often a call is tried that fails for a passing reason.
        under_way: Calls that another caller waits for too, by key.
    """

    loop: JobLoop
    memory: Memory
    budget: Budget
    max_attempts: int = 5
    under_way: dict[str, asyncio.Future[Remembered]] = field(
        default_factory=dict[str, "asyncio.Future[Remembered]"]
    )

    async def settle(self) -> None:
        """Wait for the calls that are under way: they are paid for, so they are kept."""
        await asyncio.gather(*self.under_way.values(), return_exceptions=True)


class CompilingLM(dspy.BaseLM):
    """A judge as DSPy's optimizers and the agents see it.

    Args:
        judge: What is asked in the end.
        shared: What it shares with the job's other models.
    """

    def __init__(self, judge: JudgeLM, shared: Shared) -> None:
        super().__init__(judge.model, cache=False)
        # Options are the judge's own; those of a copy, such as a temperature, come here.
        self.kwargs = {}
        self.takes_schema = judge.takes_schema
        self.judge = judge
        self.shared = shared

    def __call__(
        self, prompt: str | None = None, *, messages: Any = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """As `acall`, from any thread but the loop's.

        Raises:
            ModelError: One of its children; see `ragassay.errors`.
        """
        call = functools.partial(self.acall, prompt, messages=messages, **kwargs)
        return self.shared.loop.wait(call)

    async def acall(
        self, prompt: str | None = None, *, messages: Any = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """Replies as DSPy's adapters expect them; `n` of them where that is asked for.

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
            messages = _reworded(messages, draw)
        # The draw is part of the key: the same request again is to give another reply.
        told = {name: value for name, value in options.items() if value is not None}
        own = {k: v for k, v in self.judge.kwargs.items() if k != "api_base" and k not in options}
        key = request_key(self.model, messages, own | told | {"draw": draw})
        found = self.shared.memory.recall(key) or await self._shared(key, messages, options)
        if found.failure is not None:
            raise _FINAL[found.failure](found.detail)
        return {"text": found.text, "logprobs": _logprobs(found.logprobs)}

    async def _shared(
        self, key: str, messages: list[dict[str, Any]], options: dict[str, Any]
    ) -> Remembered:
        """Ask, unless somebody else is asking the same."""
        waiting = self.shared.under_way.get(key)
        if waiting is None:
            waiting = asyncio.ensure_future(self._ask(key, messages, options))
            self.shared.under_way[key] = waiting
            waiting.add_done_callback(lambda done: self.shared.under_way.pop(key, None))
        # Who no longer waits takes it from nobody else.
        return await asyncio.shield(waiting)

    async def _ask(
        self, key: str, messages: list[dict[str, Any]], options: dict[str, Any]
    ) -> Remembered:
        budget, memory, pause = self.shared.budget, self.shared.memory, FIRST_PAUSE_S
        for attempt in range(1, self.shared.max_attempts + 1):
            budget.check(memory, self.model)
            budget.n_under_way += 1
            try:
                found = await self._asked(key, messages, options)
            except TransientModelError as error:
                if attempt == self.shared.max_attempts:
                    budget.stop(error)
            except FatalModelError as error:
                budget.stop(error)
            else:
                memory.keep(found)
                return found
            finally:
                budget.n_under_way -= 1
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
        raise AssertionError("unreachable")

    async def _asked(
        self, key: str, messages: list[dict[str, Any]], options: dict[str, Any]
    ) -> Remembered:
        with metered() as meter:
            try:
                reply = (await self.judge.acall(messages=messages, **options))[0]
            except (UnparsableReplyError, RefusedError, PromptTooLongError) as error:
                return Remembered(
                    key=key, failure=error.reason, detail=str(error), usage=meter.usage
                )
        logprobs = reply["logprobs"]
        dumped = logprobs.model_dump(mode="json") if logprobs is not None else None
        return Remembered(key=key, text=reply["text"], logprobs=dumped, usage=meter.usage)


def _reworded(messages: Sequence[dict[str, Any]], draw: int) -> list[dict[str, Any]]:
    """The same request in other words: the embedded model draws nothing at random."""
    *before, last = messages
    again = load_proposals().again.replace("{number}", str(draw + 1))
    return [*before, last | {"content": f"{last['content']}\n{again}"}]


def _logprobs(dumped: dict[str, Any] | None) -> Any:
    from litellm.types.utils import ChoiceLogprobs

    return None if dumped is None else ChoiceLogprobs.model_validate(dumped)

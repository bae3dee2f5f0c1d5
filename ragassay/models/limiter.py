"""Bounds of all model calls of a run together: calls a minute by endpoint, and money."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ragassay.errors import BudgetError

if TYPE_CHECKING:
    from ragassay.settings import Settings


HEADROOM = 0.98
"""Share of a bound that is used: at the bound itself, calls that come a moment late break it."""

UNKNOWN_PRICE = "max_usd: the price of a judge is not known; leave the bound out"


class Limiter(Protocol):
    """Admits model calls; each admitted call is settled."""

    async def admit(self, endpoint: str) -> None:
        """Wait until a call to an endpoint may begin.

        Raises:
            BudgetError: The money is spent, or nobody knows what is spent.
        """
        ...

    async def settle(self, cost_usd: float | None, n_tokens: int = 0) -> None:
        """Count what an admitted call has cost; None where its price is unknown."""
        ...

    async def n_tokens(self) -> int:
        """Return how many tokens were sent and received, in this start of the run."""
        ...

    async def hold(self, endpoint: str, wait_s: float) -> None:
        """Admit no call to an endpoint for so many seconds: it has asked for the pause."""
        ...


class RunLimiter:
    """The bounds of a run in one process.

    Args:
        max_rpm: Most calls a minute to each endpoint, evenly spaced; 0 for no bound. `HEADROOM` of
            it is used.
        max_usd: Most cost; None for no bound.

    Attributes:
        spent_usd: What the run has spent; None where a price is unknown.
    """

    def __init__(self, max_rpm: int = 0, max_usd: float | None = None) -> None:
        self.spent_usd: float | None = 0.0
        self._gap_s = 60 / (HEADROOM * max_rpm) if max_rpm else 0.0
        self._max_usd = max_usd
        self._n_completed = self._n_in_flight = self._n_tokens = 0
        self._completed_usd = 0.0
        self._next: dict[str, float] = {}
        self._paused: dict[str, float] = {}

    @classmethod
    def of(cls, settings: Settings) -> RunLimiter:
        """Return the bounds that the settings name."""
        # A batch is one call: providers count its requests apart from those of a minute.
        return cls(0 if settings.limits.batch else settings.limits.max_rpm, settings.limits.max_usd)

    @property
    def n_priced(self) -> int:
        """Number of calls that the mean cost of a call is known from."""
        return self._n_completed

    def count(self, cost_usd: float | None, n_calls: int = 0) -> None:
        """Count what was spent in another process, or by an earlier start of the run.

        Args:
            cost_usd: What was spent; None where a price is unknown.
            n_calls: Number of calls that it paid for, if the next call may cost as much as they
                did; 0 where that is not known.
        """
        if n_calls and cost_usd:
            self._n_completed += n_calls
            self._completed_usd += cost_usd
        unknown = self.spent_usd is None or cost_usd is None
        self.spent_usd = None if unknown else (self.spent_usd or 0.0) + (cost_usd or 0.0)

    async def admit(self, endpoint: str) -> None:
        """Wait until a call to an endpoint may begin, and count it as under way."""
        self._check_budget()
        self._n_in_flight += 1
        is_admitted = False
        try:
            await self._turn(endpoint)
            is_admitted = True
        finally:
            self._n_in_flight -= not is_admitted

    async def settle(self, cost_usd: float | None, n_tokens: int = 0) -> None:
        """Count what an admitted call has cost."""
        self._n_in_flight -= 1
        self._n_tokens += n_tokens
        self._n_completed += cost_usd != 0.0  # what failed, or runs here, says nothing of a price
        self._completed_usd += cost_usd or 0.0
        self.count(cost_usd)

    async def n_tokens(self) -> int:
        """Return how many tokens the settled calls took."""
        return self._n_tokens

    async def hold(self, endpoint: str, wait_s: float) -> None:
        """Admit no call to an endpoint for so many seconds."""
        until = time.monotonic() + wait_s
        if until > self._paused.get(endpoint, 0.0):
            self._paused[endpoint] = until
            self._next[endpoint] = max(until, self._next.get(endpoint, 0.0))

    async def _turn(self, endpoint: str) -> None:
        """Wait for the call's place in the row; take a new one where a pause came between."""
        while True:
            now, until = time.monotonic(), self._paused.get(endpoint, 0.0)
            at = max(now, until, self._next.get(endpoint, 0.0) if self._gap_s else 0.0)
            if self._gap_s:
                self._next[endpoint] = at + self._gap_s
            if at > now:
                await asyncio.sleep(at - now)
            if self._paused.get(endpoint, 0.0) == until:
                return

    def check_estimate(self, estimate_usd: float | None) -> None:
        """Refuse calls whose highest cost is more than what is left.

        Args:
            estimate_usd: Their highest cost; None where a price is unknown.

        Raises:
            BudgetError: It is more, or unknown, and the money is bounded.
        """
        if self._max_usd is None:
            return
        if self.spent_usd is None or estimate_usd is None:
            raise BudgetError(UNKNOWN_PRICE)
        if self.spent_usd + estimate_usd > self._max_usd:
            raise BudgetError(
                f"max_usd is {self._max_usd:g}: {self.spent_usd:.4f} USD are spent, and the next "
                f"question may cost {estimate_usd:.4f} USD; nothing is lost, and the same "
                "command with a higher limit continues from here"
            )

    def _check_budget(self) -> None:
        """Refuse a call that the money cannot cover, if it costs as much as the others did."""
        if self._max_usd is None:
            return
        if self.spent_usd is None:
            raise BudgetError(UNKNOWN_PRICE)
        mean = self._completed_usd / self._n_completed if self._n_completed else 0.0
        if self.spent_usd + mean * (self._n_in_flight + 1) > self._max_usd:
            raise BudgetError(
                f"max_usd is {self._max_usd:g}: {self.spent_usd:.4f} USD are spent; nothing is "
                "lost, and the same command with a higher limit continues from here"
            )


_LIMITER: contextvars.ContextVar[Limiter | None] = contextvars.ContextVar(
    "ragassay_limiter", default=None
)


@contextmanager
def limit_calls(limiter: Limiter) -> Iterator[None]:
    """Bound the model calls of the enclosed code, including those of tasks that it starts."""
    token = _LIMITER.set(limiter)
    try:
        yield
    finally:
        _LIMITER.reset(token)


def limiter_or(own: Limiter) -> Limiter:
    """Return the limiter of the run that calls; outside of one, a model's own."""
    return _LIMITER.get() or own

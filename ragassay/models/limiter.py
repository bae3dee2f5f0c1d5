"""Limits on all model calls of a run: calls per minute to each endpoint, and total cost."""

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
"""Fraction of the rate limit that is used, so that delayed calls do not exceed the limit."""

UNKNOWN_PRICE = (
    "max_usd requires the price of every judge, but at least one price is unknown; remove max_usd"
)
_CONTINUE = "finished work is stored; run the same command with a higher limit to continue"


class Limiter(Protocol):
    """Limiter of model calls. `settle` must be called after every call admitted by `admit`."""

    async def admit(self, endpoint: str) -> None:
        """Wait until a call may start.

        Raises `BudgetError` if the budget is spent or a price is unknown.
        """
        ...

    async def settle(self, cost_usd: float | None, n_tokens: int = 0) -> None:
        """Record the cost of an admitted call, or None if its price is unknown."""
        ...

    async def count_spent_tokens(self) -> int:
        """Return the number of tokens sent and received since the run was started or resumed."""
        ...

    async def hold(self, endpoint: str, wait_s: float) -> None:
        """Pause calls to an endpoint for the number of seconds that the endpoint requested."""
        ...


class RunLimiter:
    """Limits for a run in one process.

    Args:
        max_rpm: Maximum number of calls per minute to each endpoint. Calls are evenly spaced at
            `HEADROOM` times this rate. A maximum of 0 means no limit.
        max_usd: Maximum cost, or None for no limit.

    Attributes:
        spent_usd: Cost of the run so far, or None if a price is unknown.
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
    def from_settings(cls, settings: Settings) -> RunLimiter:
        """Create the limiter from the settings."""
        # A batch is a single call, and its requests do not count toward the rate limit.
        return cls(0 if settings.limits.batch else settings.limits.max_rpm, settings.limits.max_usd)

    @property
    def n_priced(self) -> int:
        """Number of calls used to compute the average cost per call."""
        return self._n_completed

    def count(self, cost_usd: float | None, n_calls: int = 0) -> None:
        """Add the cost of calls by another process or before the run was resumed.

        Args:
            cost_usd: Cost of the calls, or None if a price is unknown.
            n_calls: Number of calls with this total cost (0 if unknown), used to estimate the cost
                of the next call.
        """
        if n_calls and cost_usd:
            self._n_completed += n_calls
            self._completed_usd += cost_usd
        unknown = self.spent_usd is None or cost_usd is None
        self.spent_usd = None if unknown else (self.spent_usd or 0.0) + (cost_usd or 0.0)

    async def admit(self, endpoint: str) -> None:
        """Wait until a call to an endpoint may start, and count it as running."""
        self._check_budget()
        self._n_in_flight += 1
        is_admitted = False
        try:
            await self._wait_for_turn(endpoint)
            is_admitted = True
        finally:
            self._n_in_flight -= not is_admitted

    async def settle(self, cost_usd: float | None, n_tokens: int = 0) -> None:
        """Record the cost of an admitted call."""
        self._n_in_flight -= 1
        self._n_tokens += n_tokens
        self._n_completed += cost_usd != 0.0  # Failed and local calls do not indicate prices.
        self._completed_usd += cost_usd or 0.0
        self.count(cost_usd)

    async def count_spent_tokens(self) -> int:
        """Return the number of tokens in the calls whose cost was recorded."""
        return self._n_tokens

    async def hold(self, endpoint: str, wait_s: float) -> None:
        """Pause calls to an endpoint for a given number of seconds."""
        until = time.monotonic() + wait_s
        if until > self._paused.get(endpoint, 0.0):
            self._paused[endpoint] = until
            self._next[endpoint] = max(until, self._next.get(endpoint, 0.0))

    async def _wait_for_turn(self, endpoint: str) -> None:
        """Wait for a time slot, and get a new slot if the endpoint was paused in the meantime."""
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
        """Raise `BudgetError` if calls with this maximum cost may exceed the budget."""
        if self._max_usd is None:
            return
        if self.spent_usd is None or estimate_usd is None:
            raise BudgetError(UNKNOWN_PRICE)
        if self.spent_usd + estimate_usd > self._max_usd:
            raise BudgetError(
                f"max_usd is {self._max_usd:g}; {self.spent_usd:.4f} USD were spent, and the next "
                f"question may cost {estimate_usd:.4f} USD; {_CONTINUE}"
            )

    def _check_budget(self) -> None:
        """Raise `BudgetError` if the budget does not cover another call of average cost."""
        if self._max_usd is None:
            return
        if self.spent_usd is None:
            raise BudgetError(UNKNOWN_PRICE)
        mean = self._completed_usd / self._n_completed if self._n_completed else 0.0
        if self.spent_usd + mean * (self._n_in_flight + 1) > self._max_usd:
            raise BudgetError(
                f"max_usd is {self._max_usd:g}; {self.spent_usd:.4f} USD were spent; {_CONTINUE}"
            )


_LIMITER: contextvars.ContextVar[Limiter | None] = contextvars.ContextVar(
    "ragassay_limiter", default=None
)


@contextmanager
def limit_calls(limiter: Limiter) -> Iterator[None]:
    """Limit the model calls of the enclosed code, including the tasks that it starts."""
    token = _LIMITER.set(limiter)
    try:
        yield
    finally:
        _LIMITER.reset(token)


def get_current_limiter(default: Limiter) -> Limiter:
    """Return the limiter of the current run, or the model's own limiter outside a run."""
    return _LIMITER.get() or default

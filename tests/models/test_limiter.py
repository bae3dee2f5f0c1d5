"""Calls a minute and money are bounded over all model calls of a run."""

from __future__ import annotations

import asyncio

import pytest
from case_tables import each_case

from ragassay.errors import BudgetError
from ragassay.models import limiter as limiters
from ragassay.models.limiter import HEADROOM, RunLimiter, get_current_limiter, limit_calls

START = 1000.0


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """A clock that only sleeping moves: it stands where the last sleeper wakes up."""
    now = [START]
    give_way = asyncio.sleep

    async def sleep(seconds: float) -> None:
        until = now[0] + seconds
        await give_way(0)
        now[0] = max(now[0], until)

    monkeypatch.setattr(limiters.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(limiters.asyncio, "sleep", sleep)
    return now


async def admitted_at(limiter: RunLimiter, clock: list[float], n: int) -> list[float]:
    found = []
    for _ in range(n):
        await limiter.admit("one")
        found.append(clock[0] - START)
    return found


async def test_calls_to_an_endpoint_are_evenly_spaced(clock):
    found = await admitted_at(RunLimiter(max_rpm=3000), clock, 4)
    assert found == pytest.approx([n / 49 for n in range(4)])


async def test_other_endpoints_and_calls_without_a_bound_do_not_wait(clock):
    limiter = RunLimiter(max_rpm=60)
    await limiter.admit("one")
    await limiter.admit("other")
    assert await admitted_at(RunLimiter(), clock, 3) == [0.0, 0.0, 0.0]


async def test_an_endpoint_that_asks_for_a_pause_gets_it_and_then_no_crowd(clock):
    limiter = RunLimiter(max_rpm=60)
    await limiter.hold("one", 5.0)
    gap = 1 / HEADROOM
    assert await admitted_at(limiter, clock, 3) == pytest.approx([5.0, 5.0 + gap, 5.0 + 2 * gap])


async def test_a_pause_holds_those_that_wait_already(monkeypatch):
    now, sleeping = [START], asyncio.Event()
    wake = asyncio.Event()

    async def sleep(seconds: float) -> None:
        sleeping.set()
        await wake.wait()
        now[0] += seconds

    monkeypatch.setattr(limiters.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(limiters.asyncio, "sleep", sleep)
    limiter = RunLimiter(max_rpm=60)
    await limiter.admit("one")
    second = asyncio.create_task(limiter.admit("one"))
    await sleeping.wait()
    await limiter.hold("one", 30.0)
    wake.set()
    await second
    assert now[0] >= START + 30.0


async def test_a_longer_pause_is_not_cut_by_a_shorter_one(clock):
    limiter = RunLimiter()
    await limiter.hold("one", 9.0)
    await limiter.hold("one", 1.0)
    assert await admitted_at(limiter, clock, 1) == [9.0]


@each_case(
    ("spent_before", "costs", "n_in_flight"),
    [
        (0.0, [0.25] * 4, 0),
        # Calls in flight count with the mean of those before: 0.3 + 0.9 would be too much.
        (0.0, [0.3], 2),
        # Calls that failed do not make the others look cheap: 0.4 + 2 * 0.4.
        (0.0, [0.4, 0.0, 0.0], 1),
        # An earlier start has spent, too, which does not make a call look dear: 0.65 + 3 * 0.15.
        (1.5, [], 0),
        (0.5, [0.15], 2),
    ],
)
async def test_money_that_is_spent_stops_the_next_call(spent_before, costs, n_in_flight):
    limiter = RunLimiter(max_usd=1.0)
    if spent_before:
        limiter.count(spent_before)
    for cost_usd in costs:
        await limiter.admit("one")
        await limiter.settle(cost_usd)
    for _ in range(n_in_flight):
        await limiter.admit("one")
    told = f"max_usd is 1; {spent_before + sum(costs):.4f} USD were spent; finished work"
    with pytest.raises(BudgetError, match=told):
        await limiter.admit("one")


async def test_tokens_are_counted_as_calls_end():
    limiter = RunLimiter()
    for n_tokens in (7, 5):
        await limiter.admit("one")
        await limiter.settle(0.0, n_tokens)
    assert await limiter.count_spent_tokens() == 12


async def test_an_unknown_price_is_said_and_not_taken_for_nothing():
    limiter = RunLimiter(max_usd=1.0)
    await limiter.admit("one")
    await limiter.settle(None)
    with pytest.raises(BudgetError, match="requires the price of every judge"):
        await limiter.admit("one")


def test_a_model_uses_the_limiter_of_the_run_that_calls_it():
    own, shared = RunLimiter(), RunLimiter()
    assert get_current_limiter(own) is own
    with limit_calls(shared):
        assert get_current_limiter(own) is shared
    assert get_current_limiter(own) is own

"""Calls a minute and money are bounded over all model calls of a run."""

from __future__ import annotations

import asyncio

import pytest

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
    limiter = RunLimiter(max_rpm=3000)
    assert await admitted_at(limiter, clock, 4) == [
        0.0,
        *(pytest.approx(n / 49) for n in (1, 2, 3)),
    ]


async def test_each_endpoint_has_a_row_of_its_own(clock):
    limiter = RunLimiter(max_rpm=60)
    await limiter.admit("one")
    await limiter.admit("other")
    assert clock[0] == START


async def test_without_a_bound_nothing_waits(clock):
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


async def test_money_that_is_spent_stops_the_next_call():
    limiter = RunLimiter(max_usd=1.0)
    for _ in range(4):
        await limiter.admit("one")
        await limiter.settle(0.25)
    with pytest.raises(BudgetError, match=r"max_usd is 1; 1\.0000 USD were spent; finished work"):
        await limiter.admit("one")


async def test_calls_under_way_count_with_the_mean_of_those_before():
    limiter = RunLimiter(max_usd=1.0)
    await limiter.admit("one")
    await limiter.settle(0.3)
    await limiter.admit("one")  # 0.3 + 0.3
    await limiter.admit("one")  # 0.3 + 0.6
    with pytest.raises(BudgetError):
        await limiter.admit("one")  # would be 0.3 + 0.9


async def test_what_failed_does_not_make_the_others_look_cheap():
    limiter = RunLimiter(max_usd=1.0)
    for cost_usd in (0.4, 0.0, 0.0):
        await limiter.admit("one")
        await limiter.settle(cost_usd)
    await limiter.admit("one")
    with pytest.raises(BudgetError):
        await limiter.admit("one")  # would be 0.4 + 2 * 0.4


async def test_an_earlier_start_has_spent_too():
    limiter = RunLimiter(max_usd=1.0)
    limiter.count(1.5)
    with pytest.raises(BudgetError):
        await limiter.admit("one")


async def test_what_an_earlier_start_has_spent_does_not_make_a_call_look_dear():
    limiter = RunLimiter(max_usd=1.0)
    limiter.count(0.5)
    await limiter.admit("one")
    await limiter.settle(0.01)
    await limiter.admit("one")  # 0.51 + 0.01
    assert limiter.spent_usd == 0.51


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

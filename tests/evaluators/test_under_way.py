"""Equal questions that are asked at the same time are asked once."""

from __future__ import annotations

import asyncio

import pytest

from ragassay.evaluators.under_way import UnderWay


async def test_a_question_under_way_is_waited_for():
    under_way, answered, n_asked = UnderWay(), asyncio.Event(), 0

    async def ask() -> str:
        nonlocal n_asked
        n_asked += 1
        await answered.wait()
        return "a verdict"

    both = [asyncio.create_task(under_way.once("key", ask)) for _ in range(2)]
    await asyncio.sleep(0)
    answered.set()
    assert await asyncio.gather(*both) == [("a verdict", True), ("a verdict", False)]
    assert n_asked == 1


async def test_other_questions_do_not_wait():
    under_way = UnderWay()

    async def ask() -> str:
        return (await under_way.once("another", answer))[0]

    async def answer() -> str:
        return "inner"

    assert await under_way.once("key", ask) == ("inner", True)


async def test_who_waits_for_a_question_that_fails_asks_it_again():
    under_way, failed = UnderWay(), asyncio.Event()

    async def fail() -> str:
        await failed.wait()
        raise TimeoutError

    async def ask() -> str:
        return "a verdict"

    first = asyncio.create_task(under_way.once("key", fail))
    await asyncio.sleep(0)
    second = asyncio.create_task(under_way.once("key", ask))
    await asyncio.sleep(0)
    failed.set()
    with pytest.raises(TimeoutError):
        await first
    assert await second == ("a verdict", True)


async def test_a_question_without_a_key_is_nobody_elses():
    under_way, n_asked = UnderWay(), 0

    async def ask() -> int:
        nonlocal n_asked
        n_asked += 1
        await asyncio.sleep(0)
        return n_asked

    found = await asyncio.gather(under_way.once("", ask), under_way.once("", ask))
    assert all(is_asked_here for _, is_asked_here in found)
    assert n_asked == 2


async def test_an_answer_that_has_just_come_is_not_asked_for_again():
    under_way = UnderWay()

    async def ask() -> str:
        return "a verdict"

    assert await under_way.once("key", ask) == ("a verdict", True)
    assert await under_way.once("key", ask) == ("a verdict", False)


def test_a_new_event_loop_asks_for_itself():
    under_way = UnderWay()

    async def ask() -> str:
        return "a verdict"

    found = [asyncio.run(under_way.once("key", ask)) for _ in range(2)]
    assert found == [("a verdict", True)] * 2

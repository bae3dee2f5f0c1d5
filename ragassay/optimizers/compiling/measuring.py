"""Measure a prompt on held-out data: the published figures.

DSPy's `Evaluate` turns a failed reply into a zero. Here it is counted separately.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import dspy

from ragassay.optimizers.compiling.compiling_lm import CompilingLM
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.optimizers.compiling.metrics import ItemOutcome, compare
from ragassay.optimizers.compiling.student import Student
from ragassay.optimizers.compiling.task import CompileTask
from ragassay.prompts.compiled import PromptComparison


def measure(
    student: Student,
    task: CompileTask,
    items: Sequence[CompileItem],
    lm: CompilingLM,
    n_at_once: int,
    step: Callable[[], None] = lambda: None,
) -> list[ItemOutcome]:
    """Have a student reply to all items.

    Args:
        student: The student with the prompt to measure.
        task: Grades the replies.
        items: The items.
        lm: The model.
        n_at_once: Concurrent calls.
        step: Called after each item.

    Returns:
        In the order of `items`.

    Raises:
        JobStopped: No further call may be made.
    """

    async def all_outcomes() -> list[ItemOutcome]:
        slots = asyncio.Semaphore(n_at_once)

        async def one(item: CompileItem) -> ItemOutcome:
            async with slots:
                found = await student.acall(item)
            step()
            if found.found is None:
                return ItemOutcome(item, None, found.reason)
            return ItemOutcome(item, await asyncio.to_thread(task.mark, item, found.found))

        return list(await asyncio.gather(*map(one, items)))

    with dspy.context(lm=lm):
        return lm.shared.loop.wait(all_outcomes)


def comparisons(
    task: CompileTask, before: Sequence[ItemOutcome], after: Sequence[ItemOutcome]
) -> tuple[PromptComparison, ...]:
    """Compare the task's figures before and after; undefined ones are left out."""
    found = [compare(before, after, figure_of) for figure_of in task.figures]
    return tuple(c for n, c in enumerate(found) if n == 0 or c.before.value is not None)


def is_better(comparison: PromptComparison) -> bool:
    """Return whether the figure rose on what both scored, with no fewer scored replies."""
    gain = comparison.gain.value
    return (
        gain is not None
        and gain > 0
        and comparison.after.n_unscored <= comparison.before.n_unscored
    )


def may_be_chance(comparison: PromptComparison) -> bool:
    """Return whether the interval of the gain includes zero, or is undefined."""
    return comparison.gain.low is None or comparison.gain.low <= 0

"""What a prompt does on data that it was not chosen on: what is published of it.

DSPy's `Evaluate` turns a reply that could not be had into a zero. Here it is counted beside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import dspy

from ragassay.optimizers.compiling.compiling_lm import CompilingLM
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.optimizers.compiling.metrics import Outcome, compare
from ragassay.optimizers.compiling.student import Student
from ragassay.optimizers.compiling.task import CompileTask
from ragassay.prompts.compiled import Comparison


def measure(
    student: Student,
    task: CompileTask,
    items: Sequence[CompileItem],
    lm: CompilingLM,
    n_at_once: int,
    step: Callable[[], None] = lambda: None,
) -> list[Outcome]:
    """Have a student reply to all items.

    Args:
        student: With the prompt that is measured.
        task: Marks the replies.
        items: What it is asked.
        lm: The model.
        n_at_once: Calls under way at a time.
        step: Called after each.

    Returns:
        In the order of `items`.

    Raises:
        JobStopped: No further call may be made.
    """

    async def all_outcomes() -> list[Outcome]:
        slots = asyncio.Semaphore(n_at_once)

        async def one(item: CompileItem) -> Outcome:
            async with slots:
                found = await student.acall(item)
            step()
            if found.found is None:
                return Outcome(item, None, found.reason)
            return Outcome(item, await asyncio.to_thread(task.mark, item, found.found))

        return list(await asyncio.gather(*map(one, items)))

    with dspy.context(lm=lm):
        return lm.shared.loop.wait(all_outcomes)


def comparisons(
    task: CompileTask, before: Sequence[Outcome], after: Sequence[Outcome]
) -> tuple[Comparison, ...]:
    """The task's figures before and after; those that say nothing on these items are left out."""
    found = [compare(before, after, figure_of) for figure_of in task.figures]
    return tuple(c for n, c in enumerate(found) if n == 0 or c.before.value is not None)


def is_better(comparison: Comparison) -> bool:
    """Whether the figure rose on what both scored, and no fewer replies were scored."""
    gain = comparison.gain.value
    return (
        gain is not None
        and gain > 0
        and comparison.after.n_unscored <= comparison.before.n_unscored
    )


def may_be_chance(comparison: Comparison) -> bool:
    """Whether the interval of the gain reaches down to none, or cannot be told."""
    return comparison.gain.low is None or comparison.gain.low <= 0

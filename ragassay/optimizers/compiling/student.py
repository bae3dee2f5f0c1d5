"""Wrap an agent for DSPy's optimizers, and measure its prompt on held-out data."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import dspy

from ragassay.agents.base import CASE_FIELD, CONTEXT_FIELD, Agent
from ragassay.errors import ModelError
from ragassay.optimizers.compiling.compiling_lm import CompilingLM
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.optimizers.compiling.metrics import ItemOutcome, compare
from ragassay.optimizers.compiling.task import CompileTask
from ragassay.prompts.compiled import CompiledPredictor, PromptComparison, build_demo
from ragassay.records import Usage

PROBLEM_FIELD = "problem"


class Student(dspy.Module):
    """DSPy module that asks an agent about an item.

    The inputs in a trace have the form of inputs in few-shot examples, so that optimizers can use
    traces as examples. If a reply is unusable, the prediction contains the reason instead of a
    record, and no exception is raised.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.agent = agent

    def forward(self, item: CompileItem) -> dspy.Prediction:
        """Run `aforward` from a thread without an event loop."""
        return dspy.settings.lm.shared.loop.wait(self.aforward, item)

    async def aforward(self, item: CompileItem) -> dspy.Prediction:
        """Call the agent.

        Returns:
            Prediction with the agent's record in `found`, or with None in `found` and the reason in
            `problem`.
        """
        request = self.agent.request(*item.arguments)
        values: dict[str, Any] = {}

        def read(reply: dspy.Prediction, usage: Usage) -> Any:
            values.update((name, value) for name, value in reply.items() if name != "logprobs")
            return request.read(reply, usage)

        try:
            found = await self.agent.ask(replace(request, read=read))
        except ModelError as error:
            self._add_to_trace(item, request.inputs, {PROBLEM_FIELD: str(error)})
            return dspy.Prediction(found=None, problem=str(error), reason=error.reason)
        self._add_to_trace(item, request.inputs, values)
        return dspy.Prediction(found=found, problem="", reason="")

    def _add_to_trace(
        self, item: CompileItem, inputs: Mapping[str, Any], values: Mapping[str, Any]
    ) -> None:
        trace = dspy.settings.trace
        if trace is not None:
            shown = select_example_inputs(item, inputs)
            trace.append((self.agent.predict, shown, dspy.Prediction(**values)))


def select_example_inputs(item: CompileItem, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs for a few-shot example, in which `item.about` replaces the full context."""
    about = {CASE_FIELD: item.about} if item.about else {}
    return about | {name: value for name, value in inputs.items() if name != CONTEXT_FIELD}


def build_example(item: CompileItem, inputs: Mapping[str, str]) -> dspy.Example:
    """Return a DSPy example whose input is the item. Other fields form a few-shot example."""
    fields = select_example_inputs(item, inputs) | dict(item.reply)
    return dspy.Example(item=item, **fields).with_inputs("item")


def extract_predictor(student: Student) -> CompiledPredictor:
    """Return the instruction and the few-shot examples of a student as a record."""
    signature: Any = student.agent.predict.signature
    known = (CASE_FIELD, *signature.input_fields, *signature.output_fields)
    demos = [
        build_demo({name: demo[name] for name in known if name in demo and name != CONTEXT_FIELD})
        for demo in map(dict, student.agent.predict.demos)
    ]
    distinct = tuple(demo for n, demo in enumerate(demos) if demo not in demos[:n])
    return CompiledPredictor(instructions=signature.instructions, demos=distinct)


def measure(
    student: Student,
    task: CompileTask,
    items: Sequence[CompileItem],
    lm: CompilingLM,
    n_at_once: int,
) -> list[ItemOutcome]:
    """Run a student on all items, and return the graded outcomes in the order of the items.

    Raises:
        JobStopped: The job was stopped.
    """

    async def collect_outcomes() -> list[ItemOutcome]:
        slots = asyncio.Semaphore(n_at_once)

        async def measure_item(item: CompileItem) -> ItemOutcome:
            async with slots:
                found = await student.acall(item)
            if found.found is None:
                return ItemOutcome(item, None, found.reason)
            return ItemOutcome(item, await asyncio.to_thread(task.mark, item, found.found))

        return list(await asyncio.gather(*map(measure_item, items)))

    with dspy.context(lm=lm):
        return lm.shared.loop.wait(collect_outcomes)


def compare_figures(
    task: CompileTask, before: Sequence[ItemOutcome], after: Sequence[ItemOutcome]
) -> tuple[PromptComparison, ...]:
    """Compare a task's metrics before and after. Secondary metrics are omitted if undefined."""
    found = [compare(before, after, figure_of) for figure_of in task.figures]
    return tuple(c for n, c in enumerate(found) if n == 0 or c.before.value is not None)


def is_better(comparison: PromptComparison) -> bool:
    """Return whether the metric increased, and the number of unscored replies did not."""
    gain = comparison.gain.value
    return (
        gain is not None
        and gain > 0
        and comparison.after.n_unscored <= comparison.before.n_unscored
    )


def can_be_chance(comparison: PromptComparison) -> bool:
    """Return whether the interval of the gain includes 0 or is undefined."""
    return comparison.gain.low is None or comparison.gain.low <= 0

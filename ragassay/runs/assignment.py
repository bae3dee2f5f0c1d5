"""Assign the gold nuggets of answers, and nothing else, in the nuggetizer's form."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import FatalModelError, InputError
from ragassay.formats import (
    AssignedAnswer,
    AssignedNugget,
    NuggetScores,
    write_assignments,
    write_nugget_scores,
)
from ragassay.graphs.assign import build_assign_graph
from ragassay.graphs.state import Input
from ragassay.graphs.toolbox import Toolbox
from ragassay.metrics.nuggetizer import (
    all_score,
    strict_all_score,
    strict_vital_score,
    vital_score,
)
from ragassay.records import Assignment, NuggetAssignment, Record
from ragassay.runs.engine import Event, Listener


@dataclass(frozen=True)
class AssignedRun:
    """The result of assigning a file's nuggets.

    Attributes:
        answers: With their assignments, in the order of the records.
        metrics: The four scores of each.
        n_unscored: Nuggets whose assignment failed.
    """

    answers: tuple[AssignedAnswer, ...]
    metrics: tuple[NuggetScores, ...]
    n_unscored: int


async def assign_nuggets(
    records: Sequence[Record],
    tools: Toolbox,
    out: Path,
    metrics: Path,
    listen: Listener = lambda event: None,
) -> AssignedRun:
    """Assign the gold nuggets of each answer's question.

    Args:
        records: Those without gold nuggets are left out.
        tools: The graph's toolbox.
        out: One line an answer, as the nuggetizer's `assign` writes them.
        metrics: One line an answer, and their means on a last line "all".
        listen: Receives progress events.

    Raises:
        InputError: No record has gold nuggets, or a file cannot be written.
        FatalModelError: The model is unavailable.
    """
    chosen = [record for record in records if record.nuggets]
    if not chosen:
        raise InputError("no answer has gold nuggets: give them with --nuggets")
    slots = asyncio.Semaphore(max(2, tools.settings.n_slots // 4))
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_assign(r, tools, slots, listen)) for r in chosen]
    except* FatalModelError as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
    answers = tuple(task.result() for task in tasks)
    scores = tuple(_scores(answer) for answer in answers)
    write_assignments(answers, out)
    write_nugget_scores(scores, metrics)
    n_unscored = sum(n.assignment is None for answer in answers for n in answer.nuggets)
    return AssignedRun(answers, scores, n_unscored)


async def _assign(
    record: Record, tools: Toolbox, slots: asyncio.Semaphore, listen: Listener
) -> AssignedAnswer:
    async with slots:
        graph = build_assign_graph(tools.settings.max_attempts)
        found = await graph.ainvoke(Input(record=record), context=tools)
    assigned: tuple[NuggetAssignment, ...] = found["assigned"]
    usage = [one.usage for one in assigned]
    listen(Event(len(assigned), len(assigned), 1, sum(usage[1:], usage[0])))
    return AssignedAnswer(
        topic=record.topic or record.id,
        question=record.question,
        answer=found["case"].answer,
        system=record.system or record.id,
        nuggets=tuple(
            AssignedNugget(nugget.text, nugget.importance, one.assignment)
            for nugget, one in zip(record.nuggets, assigned, strict=True)
        ),
    )


def _scores(answer: AssignedAnswer) -> NuggetScores:
    labels: list[Assignment | None] = [nugget.assignment for nugget in answer.nuggets]
    vital = [nugget.importance == "vital" for nugget in answer.nuggets]
    return NuggetScores(
        answer.topic,
        strict_vital_score(labels, vital),
        strict_all_score(labels),
        vital_score(labels, vital),
        all_score(labels),
    )

"""Assign the gold nuggets of answers, and nothing else, in the nuggetizer's form."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.errors import FatalModelError, InputError, StorageError, ungrouped
from ragassay.evaluators.assignment import AssignmentEvaluator
from ragassay.evaluators.base import Run
from ragassay.formats import (
    AssignedAnswer,
    AssignedNugget,
    NuggetScores,
    write_assignments,
    write_nugget_scores,
)
from ragassay.graphs.evaluate import EvaluateGraph, build_evaluate_graph
from ragassay.graphs.state import Input
from ragassay.metrics.nuggetizer import (
    all_score,
    strict_all_score,
    strict_vital_score,
    vital_score,
)
from ragassay.records import Assignment, Evaluation, Record
from ragassay.runs.events import Event, Listener
from ragassay.runs.spent import bounded_job
from ragassay.runs.states import written_alone
from ragassay.store import opened_store


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
    tools: Run,
    out: Path,
    metrics: Path,
    listen: Listener = lambda event: None,
) -> AssignedRun:
    """Assign the gold nuggets of each answer's question.

    Verdicts are kept beside `out`: another start asks for none of them again.

    Args:
        records: Those without gold nuggets are left out.
        tools: The graph's context.
        out: One line an answer, as the nuggetizer's `assign` writes them.
        metrics: One line an answer, and their means on a last line "all".
        listen: Receives progress events.

    Raises:
        InputError: No record has gold nuggets, a file cannot be written, or another process is
            writing it.
        FatalModelError: The model is unavailable.
        StorageError: What is finished cannot be stored.
        SettingsError: There is no judge, and no instrument in its place.
    """
    chosen = [record for record in records if record.nuggets]
    if not chosen:
        raise InputError("no answer has gold nuggets: give them with --nuggets")
    only = replace(tools, registered=(AssignmentEvaluator(),))
    if not only.evaluators:
        _ = tools.judge.model  # refuses: nothing else can assign
    slots = asyncio.Semaphore(max(2, tools.settings.n_slots // 4))
    with written_alone(out) as verdicts, opened_store(verdicts) as store:
        only = replace(only, store=store)
        graph = build_evaluate_graph(tools.settings.judge.max_attempts, only.registered)
        with bounded_job(out, tools.limiter), ungrouped(FatalModelError, StorageError):
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(_assign(r, graph, only, slots, listen)) for r in chosen]
    answers = tuple(task.result() for task in tasks)
    scores = tuple(_scores(answer) for answer in answers)
    write_assignments(answers, out)
    write_nugget_scores(scores, metrics)
    n_unscored = sum(n.assignment is None for answer in answers for n in answer.nuggets)
    return AssignedRun(answers, scores, n_unscored)


async def _assign(
    record: Record,
    graph: EvaluateGraph,
    tools: Run,
    slots: asyncio.Semaphore,
    listen: Listener,
) -> AssignedAnswer:
    async with slots:
        found = await graph.ainvoke(Input(record=record), context=tools)
    evaluation: Evaluation = found["evaluation"]
    assigned = evaluation.assignments
    listen(Event(len(assigned), len(assigned), 1, evaluation.usage))
    return AssignedAnswer(
        topic=record.topic or record.id,
        question=record.question,
        answer=evaluation.answer,
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

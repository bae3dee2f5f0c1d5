"""Assign the gold nuggets of answers, and fit when two nuggets state one fact."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field

from ragassay.errors import FatalModelError, InputError, StorageError, raise_ungrouped
from ragassay.evaluators.base import Run
from ragassay.evaluators.nuggets import AssignmentEvaluator
from ragassay.formats import (
    AssignedAnswer,
    AssignedNugget,
    NuggetScores,
    write_assignments,
    write_nugget_scores,
)
from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import Problem, validate
from ragassay.formats.reviews import FILE as REVIEWS
from ragassay.formats.reviews import ReviewedRun
from ragassay.formats.rows import NuggetEntry, Row
from ragassay.graphs.case import Input
from ragassay.graphs.evaluate import EvaluateGraph, build_evaluate_graph
from ragassay.metrics.papers.nuggets import assignment_values
from ragassay.models.embeddings import Embedder
from ragassay.models.weights import sha256_of
from ragassay.optimizers.nugget_matching import MatchCase, MatchData, fit_matcher
from ragassay.records import Assignment, Evaluation, NuggetMatcher, Record, Rejection
from ragassay.runs.folder import write_whole
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import bounded_job, written_alone
from ragassay.store import opened_store


@dataclass(frozen=True)
class AssignedRun:
    """The result of assigning a file's nuggets.

    Attributes:
        answers: With their assignments, in the order of the records.
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
        with bounded_job(out, tools.limiter), raise_ungrouped(FatalModelError, StorageError):
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
    return NuggetScores(answer.topic, *assignment_values(labels, vital).values())


Pair = Annotated[list[int], Field(min_length=2, max_length=2)]


class PairsRow(Row):
    """Gold and system nuggets of one answer; also a line of a run's evaluations.jsonl."""

    gold: list[NuggetEntry] = Field(validation_alias=AliasChoices("gold", "gold_nuggets"))
    nuggets: list[NuggetEntry]
    matches: list[Pair] | None = None


@dataclass(frozen=True)
class MatchFile:
    """The content of a file to match.

    Attributes:
        cases: Answers with nuggets on both sides.
        n_one_sided: Answers with nuggets on one side or none: there is nothing to match.
    """

    cases: tuple[MatchCase, ...]
    rejections: tuple[Rejection, ...]
    n_one_sided: int
    sha256: str


def read_match_file(path: Path) -> MatchFile:
    """Read pairs of lists of nuggets.

    Args:
        path: JSON lines with `gold` and `nuggets`, and `matches` ([position in gold, position in
            nuggets], from 0) where known; or a run folder or its evaluations.jsonl, whose own
            matches are ignored. Of a run folder, those count that people gave for every gold
            nugget of an answer.

    Raises:
        InputError: The file cannot be opened.
    """
    file = path / "evaluations.jsonl" if path.is_dir() else path
    cases: list[MatchCase] = []
    rejections: list[Rejection] = []
    n_one_sided = 0
    reviews = path / REVIEWS
    known = ReviewedRun(reviews).matches() if reviews.exists() else {}
    for item in iter_items(file):
        found = item if isinstance(item, Rejection) else _case(item)
        if isinstance(found, MatchCase) and isinstance(item, Item):
            known_matches = known.get(str(item.fields.get("record_id")))
            found = found if known_matches is None else replace(found, matches=known_matches)
        if isinstance(found, Rejection):
            rejections.append(found)
        elif found.gold and found.nuggets:
            cases.append(found)
        else:
            n_one_sided += 1
    return MatchFile(tuple(cases), tuple(rejections), n_one_sided, sha256_of(file))


def fit_file(
    found: MatchFile,
    embedder: Embedder,
    out: Path,
    *,
    n_trials: int,
    seed: int,
    on_step: Callable[[], None] = lambda: None,
) -> NuggetMatcher:
    """Embed the nuggets, fit the matcher, and write it.

    Args:
        found: From `read_match_file`.
        embedder: Provides the similarities.
        out: The matcher's file, as JSON.
        n_trials: How many thresholds to try.
        seed: The same file and seed result in the same matcher.
        on_step: Called after each embedded answer and each tried threshold.

    Raises:
        InputError: There are too few pairs, or they show no two groups.
    """
    similarities = []
    for case in found.cases:
        vectors = embedder.encode([*case.gold, *case.nuggets])
        n_gold = len(case.gold)
        similarities.append(vectors[:n_gold] @ vectors[n_gold:].T)
        on_step()
    data = MatchData(found.cases, tuple(similarities), found.sha256, embedder.name, embedder.digest)
    matcher = fit_matcher(data, n_trials=n_trials, seed=seed, on_trial=on_step)
    try:
        write_whole(out, matcher.model_dump_json(indent=2) + "\n")
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from error
    return matcher


def _case(item: Item) -> MatchCase | Rejection:
    is_evaluation = "gold_nuggets" in item.fields
    fields = {k: v for k, v in item.fields.items() if not (is_evaluation and k == "matches")}
    row = validate(PairsRow, fields)
    if isinstance(row, Problem):
        return item.place.reject(row)
    gold, nuggets = (tuple(n.text for n in side) for side in (row.gold, row.nuggets))
    for position, (g, n) in enumerate(row.matches or ()):
        if not (0 <= g < len(gold) and 0 <= n < len(nuggets)):
            problem = Problem(
                f"matches.{position}",
                f"found [{g}, {n}] for {len(gold)} gold and {len(nuggets)} system nuggets",
                "positions from 0: [in gold, in nuggets]",
            )
            return item.place.reject(problem)
    known = None if row.matches is None else frozenset((g, n) for g, n in row.matches)
    return MatchCase(gold, nuggets, known)

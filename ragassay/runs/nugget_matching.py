"""Assign gold nuggets to answers, and fit the nugget matcher."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field

from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.evaluators.nuggets import AssignmentEvaluator
from ragassay.formats import (
    AssignedAnswer,
    AssignedNugget,
    NuggetScores,
    write_assignments,
    write_nugget_scores,
)
from ragassay.formats.items import Item, iter_items, iter_read, split_rejections
from ragassay.formats.problems import ProblemError, parse
from ragassay.formats.reviews import FILE as REVIEWS
from ragassay.formats.reviews import ReviewedRun
from ragassay.formats.rows import NuggetEntry, Row
from ragassay.graphs.case import Input
from ragassay.graphs.evaluate import EvaluateGraph, build_evaluate_graph
from ragassay.metrics.papers.nuggets import average_credits
from ragassay.models.embeddings import Embedder
from ragassay.models.weights import compute_sha256
from ragassay.optimizers.nugget_matching import MatchCase, MatchData, fit_matcher
from ragassay.records import Assignment, Evaluation, NuggetMatcher, Record, Rejection
from ragassay.runs.folder import write_atomically
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import lock_for_writing, run_limited_tasks
from ragassay.store import open_store


@dataclass(frozen=True)
class AssignedRun:
    """Counts and scores after the assignment of all nuggets of a file.

    Attributes:
        n_unscored: Number of nuggets whose assignment failed.
    """

    answers: tuple[AssignedAnswer, ...]
    metrics: tuple[NuggetScores, ...]
    n_unscored: int


async def assign_nuggets(
    records: Sequence[Record],
    run: Run,
    out: Path,
    metrics: Path,
    listen: Listener = lambda event: None,
) -> AssignedRun:
    """Determine which gold nuggets of its question each answer supports.

    Verdicts are stored next to `out`, so they are not repeated after a restart.

    Args:
        records: Records, of which those without gold nuggets are skipped.
        out: Output file with one line per answer, in the format of the nuggetizer's `assign`.
        metrics: Output file with one line per answer. The last line, "all", contains the means.

    Raises:
        InputError: No record has gold nuggets, a file cannot be written, or another process is
            writing it.
        FatalModelError: The model is unavailable.
        StorageError: Finished work cannot be stored.
        SettingsError: There is neither a judge nor a local model that can assign nuggets.
    """
    with_nuggets = [record for record in records if record.nuggets]
    if not with_nuggets:
        raise InputError("no answer has gold nuggets; pass them with --nuggets")
    run = replace(run, registered=(AssignmentEvaluator(),))
    if not run.evaluators:
        _ = run.judge.model  # raises without a judge
    slots = asyncio.Semaphore(max(2, run.settings.n_slots // 4))
    with lock_for_writing(out) as verdicts, open_store(verdicts) as store:
        run = replace(run, store=store)
        graph = build_evaluate_graph(run.settings.judge.max_attempts, run.registered)
        coroutines = (_assign(record, graph, run, slots, listen) for record in with_nuggets)
        answers = tuple(await run_limited_tasks(out, run.limiter, coroutines))
    scores = tuple(_compute_scores(answer) for answer in answers)
    write_assignments(answers, out)
    write_nugget_scores(scores, metrics)
    n_unscored = sum(n.assignment is None for answer in answers for n in answer.nuggets)
    return AssignedRun(answers, scores, n_unscored)


async def _assign(
    record: Record,
    graph: EvaluateGraph,
    run: Run,
    slots: asyncio.Semaphore,
    listen: Listener,
) -> AssignedAnswer:
    async with slots:
        output = await graph.ainvoke(Input(record=record), context=run)
    evaluation: Evaluation = output["evaluation"]
    assignments = evaluation.assignments
    listen(Event(len(assignments), len(assignments), 1, evaluation.usage))
    return AssignedAnswer(
        topic=record.topic or record.id,
        question=record.question,
        answer=evaluation.answer,
        system=record.system or record.id,
        nuggets=tuple(
            AssignedNugget(nugget.text, nugget.importance, verdict.assignment)
            for nugget, verdict in zip(record.nuggets, assignments, strict=True)
        ),
    )


def _compute_scores(answer: AssignedAnswer) -> NuggetScores:
    labels: list[Assignment | None] = [nugget.assignment for nugget in answer.nuggets]
    vital = [nugget.importance == "vital" for nugget in answer.nuggets]
    return NuggetScores(answer.topic, *average_credits(labels, vital).values())


Pair = Annotated[list[int], Field(min_length=2, max_length=2)]


class PairsRow(Row):
    """Gold and system nuggets of one answer, or a line from a run's evaluations.jsonl."""

    gold: list[NuggetEntry] = Field(validation_alias=AliasChoices("gold", "gold_nuggets"))
    nuggets: list[NuggetEntry]
    matches: list[Pair] | None = None


@dataclass(frozen=True)
class MatchFile:
    """Contents of a file of gold and system nuggets.

    Attributes:
        cases: Answers that have both gold and system nuggets.
        n_one_sided: Number of answers without gold nuggets or without system nuggets.
    """

    cases: tuple[MatchCase, ...]
    rejections: tuple[Rejection, ...]
    n_one_sided: int
    sha256: str


def read_match_file(path: Path) -> MatchFile:
    """Read gold and system nuggets of answers.

    Args:
        path: JSON lines with `gold`, `nuggets` and optionally `matches` (pairs of positions in
            `gold` and `nuggets`, from 0), or a run folder or its evaluations.jsonl. Matches that a
            model made in the run are ignored. Reviewed matches in a run folder are used if a
            reviewer matched all gold nuggets of an answer.

    Raises:
        InputError: The file cannot be opened.
    """
    file = path / "evaluations.jsonl" if path.is_dir() else path
    reviews = path / REVIEWS
    reviewed = ReviewedRun(reviews).list_matches() if reviews.exists() else {}

    def read_reviewed_case(item: Item) -> list[MatchCase]:
        case, matches = _read_case(item), reviewed.get(str(item.fields.get("record_id")))
        return [case if matches is None else replace(case, matches=matches)]

    cases, rejections = split_rejections(iter_read(iter_items(file), read_reviewed_case))
    complete = tuple(case for case in cases if case.gold and case.nuggets)
    return MatchFile(complete, rejections, len(cases) - len(complete), compute_sha256(file))


def fit_file(
    found: MatchFile,
    embedder: Embedder,
    out: Path,
    *,
    n_trials: int,
    seed: int,
    on_step: Callable[[], None] = lambda: None,
) -> NuggetMatcher:
    """Embed the nuggets, fit the nugget matcher, and write it to a file.

    Args:
        out: Output file of the matcher (JSON).
        n_trials: Number of thresholds to try.
        on_step: Function to call after each embedded answer and each trial.

    Raises:
        InputError: There are too few pairs of nuggets, their similarities do not form two groups,
            or the file cannot be written.
    """
    similarities = []
    for case in found.cases:
        vectors = embedder.encode([*case.gold, *case.nuggets])
        n_gold = len(case.gold)
        similarities.append(vectors[:n_gold] @ vectors[n_gold:].T)
        on_step()
    data = MatchData(found.cases, tuple(similarities), found.sha256, embedder.name, embedder.digest)
    matcher = fit_matcher(data, n_trials=n_trials, seed=seed, on_trial=on_step)
    write_atomically(out, matcher.model_dump_json(indent=2) + "\n")
    return matcher


def _read_case(item: Item) -> MatchCase:
    is_evaluation = "gold_nuggets" in item.fields
    fields = {k: v for k, v in item.fields.items() if not (is_evaluation and k == "matches")}
    row = parse(PairsRow, fields)
    gold, nuggets = (tuple(n.text for n in side) for side in (row.gold, row.nuggets))
    for position, (g, n) in enumerate(row.matches or ()):
        if not (0 <= g < len(gold) and 0 <= n < len(nuggets)):
            raise ProblemError(
                f"matches.{position}",
                f"the positions [{g}, {n}] are out of range, because there are {len(gold)} gold "
                f"and {len(nuggets)} system nuggets",
                "[gold position, system position], counted from 0",
            )
    known = None if row.matches is None else frozenset((g, n) for g, n in row.matches)
    return MatchCase(gold, nuggets, known)

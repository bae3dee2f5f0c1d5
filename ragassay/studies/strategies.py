"""Test a judge under four prompting strategies and a misleading hint (Chaudhary et al. 2024)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from ragassay.agents.rubric_judge import RubricJudge, expert_hint
from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.metrics.papers.strategies import (
    PERTURBED,
    RubricRobustness,
    StrategyAnswer,
    StrategyReply,
    rubric_robustness,
)
from ragassay.models.limiter import RunLimiter
from ragassay.models.tuned import with_base_model
from ragassay.perturbations.damage import Inversion, perturbed_rating
from ragassay.process import run_sync
from ragassay.prompts import RUBRIC_SETS, STRATEGIES, Rubric, RubricSet
from ragassay.records import Evaluation, HumanLabel, Record, RecordFailure, Rejection
from ragassay.runs.compare import write_files
from ragassay.runs.evaluate import Job, job_of, read_job, run
from ragassay.runs.folder import RunFolder
from ragassay.runs.progress import Listener
from ragassay.settings import Settings
from ragassay.studies.strategy_examples import (
    Place,
    how_asked,
    idle_hints,
    question_of,
    rated_examples,
    study_notes,
    with_examples,
)
from ragassay.studies.strategy_tables import (
    ratings_csv,
    strategies_csv,
    strategies_latex,
    strategies_markdown,
)

BASE = "knowledge"
"""The strategy to which the misleading rating is added, as in the paper."""

N_WAYS = len(STRATEGIES) + 1
"""Number of ratings of each answer: one per strategy, and a misled one."""

FEW_SHOT = "few_shot"
"""The strategy that shows examples."""


@dataclass(frozen=True)
class StrategyStudy:
    """The results of a judge under several prompting strategies.

    Attributes:
        judge: The judge's name.
        n_answers: Answers that were rated.
        n_labels: People's ratings of these answers.
        rubrics: The figures of each rubric.
        answers: The rated answers behind the figures, by rubric.
        inversion: How the misleading ratings were turned over.
        how: How the prompts were made, one sentence each.
        notes: What the reader should know, one sentence each.
        failures: Answers that failed under some strategy.
        rejections: Lines of the input that could not be read.
    """

    judge: str
    n_answers: int
    n_labels: int
    rubrics: tuple[RubricRobustness, ...]
    answers: Mapping[str, tuple[StrategyAnswer, ...]]
    inversion: Inversion = "extreme"
    how: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[RecordFailure, ...] = ()
    rejections: tuple[Rejection, ...] = ()

    @property
    def n_unscored(self) -> int:
        """The number of failed ratings."""
        replies = [s for group in self.answers.values() for a in group for s in a.replies.values()]
        return sum(one.rating is None for one in replies)

    def to_json(self) -> str:
        """Return the figures and the notes, without the single ratings."""
        figures = TypeAdapter(tuple[RubricRobustness, ...]).dump_python(self.rubrics, mode="json")
        about = {"judge": self.judge, "n_answers": self.n_answers, "n_labels": self.n_labels}
        counts = {"n_unscored": self.n_unscored, "n_failures": len(self.failures)}
        told = {"inversion": self.inversion, "how": list(self.how), "notes": list(self.notes)}
        return json.dumps(about | counts | told | {"rubrics": figures})


@dataclass(frozen=True)
class StrategyJob:
    """The answers to judge, and people's ratings of them."""

    job: Job
    labels: tuple[HumanLabel, ...] = ()
    rejections: tuple[Rejection, ...] = ()


def read_strategy_job(
    answers: Path,
    human: Path | None = None,
    *,
    limit: int | None = None,
    questions: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
) -> StrategyJob:
    """Read answers, and people's ratings from another file or the same one.

    Args:
        answers: As for `read_records`.
        human: People's ratings; by default those of the answers' file.
        limit: Number of answers to take.
        questions: As for `read_records`.
        columns: As for `read_records`.

    Raises:
        InputError: A file cannot be read at all.
    """
    from ragassay.formats import read_labels

    job = read_job(answers, limit=limit, questions=questions, columns=columns)
    if human is not None:
        found = read_labels(human)
        return StrategyJob(job, found.labels, found.rejections)
    try:
        found = read_labels(answers)
    except InputError:  # A file of answers need not contain labels.
        return StrategyJob(job)
    return StrategyJob(job, found.labels, found.rejections)


def default_rubric_set(file_format: str) -> RubricSet:
    """Return the rubrics that a file in this format was rated on."""
    for name in RUBRIC_SETS:
        if file_format.startswith(name):
            return name
    return "yescieval"


def study_strategies(
    given: StrategyJob,
    settings: Settings,
    out: Path | None = None,
    listen: Listener = lambda event: None,
    inversion: Inversion = "extreme",
) -> StrategyStudy:
    """Judge each answer by the four strategies, and by one of them with a misleading rating.

    The misleading rating is the mode of people's ratings turned over; where people rated no
    answer, the mode of the judge's own ratings by the four strategies. The examples of few-shot
    are the answers to other questions that people rated best and worst; without such, the
    rubric's own.

    Args:
        given: From `read_strategy_job`.
        settings: Judge, rubrics and the like; the strategy is set here.
        out: A folder with one run folder for each strategy; finished work in it is not repeated.
        listen: Receives progress events: each answer ends once for each strategy.
        inversion: How the misleading ratings are turned over (`perturbed_rating`).

    Raises:
        RunMismatchError: A run folder has another run.
        FatalModelError: The judge is unavailable.
    """
    # Signals would rate instead of an embedded judge, without any strategy's prompt; and a
    # fine-tuned judge has its own prompt.
    chosen = {"only": ("rubrics",), "panel": (), "signals": False}
    asked = with_base_model(settings).model_copy(update=chosen)
    rubrics = build_run(asked).rubrics
    people, n_strange = _people(given.job.records, given.labels, rubrics)
    replies: dict[str, dict[Place, StrategyReply]] = {}
    failures: list[RecordFailure] = []
    pairs = rated_examples(given.job.records, people, rubrics)
    limiter = RunLimiter.of(settings)  # one bound for all strategies
    for strategy in STRATEGIES:
        job, tools = given.job, build_run(asked.model_copy(update={"strategy": strategy}))
        if strategy == FEW_SHOT:
            shown = {place: pair.rendered() for place, pair in pairs.items()}
            agents = replace(tools.agents, judge=RubricJudge(strategy, examples=shown))
            tools = replace(tools, agents=agents)
            job = with_examples(job, pairs)
        tools = replace(tools, limiter=limiter)
        replies[strategy] = _replies(job, tools, out and out / strategy, listen, failures)
    ratings = people or _own_ratings(replies)
    hints = _hints(ratings, rubrics, inversion)
    misled = _mislead_answers(given.job, hints)
    told = {place: expert_hint(rating) for place, rating in hints.items()}
    base = build_run(asked.model_copy(update={"strategy": BASE}))
    agents = replace(base.agents, judge=RubricJudge(BASE, told))
    tools = replace(base, agents=agents, limiter=limiter)
    replies[PERTURBED] = _replies(misled, tools, out and out / PERTURBED, listen, failures)
    answers = {name: _answers(given.job.records, name, people, replies, hints) for name in rubrics}
    return StrategyStudy(
        judge=asked.judge.model,
        n_answers=len(given.job.records),
        n_labels=sum(map(len, people.values())),
        rubrics=tuple(
            rubric_robustness(name, rubric.bounds, answers[name], STRATEGIES, BASE)
            for name, rubric in rubrics.items()
        ),
        answers=answers,
        inversion=inversion,
        how=how_asked(given.job.records, rubrics, bool(people), inversion, len(pairs)),
        notes=(
            *study_notes(given.job.records, people, hints, rubrics, n_strange),
            *idle_hints(ratings, hints),
        ),
        failures=tuple(failures),
        rejections=(*given.job.rejections, *given.rejections),
    )


def write_strategies(study: StrategyStudy, out: Path) -> tuple[Path, ...]:
    """Write strategies.csv, ratings.csv, strategies.tex and strategies.md.

    Raises:
        InputError: The folder cannot be created.
    """
    texts = {
        "strategies.csv": strategies_csv(study.rubrics, study.judge),
        "ratings.csv": ratings_csv(study.answers),
        "strategies.tex": strategies_latex(study.rubrics, study.judge),
        "strategies.md": strategies_markdown(
            *(study.rubrics, study.judge, study.n_answers, study.n_labels),
            (*study.how, *study.notes),
        ),
    }
    return write_files(out, texts)


def _replies(
    job: Job,
    tools: Run,
    folder: Path | None,
    listen: Listener,
    failures: list[RecordFailure],
) -> dict[Place, StrategyReply]:
    """Return the judge's replies on all answers under one strategy."""
    if not job.records:
        return {}
    found = run_sync(run(job, tools, RunFolder(folder) if folder else None, listen))
    failures += found.failures
    replies = {place: one for e in found.evaluations for place, one in _of_evaluation(e)}
    for failure in found.failures:
        record = next(r for r in job.records if r.id == failure.record_id)
        replies |= {
            (record.id, name): StrategyReply(None) for name in record.rubrics or tools.rubrics
        }
    return replies


def _of_evaluation(evaluation: Evaluation) -> list[tuple[Place, StrategyReply]]:
    return [
        (
            (evaluation.record_id, judgment.rubric),
            StrategyReply(judgment.rating, judgment.rationale),
        )
        for judgment in evaluation.judgments
    ]


def _people(
    records: Sequence[Record], labels: Sequence[HumanLabel], rubrics: Mapping[str, Rubric]
) -> tuple[dict[Place, list[int]], int]:
    """Return people's ratings that fit, and how many are off their rubric's scale."""
    by_id = {record.id: record.id for record in records}
    by_place = {(r.topic, r.system): r.id for r in records if r.topic and r.system}
    found: dict[Place, list[int]] = {}
    n_strange = 0
    for label in labels:
        place = label.topic or "", label.system or ""
        name = by_id.get(label.record_id or "") or by_place.get(place)
        rubric = rubrics.get(label.item)
        if label.task != "rubric" or name is None or rubric is None:
            continue
        if int(label.label) in rubric.scale:
            found.setdefault((name, label.item), []).append(int(label.label))
        else:
            n_strange += 1
    return found, n_strange


def _own_ratings(replies: Mapping[str, Mapping[Place, StrategyReply]]) -> dict[Place, list[int]]:
    """Return the judge's ratings by all strategies, used where people's are missing."""
    found: dict[Place, list[int]] = {}
    for one in replies.values():
        for place, given in one.items():
            if given.rating is not None:
                found.setdefault(place, []).append(given.rating)
    return found


def _hints(
    ratings: Mapping[Place, Sequence[int]], rubrics: Mapping[str, Rubric], inversion: Inversion
) -> dict[Place, int]:
    return {
        place: perturbed_rating(given, *rubrics[place[1]].bounds, inversion)
        for place, given in ratings.items()
    }


def _mislead_answers(job: Job, hints: Mapping[Place, int]) -> Job:
    """Return the answers that a hint can be given for, each on the rubrics with one.

    The hints are put into the metadata, so that a folder judged with other hints is refused.
    """
    records: list[Record] = []
    for record in job.records:
        own = {rubric: rating for (name, rubric), rating in hints.items() if name == record.id}
        told = {f"perturbed.{rubric}": str(rating) for rubric, rating in own.items()}
        if own:
            update = {"rubrics": tuple(own), "metadata": record.metadata | told}
            records.append(record.model_copy(update=update))
    made = job_of(records, job.corpus)
    stamp = made.answers.model_copy(update={"name": f"{job.answers.name} with perturbed ratings"})
    return replace(made, answers=stamp)


def _answers(
    records: Sequence[Record],
    rubric: str,
    people: Mapping[Place, Sequence[int]],
    replies: Mapping[str, Mapping[Place, StrategyReply]],
    hints: Mapping[Place, int],
) -> tuple[StrategyAnswer, ...]:
    found: list[StrategyAnswer] = []
    for record in records:
        place = record.id, rubric
        found.append(
            StrategyAnswer(
                record_id=record.id,
                question=question_of(record),
                people=tuple(people.get(place, ())),
                replies={way: one[place] for way, one in replies.items() if place in one},
                hint=hints.get(place),
            )
        )
    return tuple(found)

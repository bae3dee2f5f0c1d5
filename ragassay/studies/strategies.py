"""Test a judge under four prompting strategies and a misleading hint (Chaudhary et al. 2024)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from pydantic import TypeAdapter

from ragassay.agents.context import source_lines
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
from ragassay.perturbations.perturb import Inversion, perturbed_rating
from ragassay.process import run_sync
from ragassay.prompts import RUBRIC_SETS, STRATEGIES, Rubric, RubricExample, RubricSet
from ragassay.records import HumanLabel, Record, RecordFailure, Rejection
from ragassay.runs.compare import write_files
from ragassay.runs.evaluate import Job, job_of, read_job, run
from ragassay.runs.folder import RunFolder
from ragassay.runs.progress import Listener
from ragassay.settings import Settings
from ragassay.studies.strategy_tables import (
    Place,
    how_asked,
    idle_hints,
    ratings_csv,
    strategies_csv,
    strategies_latex,
    strategies_markdown,
    study_notes,
)
from ragassay.text.search import passages_of

BASE = "knowledge"
"""The strategy to which the misleading rating is added, as in the paper."""

N_WAYS = len(STRATEGIES) + 1
"""Number of ratings of each answer: one per strategy, and a misled one."""

FEW_SHOT = "few_shot"
"""The strategy that shows examples."""

MOST_WORDS = 600
"""Longest sources, and longest answer, of an example: two of them stand in every prompt."""


@dataclass(frozen=True)
class StrategyStudy:
    """The results of a judge under several prompting strategies.

    Attributes:
        n_labels: People's ratings of the answers.
        answers: The rated answers behind the figures, by rubric.
        how: How the prompts were made, one sentence each.
        notes: What the reader should know, one sentence each.
        failures: Answers that failed under some strategy.
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
    """Read answers as `read_job` does, and people's ratings from another file or the same one.

    Raises:
        InputError: A file cannot be read at all.
    """
    from ragassay.formats import read_labels

    job = read_job(answers, limit=limit, questions=questions, columns=columns)
    try:
        found = read_labels(human or answers)
    except InputError:
        if human is None:  # A file of answers need not contain labels.
            return StrategyJob(job)
        raise
    return StrategyJob(job, found.labels, found.rejections)


def default_rubric_set(file_format: str) -> RubricSet:
    """Return the rubrics that a file in this format was rated on."""
    for name in RUBRIC_SETS:
        if file_format.startswith(name):
            return name
    return "yescieval"


def study_strategies(
    study_job: StrategyJob,
    settings: Settings,
    out: Path | None = None,
    listen: Listener = lambda event: None,
    inversion: Inversion = "extreme",
) -> StrategyStudy:
    """Judge each answer by the four strategies, and by one of them with a misleading rating.

    The misleading rating is the mode of people's ratings turned over; where people rated no
    answer, the mode of the judge's own ratings by the four strategies. The examples of few-shot
    are the answers to other questions that people rated best and worst; without such, the
    rubric's own. The folder has one run folder for each strategy, whose finished work is not
    repeated; to `listen` each answer ends once for each strategy.

    Raises:
        RunMismatchError: A run folder has another run.
        FatalModelError: The judge is unavailable.
    """
    # Signals would rate instead of an embedded judge, without any strategy's prompt; and a
    # fine-tuned judge has its own prompt.
    chosen = {"only": ("rubrics",), "panel": (), "signals": False}
    asked = with_base_model(settings).model_copy(update=chosen)
    rubrics = build_run(asked).rubrics
    records = study_job.job.records
    people, n_unknown = _people(records, study_job.labels, rubrics)
    replies: dict[str, dict[Place, StrategyReply]] = {}
    failures: list[RecordFailure] = []
    limiter = RunLimiter.of(settings)  # one bound for all strategies

    def judge(way: str, job: Job, strategy: str, agent: RubricJudge | None = None) -> None:
        tools = build_run(asked.model_copy(update={"strategy": strategy}))
        if agent is not None:
            tools = replace(tools, agents=replace(tools.agents, judge=agent))
        folder = RunFolder(out / way) if out else None
        replies[way], failed = _judge(job, replace(tools, limiter=limiter), folder, listen)
        failures.extend(failed)

    pairs = rated_examples(records, people, rubrics)
    for strategy in STRATEGIES:
        if strategy == FEW_SHOT:
            shown = {place: pair.render() for place, pair in pairs.items()}
            agent = RubricJudge(strategy, examples=shown)
            judge(strategy, with_examples(study_job.job, pairs), strategy, agent)
        else:
            judge(strategy, study_job.job, strategy)
    ratings = people or _own_ratings(replies)
    hints = {
        place: perturbed_rating(found, *rubrics[place[1]].bounds, inversion)
        for place, found in ratings.items()
    }
    told = {place: expert_hint(rating) for place, rating in hints.items()}
    judge(PERTURBED, _mislead_answers(study_job.job, hints), BASE, RubricJudge(BASE, told))
    answers = {
        name: tuple(_answer(record, name, people, replies, hints) for record in records)
        for name in rubrics
    }
    return StrategyStudy(
        judge=asked.judge.model,
        n_answers=len(records),
        n_labels=sum(map(len, people.values())),
        rubrics=tuple(
            rubric_robustness(name, rubric.bounds, answers[name], STRATEGIES, BASE)
            for name, rubric in rubrics.items()
        ),
        answers=answers,
        inversion=inversion,
        how=how_asked(records, rubrics, bool(people), inversion, len(pairs)),
        notes=(
            *study_notes(records, people, hints, rubrics, n_unknown),
            *idle_hints(ratings, hints),
        ),
        failures=tuple(failures),
        rejections=(*study_job.job.rejections, *study_job.rejections),
    )


def write_strategies(study: StrategyStudy, out: Path) -> tuple[Path, ...]:
    """Write strategies.csv, ratings.csv, strategies.tex and strategies.md.

    Raises:
        InputError: The folder cannot be created.
    """
    notes = (*study.how, *study.notes)
    texts = {
        "strategies.csv": strategies_csv(study.rubrics, study.judge),
        "ratings.csv": ratings_csv(study.answers),
        "strategies.tex": strategies_latex(study.rubrics, study.judge),
        "strategies.md": strategies_markdown(
            study.rubrics, study.judge, study.n_answers, study.n_labels, notes
        ),
    }
    return write_files(out, texts)


def _judge(
    job: Job, tools: Run, folder: RunFolder | None, listen: Listener
) -> tuple[dict[Place, StrategyReply], Sequence[RecordFailure]]:
    """Return the judge's replies on all answers, and the answers that failed."""
    if not job.records:
        return {}, ()
    found = run_sync(run(job, tools, folder, listen))
    replies = {
        (evaluation.record_id, one.rubric): StrategyReply(one.rating, one.rationale)
        for evaluation in found.evaluations
        for one in evaluation.judgments
    }
    failed = {failure.record_id for failure in found.failures}
    for record in job.records:
        if record.id in failed:
            names = record.rubrics or tools.rubrics
            replies |= {(record.id, name): StrategyReply(None) for name in names}
    return replies, found.failures


def _answer(
    record: Record,
    rubric: str,
    people: Mapping[Place, Sequence[int]],
    replies: Mapping[str, Mapping[Place, StrategyReply]],
    hints: Mapping[Place, int],
) -> StrategyAnswer:
    place = record.id, rubric
    return StrategyAnswer(
        record_id=record.id,
        question=question_of(record),
        people=tuple(people.get(place, ())),
        replies={way: one[place] for way, one in replies.items() if place in one},
        hint=hints.get(place),
    )


def _people(
    records: Sequence[Record], labels: Sequence[HumanLabel], rubrics: Mapping[str, Rubric]
) -> tuple[dict[Place, list[int]], int]:
    """Return people's ratings that fit, and how many are off their rubric's scale."""
    known = {record.id for record in records}
    by_place = {(r.topic, r.system): r.id for r in records if r.topic and r.system}
    found: dict[Place, list[int]] = {}
    n_unknown = 0
    for label in labels:
        name = label.record_id
        if name not in known:
            name = by_place.get((label.topic or "", label.system or ""))
        rubric = rubrics.get(label.item)
        if label.task != "rubric" or name is None or rubric is None:
            continue
        if int(label.label) in rubric.scale:
            found.setdefault((name, label.item), []).append(int(label.label))
        else:
            n_unknown += 1
    return found, n_unknown


def _own_ratings(replies: Mapping[str, Mapping[Place, StrategyReply]]) -> dict[Place, list[int]]:
    """Return the judge's ratings by all strategies, used where people's are missing."""
    found: dict[Place, list[int]] = {}
    for one in replies.values():
        for place, judgment in one.items():
            if judgment.rating is not None:
                found.setdefault(place, []).append(judgment.rating)
    return found


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
    return _renamed_job(job, records, "with perturbed ratings")


def _renamed_job(job: Job, records: Sequence[Record], ending: str) -> Job:
    made = job_of(records, job.corpus)
    fingerprint = made.answers.model_copy(update={"name": f"{job.answers.name} {ending}"})
    return replace(made, answers=fingerprint)


def question_of(record: Record) -> str:
    """Return the key that answers to the same question share."""
    return record.topic or record.question


@dataclass(frozen=True)
class ExamplePair:
    """The ids of the answers that people rated best and worst, and both as a rubric's examples."""

    ids: tuple[str, str]
    examples: tuple[RubricExample, RubricExample]

    @property
    def names(self) -> str:
        """The ids of both, with the ratings that are shown."""
        return " and ".join(
            f"{name} ({one.rating})" for name, one in zip(self.ids, self.examples, strict=True)
        )

    def render(self) -> str:
        """Render the examples as a prompt shows them."""
        return "\n\n".join(example.render() for example in self.examples)


def rated_examples(
    records: Sequence[Record],
    people: Mapping[Place, Sequence[int]],
    rubrics: Mapping[str, Rubric],
) -> dict[Place, ExamplePair]:
    """Return the examples for each answer and rubric.

    Chaudhary et al. (section 3.2, appendix A): precisely two, one with the highest score and one
    with the lowest. Here these are the highest and the lowest mean of people's ratings, the first
    in the file among equals, and never an answer to the judged answer's own question.

    Returns:
        Nothing for an answer and rubric where people rated no other question's answers, or all
        alike.
    """
    by_id = {record.id: record for record in records}
    found: dict[Place, ExamplePair] = {}
    for rubric in rubrics:
        means = {r.id: mean(ratings) for r in records if (ratings := people.get((r.id, rubric)))}
        upwards = sorted(means, key=lambda name: means[name])
        downwards = sorted(means, key=lambda name: -means[name])
        for record in records:
            own = question_of(record)
            best, worst = (
                next((name for name in names if question_of(by_id[name]) != own), None)
                for names in (downwards, upwards)
            )
            if best is None or worst is None or means[best] == means[worst]:
                continue
            shown = (_example(by_id[best], means[best]), _example(by_id[worst], means[worst]))
            found[record.id, rubric] = ExamplePair((best, worst), shown)
    return found


def with_examples(job: Job, pairs: Mapping[Place, ExamplePair]) -> Job:
    """Name the examples in the answers' metadata: a folder judged with others is refused."""
    shown: dict[str, dict[str, str]] = {}
    for (name, rubric), pair in pairs.items():
        shown.setdefault(name, {})[f"examples.{rubric}"] = pair.names
    if not shown:
        return job
    records = [
        r.model_copy(update={"metadata": r.metadata | shown.get(r.id, {})}) for r in job.records
    ]
    return _renamed_job(job, records, "with examples by people's ratings")


def _example(record: Record, rated: float) -> RubricExample:
    answer = record.answer
    text = answer if isinstance(answer, str) else " ".join(one.text for one in answer)
    return RubricExample(
        question=record.question,
        sources=_shorten(source_lines(record.sources)),
        answer=_shorten(text),
        rating=math.floor(rated + 0.5),  # The scale has whole ratings only; a half goes up.
        reason="",
    )


def _shorten(text: str) -> str:
    """Return a text, or its beginning where it is too long for an example."""
    first = passages_of(text, MOST_WORDS)[0]
    return first if first == text else f"{first} ..."

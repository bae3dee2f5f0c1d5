"""Compare a judge's ratings with four prompts and a misleading hint (Chaudhary et al. 2024)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean

from pydantic import TypeAdapter

from ragassay.agents.context import render_sources
from ragassay.agents.rubric_judge import RubricJudge, build_expert_hint
from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.metrics.papers.strategies import (
    PERTURBED,
    RubricRobustness,
    StrategyAnswer,
    StrategyReply,
    measure_robustness,
)
from ragassay.models.limiter import RunLimiter
from ragassay.models.tuned import use_base_model
from ragassay.perturbations.perturb import Inversion, invert_rating
from ragassay.process import run_sync
from ragassay.prompts import RUBRIC_SETS, STRATEGIES, Rubric, RubricExample, RubricSet
from ragassay.records import HumanLabel, Record, RecordFailure, Rejection
from ragassay.runs.compare import write_files
from ragassay.runs.evaluate import Job, build_job, read_job, run_job
from ragassay.runs.folder import RunFolder
from ragassay.runs.progress import Listener
from ragassay.settings import Settings
from ragassay.studies.strategy_tables import (
    Place,
    describe_idle_hints,
    describe_study_design,
    list_study_notes,
    render_ratings_csv,
    render_strategies_csv,
    render_strategies_latex,
    render_strategies_markdown,
)
from ragassay.text.search import cut_passages

BASE = "knowledge"
"""Strategy to which the misleading rating is added, as in the paper."""

N_WAYS = len(STRATEGIES) + 1
"""Number of times that each answer is rated: once per strategy, and once with the hint."""

FEW_SHOT = "few_shot"

MOST_WORDS = 600
"""Maximum number of words in the sources of an example, and in its answer."""


@dataclass(frozen=True)
class StrategyStudy:
    """Results of rating answers with several prompting strategies."""

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
        """Number of failed ratings."""
        replies = [s for group in self.answers.values() for a in group for s in a.replies.values()]
        return sum(one.rating is None for one in replies)

    def to_json(self) -> str:
        """Return the measures and notes as JSON, without individual ratings."""
        rubrics = TypeAdapter(tuple[RubricRobustness, ...]).dump_python(self.rubrics, mode="json")
        return json.dumps(
            {
                "judge": self.judge,
                "n_answers": self.n_answers,
                "n_labels": self.n_labels,
                "n_unscored": self.n_unscored,
                "n_failures": len(self.failures),
                "inversion": self.inversion,
                "how": list(self.how),
                "notes": list(self.notes),
                "rubrics": rubrics,
            }
        )


@dataclass(frozen=True)
class StrategyJob:
    """Answers to judge, and human ratings of these answers."""

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
    """Read answers, and human ratings from `human` or from the file of answers.

    The remaining arguments are those of `read_job`.

    Raises:
        InputError: If a file cannot be read.
    """
    from ragassay.formats import read_labels

    job = read_job(answers, limit=limit, questions=questions, columns=columns)
    try:
        result = read_labels(human or answers)
    except InputError:
        if human is None:  # Answer files may contain no labels.
            return StrategyJob(job)
        raise
    return StrategyJob(job, result.labels, result.rejections)


def choose_rubric_set(file_format: str) -> RubricSet:
    """Return the rubric set that files of a given format use."""
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
    """Judge each answer with four strategies, and with one of them and a misleading rating.

    The misleading rating is the opposite of the mode of the human ratings or, without human
    ratings, of the judge's own ratings with the four strategies. The few-shot examples are the
    answers to other questions with the highest and the lowest human rating or, without these, the
    examples of the rubric.

    Args:
        out: Folder in which a run folder with the finished work is created for each strategy.
        listen: Function that receives progress events, in which each answer finishes once per
            strategy.

    Raises:
        RunMismatchError: If a run folder contains another run.
        FatalModelError: If the judge is unavailable.
    """
    # Signals and fine-tuned judges would not use the prompts of the strategies.
    update = {"only": ("rubrics",), "panel": (), "signals": False}
    judge_settings = use_base_model(settings).model_copy(update=update)
    rubrics = build_run(judge_settings).rubrics
    records = study_job.job.records
    people, n_unknown = _match_ratings(records, study_job.labels, rubrics)
    pairs = choose_rated_examples(records, people, rubrics)
    judging = _StrategyJudging(judge_settings, RunLimiter.from_settings(settings), out, listen)
    judging.judge_strategies(study_job.job, pairs)
    ratings = people or _collect_own_ratings(judging.replies)
    hints = {
        key: invert_rating(own, *rubrics[key[1]].bounds, inversion) for key, own in ratings.items()
    }
    judging.judge_with_hints(study_job.job, hints)
    answers = _group_replies(records, rubrics, people, judging.replies, hints)
    return StrategyStudy(
        judge=judge_settings.judge.model,
        n_answers=len(records),
        n_labels=sum(map(len, people.values())),
        rubrics=tuple(
            measure_robustness(name, rubric.bounds, answers[name], STRATEGIES, BASE)
            for name, rubric in rubrics.items()
        ),
        answers=answers,
        inversion=inversion,
        how=describe_study_design(records, rubrics, bool(people), inversion, len(pairs)),
        notes=(
            *list_study_notes(records, people, hints, rubrics, n_unknown),
            *describe_idle_hints(ratings, hints),
        ),
        failures=tuple(judging.failures),
        rejections=(*study_job.job.rejections, *study_job.rejections),
    )


@dataclass(frozen=True)
class _StrategyJudging:
    """Judges answers in several ways: with each strategy, and with a hint.

    Attributes:
        limiter: Limiter that all ways share.
        replies: Replies about the answers, keyed by way.
    """

    settings: Settings
    limiter: RunLimiter
    out: Path | None
    listen: Listener
    replies: dict[str, dict[Place, StrategyReply]] = field(default_factory=dict)
    failures: list[RecordFailure] = field(default_factory=list)

    def judge_strategies(self, job: Job, pairs: Mapping[Place, ExamplePair]) -> None:
        examples = {key: pair.render() for key, pair in pairs.items()}
        for strategy in STRATEGIES:
            if strategy == FEW_SHOT:
                agent = RubricJudge(strategy, examples=examples)
                self._judge(strategy, add_examples(job, pairs), strategy, agent)
            else:
                self._judge(strategy, job, strategy)

    def judge_with_hints(self, job: Job, hints: Mapping[Place, int]) -> None:
        texts = {key: build_expert_hint(rating) for key, rating in hints.items()}
        self._judge(PERTURBED, _add_hints(job, hints), BASE, RubricJudge(BASE, texts))

    def _judge(self, way: str, job: Job, strategy: str, agent: RubricJudge | None = None) -> None:
        run = build_run(self.settings.model_copy(update={"strategy": strategy}))
        if agent is not None:
            run = replace(run, agents=replace(run.agents, judge=agent))
        run = replace(run, limiter=self.limiter)
        folder = RunFolder(self.out / way) if self.out else None
        self.replies[way], failed = _judge_answers(job, run, folder, self.listen)
        self.failures.extend(failed)


def _group_replies(
    records: Sequence[Record],
    rubrics: Iterable[str],
    people: Mapping[Place, Sequence[int]],
    replies: Mapping[str, Mapping[Place, StrategyReply]],
    hints: Mapping[Place, int],
) -> dict[str, tuple[StrategyAnswer, ...]]:
    """Return the answers with their ratings, keyed by rubric."""

    def build_answer(record: Record, key: Place) -> StrategyAnswer:
        return StrategyAnswer(
            record_id=record.id,
            question=identify_record_question(record),
            people=tuple(people.get(key, ())),
            replies={way: own[key] for way, own in replies.items() if key in own},
            hint=hints.get(key),
        )

    return {
        name: tuple(build_answer(record, (record.id, name)) for record in records)
        for name in rubrics
    }


def write_strategies(study: StrategyStudy, out: Path) -> tuple[Path, ...]:
    """Write strategies.csv, ratings.csv, strategies.tex and strategies.md.

    Raises:
        InputError: If the folder cannot be created.
    """
    notes = (*study.how, *study.notes)
    texts = {
        "strategies.csv": render_strategies_csv(study.rubrics, study.judge),
        "ratings.csv": render_ratings_csv(study.answers),
        "strategies.tex": render_strategies_latex(study.rubrics, study.judge),
        "strategies.md": render_strategies_markdown(
            study.rubrics, study.judge, study.n_answers, study.n_labels, notes
        ),
    }
    return write_files(out, texts)


def _judge_answers(
    job: Job, run: Run, folder: RunFolder | None, listen: Listener
) -> tuple[dict[Place, StrategyReply], Sequence[RecordFailure]]:
    if not job.records:
        return {}, ()
    result = run_sync(run_job(job, run, folder, listen))
    replies = {
        (evaluation.record_id, one.rubric): StrategyReply(one.rating, one.rationale)
        for evaluation in result.evaluations
        for one in evaluation.judgments
    }
    failed = {failure.record_id for failure in result.failures}
    for record in job.records:
        if record.id in failed:
            names = record.rubrics or run.rubrics
            replies |= {(record.id, name): StrategyReply(None) for name in names}
    return replies, result.failures


def _match_ratings(
    records: Sequence[Record], labels: Sequence[HumanLabel], rubrics: Mapping[str, Rubric]
) -> tuple[dict[Place, list[int]], int]:
    """Return the human ratings of the records, and the number of ratings outside the scale."""
    known = {record.id for record in records}
    by_system = {(r.topic, r.system): r.id for r in records if r.topic and r.system}
    ratings: dict[Place, list[int]] = {}
    n_unknown = 0
    for label in labels:
        name = label.record_id
        if name not in known:
            name = by_system.get((label.topic or "", label.system or ""))
        rubric = rubrics.get(label.item)
        if label.task != "rubric" or name is None or rubric is None:
            continue
        if int(label.label) in rubric.scale:
            ratings.setdefault((name, label.item), []).append(int(label.label))
        else:
            n_unknown += 1
    return ratings, n_unknown


def _collect_own_ratings(
    replies: Mapping[str, Mapping[Place, StrategyReply]],
) -> dict[Place, list[int]]:
    ratings: dict[Place, list[int]] = {}
    for own in replies.values():
        for key, reply in own.items():
            if reply.rating is not None:
                ratings.setdefault(key, []).append(reply.rating)
    return ratings


def _add_hints(job: Job, hints: Mapping[Place, int]) -> Job:
    """Return a job with only the answers and rubrics for which there are hints.

    The hints are added to the records' metadata, so that no run with other hints is resumed.
    """
    records: list[Record] = []
    for record in job.records:
        own = {rubric: rating for (name, rubric), rating in hints.items() if name == record.id}
        added = {f"perturbed.{rubric}": str(rating) for rubric, rating in own.items()}
        if own:
            update = {"rubrics": tuple(own), "metadata": record.metadata | added}
            records.append(record.model_copy(update=update))
    return _rename_job(job, records, "with perturbed ratings")


def _rename_job(job: Job, records: Sequence[Record], ending: str) -> Job:
    new = build_job(records, job.corpus)
    fingerprint = new.answers.model_copy(update={"name": f"{job.answers.name} {ending}"})
    return replace(new, answers=fingerprint)


def identify_record_question(record: Record) -> str:
    """Return the topic of a record, or its question if it has no topic."""
    return record.topic or record.question


@dataclass(frozen=True)
class ExamplePair:
    """The answers with the highest and the lowest human rating, as few-shot examples."""

    ids: tuple[str, str]
    examples: tuple[RubricExample, RubricExample]

    @property
    def names(self) -> str:
        """Ids of the answers, with their ratings."""
        return " and ".join(
            f"{name} ({one.rating})" for name, one in zip(self.ids, self.examples, strict=True)
        )

    def render(self) -> str:
        """Return the examples as text for a prompt."""
        return "\n\n".join(example.render() for example in self.examples)


def choose_rated_examples(
    records: Sequence[Record], people: Mapping[Place, Sequence[int]], rubrics: Mapping[str, Rubric]
) -> dict[Place, ExamplePair]:
    """Return the few-shot examples for each answer and rubric.

    Chaudhary et al. (section 3.2, appendix A) use two examples, one with the highest and one with
    the lowest score. The function chooses the answers to other questions with the highest and the
    lowest mean human rating. If several answers have the same mean, the first one in the file is
    used.

    Returns:
        Examples, keyed by record id and rubric. An answer is left out if all answers to other
        questions have the same mean rating.
    """
    by_id = {record.id: record for record in records}
    pairs: dict[Place, ExamplePair] = {}
    for rubric in rubrics:
        means = {r.id: mean(ratings) for r in records if (ratings := people.get((r.id, rubric)))}
        ascending = sorted(means, key=lambda name: means[name])
        descending = sorted(means, key=lambda name: -means[name])
        for record in records:
            own = identify_record_question(record)
            best, worst = (
                next((name for name in names if identify_record_question(by_id[name]) != own), None)
                for names in (descending, ascending)
            )
            if best is None or worst is None or means[best] == means[worst]:
                continue
            examples = (
                _build_example(by_id[best], means[best]),
                _build_example(by_id[worst], means[worst]),
            )
            pairs[record.id, rubric] = ExamplePair((best, worst), examples)
    return pairs


def add_examples(job: Job, pairs: Mapping[Place, ExamplePair]) -> Job:
    """Add the examples to the records' metadata, so that no run with other examples is resumed."""
    added: dict[str, dict[str, str]] = {}
    for (name, rubric), pair in pairs.items():
        added.setdefault(name, {})[f"examples.{rubric}"] = pair.names
    if not added:
        return job
    records = [
        r.model_copy(update={"metadata": r.metadata | added.get(r.id, {})}) for r in job.records
    ]
    return _rename_job(job, records, "with examples by people's ratings")


def _build_example(record: Record, mean_rating: float) -> RubricExample:
    answer = record.answer
    text = answer if isinstance(answer, str) else " ".join(one.text for one in answer)
    return RubricExample(
        question=record.question,
        sources=_shorten(render_sources(record.sources)),
        answer=_shorten(text),
        rating=math.floor(mean_rating + 0.5),  # Rounds half up.
        reason="",
    )


def _shorten(text: str) -> str:
    first = cut_passages(text, MOST_WORDS)[0]
    return first if first == text else f"{first} ..."

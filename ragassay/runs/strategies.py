"""A judge asked in four ways, and misled: how far its ratings hold (Chaudhary et al. 2024)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from ragassay.agents.rubric_judge import RubricJudge, expert_hint
from ragassay.errors import InputError
from ragassay.graphs.toolbox import Toolbox
from ragassay.metrics.strategies import (
    PERTURBED,
    RatedAnswer,
    RubricRobustness,
    Said,
    rubric_robustness,
)
from ragassay.models.tuned import untuned
from ragassay.perturbations.misleading import perturbed_rating
from ragassay.prompts import RUBRIC_SETS, STRATEGIES, Rubric, RubricSet
from ragassay.records import Evaluation, HumanLabel, Record, RecordFailure, Rejection
from ragassay.reports.strategies import (
    ratings_csv,
    strategies_csv,
    strategies_latex,
    strategies_markdown,
)
from ragassay.runs.compare import write_files
from ragassay.runs.engine import Listener
from ragassay.runs.evaluate import Job, job_of, read_job, run, run_sync
from ragassay.runs.folder import RunFolder
from ragassay.settings import Settings

BASE = "knowledge"
"""The strategy that the misleading rating is added to, as in the paper."""

N_WAYS = len(STRATEGIES) + 1
"""How often each answer is rated: by each strategy, and misled."""

Place = tuple[str, str]
"""A record's id and a rubric's name."""


@dataclass(frozen=True)
class StrategyStudy:
    """What came out of asking a judge in several ways.

    Attributes:
        judge: The judge's name.
        n_answers: Answers that were rated.
        n_labels: Ratings of people that fitted them.
        rubrics: The figures of each rubric.
        answers: By rubric, what they were made of.
        notes: What the reader should know, one sentence each.
        failures: Answers that could not be judged in some way.
        rejections: Lines of the input that could not be read.
    """

    judge: str
    n_answers: int
    n_labels: int
    rubrics: tuple[RubricRobustness, ...]
    answers: Mapping[str, tuple[RatedAnswer, ...]]
    notes: tuple[str, ...] = ()
    failures: tuple[RecordFailure, ...] = ()
    rejections: tuple[Rejection, ...] = ()

    @property
    def n_unscored(self) -> int:
        """Ratings that could not be had."""
        said = [s for group in self.answers.values() for a in group for s in a.said.values()]
        return sum(one.rating is None for one in said)

    def to_json(self) -> str:
        """The figures and the notes, without the single ratings."""
        figures = TypeAdapter(tuple[RubricRobustness, ...]).dump_python(self.rubrics, mode="json")
        about = {"judge": self.judge, "n_answers": self.n_answers, "n_labels": self.n_labels}
        counts = {"n_unscored": self.n_unscored, "n_failures": len(self.failures)}
        return json.dumps(about | counts | {"notes": list(self.notes), "rubrics": figures})


@dataclass(frozen=True)
class StrategyJob:
    """What is to be judged, and what people said of it."""

    job: Job
    labels: tuple[HumanLabel, ...] = ()
    rejections: tuple[Rejection, ...] = ()


def read_strategy_job(
    answers: Path,
    human: Path | None = None,
    *,
    limit: int | None = None,
    questions: str | Path | None = None,
) -> StrategyJob:
    """Read answers, and the ratings of people from another file or else from the same one.

    Raises:
        InputError: A file cannot be read at all.
    """
    from ragassay.formats import read_labels

    job = read_job(answers, limit=limit, questions=questions)
    if human is not None:
        found = read_labels(human)
        return StrategyJob(job, found.labels, found.rejections)
    try:
        found = read_labels(answers)
    except InputError:  # A file of answers need not hold labels.
        return StrategyJob(job)
    return StrategyJob(job, found.labels, found.rejections)


def default_rubric_set(file_format: str) -> RubricSet:
    """The rubrics that a file in this format was rated on."""
    for name in RUBRIC_SETS:
        if file_format.startswith(name):
            return name
    return "yescieval"


def study_strategies(
    given: StrategyJob,
    settings: Settings,
    out: Path | None = None,
    listen: Listener = lambda event: None,
) -> StrategyStudy:
    """Judge each answer by the four strategies, and by one of them with a misleading rating.

    The misleading rating turns over the mode of what people said; where nobody said anything of any
    answer, the mode of the judge's own ratings by the four strategies.

    Args:
        given: From `read_strategy_job`.
        settings: Judge, rubrics and the like; the strategy is set here.
        out: A folder with one run folder for each way of asking; finished work in it is not done
            again.
        listen: Told of progress: each answer ends once for each way.

    Raises:
        RunMismatchError: A run folder holds another run.
        FatalModelError: The judge cannot be asked.
    """
    # Signals would rate in an embedded judge's place, and in no strategy's words; and a fine-tuned
    # judge has words of its own.
    chosen = {"only": ("rubrics",), "panel": (), "signals": False}
    asked = untuned(settings).model_copy(update=chosen)
    rubrics = Toolbox.of(asked).rubrics
    people, n_strange = _people(given.job.records, given.labels, rubrics)
    said: dict[str, dict[Place, Said]] = {}
    failures: list[RecordFailure] = []
    for strategy in STRATEGIES:
        tools = Toolbox.of(asked.model_copy(update={"strategy": strategy}))
        said[strategy] = _said(given.job, tools, out and out / strategy, listen, failures)
    hints = _hints(people or _own_ratings(said), rubrics)
    misled = _misled(given.job, hints)
    tools = replace(
        Toolbox.of(asked.model_copy(update={"strategy": BASE})),
        judge=RubricJudge(BASE, {place: expert_hint(rating) for place, rating in hints.items()}),
    )
    said[PERTURBED] = _said(misled, tools, out and out / PERTURBED, listen, failures)
    answers = {name: _answers(given.job.records, name, people, said, hints) for name in rubrics}
    return StrategyStudy(
        judge=asked.model,
        n_answers=len(given.job.records),
        n_labels=sum(map(len, people.values())),
        rubrics=tuple(
            rubric_robustness(name, rubric.bounds, answers[name], STRATEGIES, BASE)
            for name, rubric in rubrics.items()
        ),
        answers=answers,
        notes=_notes(given.job.records, people, hints, rubrics, n_strange),
        failures=tuple(failures),
        rejections=(*given.job.rejections, *given.rejections),
    )


def write_strategies(study: StrategyStudy, out: Path) -> tuple[Path, ...]:
    """Write strategies.csv, ratings.csv, strategies.tex and strategies.md.

    Raises:
        InputError: The folder cannot be made.
    """
    texts = {
        "strategies.csv": strategies_csv(study.rubrics, study.judge),
        "ratings.csv": ratings_csv(study.answers),
        "strategies.tex": strategies_latex(study.rubrics, study.judge),
        "strategies.md": strategies_markdown(
            study.rubrics, study.judge, study.n_answers, study.n_labels, study.notes
        ),
    }
    return write_files(out, texts)


def _said(
    job: Job,
    tools: Toolbox,
    folder: Path | None,
    listen: Listener,
    failures: list[RecordFailure],
) -> dict[Place, Said]:
    """What the judge said of all answers when it was asked in one way."""
    if not job.records:
        return {}
    found = run_sync(run(job, tools, RunFolder(folder) if folder else None, listen))
    failures += found.failures
    said = {place: one for e in found.evaluations for place, one in _of_evaluation(e)}
    for failure in found.failures:
        record = next(r for r in job.records if r.id == failure.record_id)
        said |= {(record.id, name): Said(None) for name in record.rubrics or tools.rubrics}
    return said


def _of_evaluation(evaluation: Evaluation) -> list[tuple[Place, Said]]:
    return [
        ((evaluation.record_id, judgment.rubric), Said(judgment.rating, judgment.rationale))
        for judgment in evaluation.judgments
    ]


def _people(
    records: Sequence[Record], labels: Sequence[HumanLabel], rubrics: Mapping[str, Rubric]
) -> tuple[dict[Place, list[int]], int]:
    """The ratings of people that fit, and how many are off their rubric's scale."""
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


def _own_ratings(said: Mapping[str, Mapping[Place, Said]]) -> dict[Place, list[int]]:
    """The judge's ratings by all strategies, which stand in where there are none of people."""
    found: dict[Place, list[int]] = {}
    for one in said.values():
        for place, given in one.items():
            if given.rating is not None:
                found.setdefault(place, []).append(given.rating)
    return found


def _hints(
    ratings: Mapping[Place, Sequence[int]], rubrics: Mapping[str, Rubric]
) -> dict[Place, int]:
    return {
        place: perturbed_rating(given, *rubrics[place[1]].bounds)
        for place, given in ratings.items()
    }


def _misled(job: Job, hints: Mapping[Place, int]) -> Job:
    """The answers that a hint can be given for, each on the rubrics with one.

    The hints stand in the metadata, so that a folder that was judged with others is refused.
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
    said: Mapping[str, Mapping[Place, Said]],
    hints: Mapping[Place, int],
) -> tuple[RatedAnswer, ...]:
    found: list[RatedAnswer] = []
    for record in records:
        place = record.id, rubric
        found.append(
            RatedAnswer(
                record_id=record.id,
                question=record.topic or record.question,
                people=tuple(people.get(place, ())),
                said={way: one[place] for way, one in said.items() if place in one},
                hint=hints.get(place),
            )
        )
    return tuple(found)


def _notes(
    records: Sequence[Record],
    people: Mapping[Place, Sequence[int]],
    hints: Mapping[Place, int],
    rubrics: Mapping[str, Rubric],
    n_strange: int,
) -> tuple[str, ...]:
    notes: list[str] = []
    if not people:
        notes.append(
            "There are no ratings of people: the judge was misled by the opposite of its own "
            "usual rating, and is compared with itself alone."
        )
    elif all(len(ratings) == 1 for ratings in people.values()):
        notes.append("Each answer has one rating of people: how they agree cannot be said.")
    n_without = len(records) * len(rubrics) - len(hints)
    if people and n_without:
        notes.append(f"{n_without} answers and rubrics have no rating of people: no hint for them.")
    if n_strange:
        notes.append(f"{n_strange} ratings of people are off their rubric's scale and left out.")
    return tuple(notes)

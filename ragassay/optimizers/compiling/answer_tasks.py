"""Optimization tasks on labelled answers: sentence labeller, nugget assigner, rubric judge."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ragassay.agents.base import Agent
from ragassay.agents.labellers import NuggetAssigner, SentenceLabeller
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.formats import read_labels
from ragassay.formats.reviews import read_answers
from ragassay.graphs.case import convert_to_case
from ragassay.metrics.stats.alignment import find_consensus
from ragassay.optimizers.compiling.items import CompileItem, ItemResult
from ragassay.optimizers.compiling.metrics import (
    Grade,
    build_detection_figure,
    build_mean_figure,
    mark_label,
    mark_rating,
)
from ragassay.optimizers.compiling.task import CompileTask, build_label_figures, describe_case
from ragassay.perturbations import ATTACKS, perturb_answers
from ragassay.records import (
    ASSIGNMENTS,
    RELEVANCE_LABELS,
    Case,
    Judgment,
    LabelTask,
    Nugget,
    NuggetAssignment,
    PerturbedAnswer,
    Record,
    Rejection,
    SentenceLabel,
)
from ragassay.records.audit import DESIRED_RATING

Place = tuple[int, str]
"""Sentence number (0 for the whole answer) and item, such as a rubric, to which a label refers."""


@dataclass(frozen=True)
class LabelledAnswers:
    """Answers, and the consensus of their human labels, keyed by answer id and position."""

    records: tuple[Record, ...]
    labels: dict[str, dict[Place, str]]
    rejections: tuple[Rejection, ...]


def read_labelled(path: Path, gold: Path | None, task: LabelTask) -> LabelledAnswers:
    """Read the answers in a file or a reviewed run folder, and their labels for one task.

    Args:
        gold: Label file, or None if `path` contains the labels.

    Raises:
        InputError: A file cannot be read, or there are no labels for the task and the answers.
    """
    answers = read_answers(path)
    found = read_labels(gold or path)
    by_id = {record.id: record for record in answers.records}
    by_topic = {(record.topic, record.system): record for record in answers.records}
    labels_by_record: dict[str, dict[Place, list[str]]] = {}
    for label in found.labels:
        record = by_id.get(label.record_id or "")
        # A label without a topic must not match an answer without a topic.
        if record is None and label.topic:
            record = by_topic.get((label.topic, label.system))
        if label.task == task and record is not None:
            place = (label.sentence or 0, label.item)
            labels_by_record.setdefault(record.id, {}).setdefault(place, []).append(label.label)
    if not labels_by_record:
        tasks = ", ".join(sorted({label.task for label in found.labels}))
        raise InputError(
            f"{gold or path} contains no {task!r} labels for the answers in {path}; "
            f"{f'it has labels for {tasks}' if tasks else 'it has no labels'}"
        )
    labels = {
        name: {
            place: label
            for place, votes in places.items()
            if (label := find_consensus(task, votes))
        }
        for name, places in labels_by_record.items()
    }
    rejections = (*answers.rejections, *(found.rejections if gold else ()))
    return LabelledAnswers(tuple(answers.records), labels, rejections)


@dataclass(frozen=True)
class LabelKind:
    """A kind of label that an agent assigns.

    Attributes:
        field: Field of the agent's reply that contains the label.
        arguments_at: Function that returns a list with the agent's arguments for a position in an
            answer. The list is empty if the position does not exist.
    """

    task: LabelTask
    labels: Sequence[str]
    agent: Callable[[], Agent]
    field: str
    arguments_at: Callable[[Case, Place], list[tuple[Any, ...]]]


SENTENCES = LabelKind(
    "relevance",
    RELEVANCE_LABELS,
    SentenceLabeller,
    "label",
    lambda case, place: [(case, one) for one in case.sentences if one.index == place[0]],
)
"""Labels of the relevance of answer sentences."""

ASSIGNED = LabelKind(
    "nugget",
    ASSIGNMENTS,
    NuggetAssigner,
    "assignment",
    lambda case, place: [(case, 0, Nugget(text=place[1]))],
)
"""Labels that state whether an answer supports a gold nugget."""


class AnswerLabelTask(CompileTask):
    """Optimization task that uses answers with human labels.

    Args:
        gold: Label file, or None if the answer file contains the labels.
    """

    def __init__(self, kind: LabelKind, run: Run, gold: Path | None = None) -> None:
        super().__init__(run, kind.agent, *build_label_figures(kind.labels))
        self.kind, self.gold = kind, gold

    def read(self, path: Path) -> ItemResult:
        """Read answers in any supported format, and their labels."""
        found = read_labelled(path, self.gold, self.kind.task)
        items: list[CompileItem] = []
        rejections = list(found.rejections)
        for record in found.records:
            labels = found.labels.get(record.id)
            if not labels:
                continue
            case = convert_to_case(record, self.run.settings, self.run.retrieval.corpus)
            for place, label in sorted(labels.items()):
                requests = self.kind.arguments_at(case, place)
                items += [
                    CompileItem(
                        key=f"{record.id}/{place[0] or place[1]}",
                        group=record.topic or record.question,
                        arguments=arguments,
                        right=label,
                        reply={self.kind.field: label},
                        about=describe_case(case),
                    )
                    for arguments in requests
                ]
                if not requests:
                    rejections.append(
                        Rejection(
                            file=str(self.gold or path),
                            line=0,
                            field="sentence",
                            problem=f"the answer {record.id} has no sentence {place[0]}",
                            expected="the number of a sentence, starting at 1",
                        )
                    )
        if not items:
            raise InputError(f"no label in {path} refers to a sentence or nugget of these answers")
        return ItemResult(tuple(items), tuple(rejections))

    def mark(self, item: CompileItem, found: SentenceLabel | NuggetAssignment) -> Grade:
        """Grade a label: 1 if correct, else 0."""
        return mark_label(str(item.right), str(getattr(found, self.kind.field)))


SentenceLabelTask = partial(AnswerLabelTask, SENTENCES)
AssignmentTask = partial(AnswerLabelTask, ASSIGNED)


class RubricJudgeTask(CompileTask):
    """Optimization task that uses rated answers and perturbed versions of these answers.

    Args:
        run: Run, as for `CompileTask`, whose rubrics can be optimized.
        rubrics: Rubrics to optimize (empty for all).
        gold: Rating file, or None if the answer file contains the ratings.
        n_perturbed: Number of answers to perturb, with texts that are reserved for training.
    """

    accept = 0.85

    def __init__(
        self,
        run: Run,
        rubrics: Sequence[str] = (),
        gold: Path | None = None,
        n_perturbed: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(
            run,
            partial(RubricJudge, run.settings.prompting.strategy),
            lambda outcomes: build_mean_figure("agreement with ratings"),
            build_detection_figure,
        )
        unknown = [name for name in rubrics if name not in run.rubrics]
        if unknown:
            raise InputError(f"unknown rubric {unknown[0]!r}; choose from {', '.join(run.rubrics)}")
        self.rubrics = tuple(rubrics)
        self.gold, self.n_perturbed, self.seed = gold, n_perturbed, seed

    def read(self, path: Path) -> ItemResult:
        """Read answers in any supported format, with ratings.

        YESciEval's perturbed answers are included. On the perturbed rubric, they are expected to
        have at most the highest rating that YESciEval accepts.
        """
        found = read_labelled(path, self.gold, "rubric")
        unperturbed = [r for r in found.records if r.metadata.get("variant", "benign") == "benign"]
        items = [item for record in unperturbed for item in self._make_rated_items(record, found)]
        keys = {item.key for item in items}
        perturbed = [
            item
            for item in self._make_perturbed_items(found.records, unperturbed)
            if item.unperturbed in keys
        ]
        if not items:
            raise InputError(f"{path} contains no ratings for {', '.join(self._names)}")
        return ItemResult((*items, *perturbed), found.rejections)

    @property
    def _names(self) -> tuple[str, ...]:
        return self.rubrics or tuple(self.run.rubrics)

    def _make_rated_items(self, record: Record, found: LabelledAnswers) -> Iterable[CompileItem]:
        ratings = {item: label for (_, item), label in found.labels.get(record.id, {}).items()}
        chosen = [name for name in self._names if name in ratings]
        if chosen:
            case = convert_to_case(record, self.run.settings, self.run.retrieval.corpus)
            for name in chosen:
                yield self._build_item(record, name, float(ratings[name]), case)

    def _make_perturbed_items(
        self, records: Sequence[Record], unperturbed: Sequence[Record]
    ) -> list[CompileItem]:
        made = [*read_perturbed_answers(records, unperturbed), *self._perturb_answer(unperturbed)]
        items: list[CompileItem] = []
        for one in made:
            for name in one.record.rubrics:
                if name in self._names:
                    case = convert_to_case(one.record, self.run.settings, self.run.retrieval.corpus)
                    item = self._build_item(one.record, name, DESIRED_RATING[one.severity], case)
                    items.append(replace(item, unperturbed=f"{one.original}/{name}"))
        return items

    def _build_item(self, record: Record, rubric: str, rating: float, case: Case) -> CompileItem:
        return CompileItem(
            key=f"{record.id}/{rubric}",
            group=record.topic or record.question,
            arguments=(case, self.run.rubrics[rubric]),
            right=rating,
            about=describe_case(case),
        )

    def _perturb_answer(self, unperturbed: Sequence[Record]) -> Sequence[PerturbedAnswer]:
        if not self.n_perturbed:
            return ()
        attacks = [attack for attack in ATTACKS if attack.family == "rubric"]
        found = perturb_answers(unperturbed, attacks=attacks, pools="fit", seed=self.seed).answers
        wanted = [one for one in found if set(one.record.rubrics) & set(self._names)]
        rng = random.Random(f"damage:{self.seed}")
        return rng.sample(wanted, min(self.n_perturbed, len(wanted)))

    def mark(self, item: CompileItem, found: Judgment) -> Grade:
        """Grade a rating by its distance from the desired rating."""
        score = float(found.rating or 0) if found.score is None else found.score
        return mark_rating(item, score, item.arguments[1].bounds)


def read_perturbed_answers(
    records: Sequence[Record], unperturbed: Sequence[Record]
) -> Iterable[PerturbedAnswer]:
    """Yield the perturbed answers in a YESciEval file, to be rated on the perturbed rubric only."""
    originals = {(record.topic, record.system): record.id for record in unperturbed}
    for record in records:
        variant, target = record.metadata.get("variant"), record.metadata.get("target_rubric", "")
        original = originals.get((record.topic, record.system))
        if variant in DESIRED_RATING and target and original:
            yield PerturbedAnswer(
                record=record.model_copy(update={"rubrics": (target.lower(),)}),
                original=original,
                attack="given",
                family="rubric",
                severity=variant,  # type: ignore[arg-type]
                targets=(f"rubric.{target.lower()}",),
            )

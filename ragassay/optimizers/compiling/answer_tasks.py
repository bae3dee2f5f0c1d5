"""Compile tasks on labelled answers: sentence labeller, nugget assigner, rubric judge."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ragassay.agents.base import Agent
from ragassay.agents.labellers import NuggetAssigner, SentenceLabeller
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.formats import read_labels
from ragassay.formats.reviews import read_answers
from ragassay.graphs.case import case_of
from ragassay.metrics.stats.alignment import consensus
from ragassay.optimizers.compiling.items import CompileItem, ItemResult
from ragassay.optimizers.compiling.metrics import (
    Grade,
    ItemOutcome,
    detection_figure,
    macro_f1_figure,
    mark_label,
    mark_rating,
    mean_figure,
)
from ragassay.optimizers.compiling.task import CompileTask, FigureOf, about_case
from ragassay.perturbations import ATTACKS, damage_answers
from ragassay.records import (
    ASSIGNMENTS,
    RELEVANCE_LABELS,
    Case,
    DamagedAnswer,
    HumanLabel,
    Judgment,
    LabelTask,
    Nugget,
    NuggetAssignment,
    Record,
    Rejection,
    SentenceLabel,
)
from ragassay.records.audit import DESIRED_RATING

Place = tuple[int, str]
"""The subject of a label: a sentence's number (0 for the whole answer), and its item."""


@dataclass(frozen=True)
class LabelledAnswers:
    """Answers with labels.

    Attributes:
        records: All readable answers.
        labels: The annotators' majority, by answer and place; places without one are left out.
        rejections: Unreadable lines, and labels of answers that are not in the file.
    """

    records: tuple[Record, ...]
    labels: dict[str, dict[Place, str]]
    rejections: tuple[Rejection, ...]


def read_labelled(path: Path, gold: Path | None, task: LabelTask) -> LabelledAnswers:
    """Read answers and their labels of one task.

    Args:
        path: Answers in any known format; or a run folder, for its answers and its reviews.
        gold: The file of the labels; None if they are in the answers' file.
        task: The labels' task.

    Raises:
        InputError: A file cannot be read, or has no label of the task for any of the answers.
    """
    read = read_answers(path)
    found = read_labels(gold or path)
    by_id = {record.id: record for record in read.records}
    by_place = {(record.topic, record.system): record for record in read.records}
    said: dict[str, dict[Place, list[str]]] = {}
    for label in found.labels:
        record = by_id.get(label.record_id or "")
        # Without a topic, another answer's label would fall to an answer without one.
        if record is None and label.topic:
            record = by_place.get((label.topic, label.system))
        if label.task == task and record is not None:
            place = (label.sentence or 0, label.item)
            said.setdefault(record.id, {}).setdefault(place, []).append(label.label)
    if not said:
        raise InputError(
            f"{gold or path} has no label of the task {task!r} on an answer of {path}; "
            f"{_describe_tasks(found.labels)}"
        )
    return LabelledAnswers(
        records=tuple(read.records),
        labels={name: _take_consensus(task, places) for name, places in said.items()},
        rejections=(*read.rejections, *(found.rejections if gold else ())),
    )


def _take_consensus(task: LabelTask, places: dict[Place, list[str]]) -> dict[Place, str]:
    together = {place: consensus(task, labels) for place, labels in places.items()}
    return {place: label for place, label in together.items() if label is not None}


def _describe_tasks(labels: Sequence[HumanLabel]) -> str:
    tasks = sorted({label.task for label in labels})
    return f"its labels are of {', '.join(tasks)}" if tasks else "it has no labels"


class AnswerLabelTask(CompileTask):
    """Answers with labels of a closed set.

    Args:
        tools: As for every task.
        gold: The file of the labels, if they are not in the answers' file.
    """

    kind: ClassVar[LabelTask]
    labels: ClassVar[Sequence[str]]

    def __init__(self, tools: Run, gold: Path | None = None) -> None:
        super().__init__(tools)
        self.gold = gold

    def read(self, path: Path) -> ItemResult:
        """Read answers in any known format, and people's labels of them."""
        found = read_labelled(path, self.gold, self.kind)
        items: list[CompileItem] = []
        rejections = list(found.rejections)
        for record in found.records:
            labels = found.labels.get(record.id)
            if not labels:
                continue
            case = case_of(record, self.tools.settings, self.tools.retrieval.corpus)
            group = record.topic or record.question
            for place, label in sorted(labels.items()):
                key = f"{record.id}/{place[0] or place[1]}"
                made = self._items(case, place, label, key, group)
                items += made
                if not made:
                    rejections.append(_beside(self.gold or path, record.id, place[0]))
        if not items:
            raise InputError(f"no label of {path} is about what its answers have")
        return ItemResult(tuple(items), tuple(rejections))

    @abstractmethod
    def _items(
        self, case: Case, place: Place, label: str, key: str, group: str
    ) -> list[CompileItem]:
        """Return a label's item; none if its place is not in the case."""

    @property
    def figures(self) -> tuple[FigureOf, ...]:
        """Macro-F1, then accuracy."""
        return (
            lambda outcomes: macro_f1_figure(self.labels),
            lambda outcomes: mean_figure("accuracy"),
        )


class SentenceLabelTask(AnswerLabelTask):
    """Sentences, labelled by whether the answer needs them."""

    kind = "relevance"
    labels = RELEVANCE_LABELS

    def make_agent(self) -> Agent:
        """Return the sentence labeller."""
        return SentenceLabeller()

    def mark(self, item: CompileItem, found: SentenceLabel) -> Grade:
        """Return 1 for the right label, else 0."""
        return mark_label(str(item.right), str(found.label))

    def _items(
        self, case: Case, place: Place, label: str, key: str, group: str
    ) -> list[CompileItem]:
        chosen = [sentence for sentence in case.sentences if sentence.index == place[0]]
        return [_item(case, (case, one), label, key, group, "label") for one in chosen]


class AssignmentTask(AnswerLabelTask):
    """Gold nuggets, labelled by whether the answer states them."""

    kind = "nugget"
    labels = ASSIGNMENTS

    def make_agent(self) -> Agent:
        """Return the nugget assigner."""
        return NuggetAssigner()

    def mark(self, item: CompileItem, found: NuggetAssignment) -> Grade:
        """Return 1 for the right label, else 0."""
        return mark_label(str(item.right), str(found.assignment))

    def _items(
        self, case: Case, place: Place, label: str, key: str, group: str
    ) -> list[CompileItem]:
        nugget = Nugget(text=place[1])
        return [_item(case, (case, 0, nugget), label, key, group, "assignment")]


def _beside(path: Path, record: str, sentence: int) -> Rejection:
    """Reject a label of a sentence that the answer does not have."""
    return Rejection(
        file=str(path),
        line=0,
        field="sentence",
        problem=f"the answer {record} has no sentence {sentence}",
        expected="a sentence of the answer, counted from 1",
    )


def _item(
    case: Case, arguments: tuple[Any, ...], label: str, key: str, group: str, field: str
) -> CompileItem:
    """Return an item; `field` is the reply's field of the label."""
    return CompileItem(
        key=key,
        group=group,
        arguments=arguments,
        right=label,
        reply={field: label},
        about=about_case(case),
    )


class RubricJudgeTask(CompileTask):
    """Answers with ratings, and damaged versions of them.

    Args:
        tools: As for every task; its rubrics are the possible ones.
        rubrics: Names of the prompt's rubrics; empty for all.
        gold: The file of the ratings, if they are not in the answers' file.
        n_damaged: Number of answers to damage as well, with texts reserved for fitting.
        seed: The damage's seed.
    """

    accept = 0.85

    def __init__(
        self,
        tools: Run,
        rubrics: Sequence[str] = (),
        gold: Path | None = None,
        n_damaged: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(tools)
        unknown = [name for name in rubrics if name not in tools.rubrics]
        if unknown:
            raise InputError(f"no rubric {unknown[0]!r}; there are {', '.join(tools.rubrics)}")
        self.rubrics = tuple(rubrics)
        self.gold, self.n_damaged, self.seed = gold, n_damaged, seed

    def make_agent(self) -> Agent:
        """Return the rubric judge."""
        return RubricJudge(self.tools.settings.prompting.strategy)

    def read(self, path: Path) -> ItemResult:
        """Read answers in any known format, with ratings.

        YESciEval's damaged variants are included: each should get YESciEval's highest desired
        rating at most, on the rubric that it was damaged for.
        """
        found = read_labelled(path, self.gold, "rubric")
        whole = [r for r in found.records if r.metadata.get("variant", "benign") == "benign"]
        items = [item for record in whole for item in self._rated(record, found)]
        keys = {item.key for item in items}
        damaged = [item for item in self._damaged(found.records, whole) if item.whole in keys]
        if not items:
            raise InputError(f"{path} has no rating on {', '.join(self._names)}")
        return ItemResult((*items, *damaged), found.rejections)

    @property
    def _names(self) -> tuple[str, ...]:
        return self.rubrics or tuple(self.tools.rubrics)

    def _rated(self, record: Record, found: LabelledAnswers) -> Iterable[CompileItem]:
        ratings = {item: label for (_, item), label in found.labels.get(record.id, {}).items()}
        chosen = [name for name in self._names if name in ratings]
        if chosen:
            case = case_of(record, self.tools.settings, self.tools.retrieval.corpus)
            for name in chosen:
                yield CompileItem(
                    key=f"{record.id}/{name}",
                    group=record.topic or record.question,
                    arguments=(case, self.tools.rubrics[name]),
                    right=float(ratings[name]),
                    about=about_case(case),
                )

    def _damaged(self, records: Sequence[Record], whole: Sequence[Record]) -> list[CompileItem]:
        made = [*_read_damaged_answers(records, whole), *self._made(whole)]
        return [
            self._damaged_item(one, name)
            for one in made
            for name in one.record.rubrics
            if name in self._names
        ]

    def _made(self, whole: Sequence[Record]) -> Sequence[DamagedAnswer]:
        if not self.n_damaged:
            return ()
        attacks = [attack for attack in ATTACKS if attack.family == "rubric"]
        found = damage_answers(whole, attacks=attacks, pools="fit", seed=self.seed).answers
        wanted = [one for one in found if set(one.record.rubrics) & set(self._names)]
        rng = random.Random(f"damage:{self.seed}")
        return rng.sample(wanted, min(self.n_damaged, len(wanted)))

    def _damaged_item(self, damaged: DamagedAnswer, name: str) -> CompileItem:
        case = case_of(damaged.record, self.tools.settings, self.tools.retrieval.corpus)
        return CompileItem(
            key=f"{damaged.record.id}/{name}",
            group=damaged.record.topic or damaged.record.question,
            arguments=(case, self.tools.rubrics[name]),
            right=DESIRED_RATING[damaged.severity],
            about=about_case(case),
            whole=f"{damaged.original}/{name}",
        )

    def mark(self, item: CompileItem, found: Judgment) -> Grade:
        """Grade by the distance from the desired rating."""
        score = float(found.rating or 0) if found.score is None else found.score
        return mark_rating(item, score, item.arguments[1].bounds)

    @property
    def figures(self) -> tuple[FigureOf, ...]:
        """Agreement with the ratings, then paired detection of damage."""

        def agreement(outcomes: Sequence[ItemOutcome]):
            return mean_figure("agreement with ratings")

        return agreement, detection_figure


def _read_damaged_answers(
    records: Sequence[Record], whole: Sequence[Record]
) -> Iterable[DamagedAnswer]:
    """Return the file's own damaged answers, each with the rubric that it was damaged for."""
    originals = {(record.topic, record.system): record.id for record in whole}
    for record in records:
        variant, target = record.metadata.get("variant"), record.metadata.get("target_rubric", "")
        original = originals.get((record.topic, record.system))
        if variant in DESIRED_RATING and target and original:
            yield DamagedAnswer(
                record=record.model_copy(update={"rubrics": (target.lower(),)}),
                original=original,
                attack="given",
                family="rubric",
                severity=variant,  # type: ignore[arg-type]
                targets=(f"rubric.{target.lower()}",),
            )

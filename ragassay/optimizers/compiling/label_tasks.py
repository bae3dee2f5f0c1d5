"""The compile tasks of sentence labeller and nugget assigner: answers that people labelled."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from ragassay.agents.base import Agent
from ragassay.agents.nugget_assigner import NuggetAssigner
from ragassay.agents.sentence_labeller import SentenceLabeller
from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.graphs.files import case_of
from ragassay.optimizers.compiling.items import CompileItem, ItemResult
from ragassay.optimizers.compiling.labelled import Place, read_labelled
from ragassay.optimizers.compiling.metrics import Grade, macro_f1_figure, mark_label, mean_figure
from ragassay.optimizers.compiling.task import CompileTask, FigureOf, about_case
from ragassay.records import (
    ASSIGNMENTS,
    RELEVANCE_LABELS,
    Case,
    LabelTask,
    Nugget,
    NuggetAssignment,
    Rejection,
    SentenceLabel,
)


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

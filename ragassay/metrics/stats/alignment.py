"""Align people's labels with the judge's verdicts on the same things."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from ragassay.metrics.papers.pooled import public_id
from ragassay.metrics.stats.aggregates import question_of
from ragassay.records import (
    ASSIGNMENTS,
    RELEVANCE_LABELS,
    CitationLabel,
    CitationVerdict,
    Evaluation,
    HumanLabel,
    LabelTask,
    VerdictBase,
)

TASK_LABELS: dict[LabelTask, tuple[str, ...]] = {
    "accuracy": ("yes", "no"),
    "relevance": RELEVANCE_LABELS,
    "citation": get_args(CitationLabel),
    "nugget": ASSIGNMENTS,
}
"""The labels of each task with a closed set; each rubric has a scale of its own."""


RATED: tuple[LabelTask, ...] = ("rubric", "racar")
"""The tasks whose labels are ratings; those of `exam_grade` are where nothing was extracted."""


@dataclass(frozen=True)
class AlignedItem:
    """Something that both people and the judge labelled.

    Attributes:
        question: The question's id, by which intervals are clustered.
        sentence: 1-based, for relevance and citation.
        item: The cited document, the nugget, the rubric or dimension, the item of the verdict.
        people: People's labels, one an annotator.
        truth: Their majority, for rubrics their lower median; None for a draw.
        predicted: The judge's label; None where unscored, and for accuracy, which no judge is asked
            for.
        is_undecided: Whether the judge left it open.
        score: The judge's rating as an expectation, for ratings.
        labels: All labels that could have been given, where they depend on the verdict.
    """

    task: LabelTask
    question: str
    record_id: str
    sentence: int | None
    item: str
    people: tuple[str, ...]
    truth: str | None
    predicted: str | None = None
    is_undecided: bool = False
    confidence: float | None = None
    score: float | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unaligned:
    """A label of a person that matches nothing in the run."""

    label: HumanLabel
    reason: str


@dataclass(frozen=True)
class Alignment:
    """Labels and verdicts on the same things, and the labels without a verdict."""

    items: tuple[AlignedItem, ...]
    unaligned: tuple[Unaligned, ...]

    def of(self, task: LabelTask) -> tuple[AlignedItem, ...]:
        """Return the items of a task."""
        return tuple(item for item in self.items if item.task == task)

    def reasons(self) -> dict[tuple[LabelTask, str], int]:
        """Count the labels of each task that were left out, by reason."""
        return dict(Counter((u.label.task, u.reason) for u in self.unaligned))


def align_labels(labels: Iterable[HumanLabel], evaluations: Sequence[Evaluation]) -> Alignment:
    """Find the verdict for each label.

    An answer is found by its record id, or else by topic (or question) and system. A label that
    comes without an annotator's name counts as another person's each time.
    """
    index = _Index(evaluations)
    found: dict[tuple[str, LabelTask, int | None, str], AlignedItem] = {}
    unaligned: list[Unaligned] = []
    annotators: set[tuple[object, ...]] = set()
    for label in labels:
        item = index.find(label)
        if isinstance(item, str):
            unaligned.append(Unaligned(label, item))
            continue
        key = (item.record_id, item.task, item.sentence, item.item)
        if label.annotator and (*key, label.annotator) in annotators:
            unaligned.append(Unaligned(label, "the same annotator labelled it twice"))
            continue
        annotators.add((*key, label.annotator))
        people = (*found[key].people, label.label) if key in found else (label.label,)
        found[key] = replace(item, people=people, truth=consensus(label.task, people))
    return Alignment(tuple(found.values()), tuple(unaligned))


def consensus(task: LabelTask, people: Sequence[str]) -> str | None:
    """Return the label that annotators agree on: the majority; of ratings the lower median.

    Returns:
        None where no label has more votes than every other.

    Example:
        >>> consensus("relevance", ["required", "borderline", "required"])
        'required'
    """
    if task in RATED or all(label.isdigit() for label in people):
        return str(statistics.median_low([int(rating) for rating in people]))
    votes = Counter(people).most_common(2)
    return None if len(votes) > 1 and votes[0][1] == votes[1][1] else votes[0][0]


class _Index:
    """Finds answers by id, or by topic and system."""

    def __init__(self, evaluations: Sequence[Evaluation]) -> None:
        self._by_id: dict[str | None, Evaluation] = {
            **{pair.id: e for e in evaluations for pair in e.pairs},
            **{e.record_id: e for e in evaluations},
        }
        self._by_place: dict[tuple[str, str], list[Evaluation]] = {}
        for e in evaluations:
            self._by_place.setdefault((question_of(e), e.system or ""), []).append(e)

    def find(self, label: HumanLabel) -> AlignedItem | str:
        """Return the item that a label is about, without its truth; or why there is none."""
        if label.label not in TASK_LABELS.get(label.task, (label.label,)):
            return f"{label.label!r} is not a label of this task"
        answers = self._answers(label)
        if len(answers) != 1:
            return "several answers fit" if answers else "no such answer in the run"
        return _item(label, answers[0])

    def _answers(self, label: HumanLabel) -> list[Evaluation]:
        if label.record_id in self._by_id:
            return [self._by_id[label.record_id]]
        if label.record_id is not None and (label.topic is None or label.system is None):
            return []
        return self._by_place.get((label.topic or "", label.system or ""), [])


def _item(label: HumanLabel, evaluation: Evaluation) -> AlignedItem | str:
    item = AlignedItem(
        task=label.task,
        question=question_of(evaluation),
        record_id=evaluation.record_id,
        sentence=label.sentence,
        item="",
        people=(),
        truth=None,
    )
    match label.task:
        case "accuracy":
            return item
        case "relevance":
            return _relevance(item, evaluation)
        case "citation":
            return _citation(item, evaluation, label.item)
        case "nugget":
            return _nugget(item, evaluation, label.item)
        case "rubric":
            return _rubric(item, evaluation, label)
        case "racar":
            return _racar(item, evaluation, label)
        case "evidence" | "correctness" | "exam_grade" | "relevance_grade":
            return _own(item, evaluation.by(label.task), label.item, label.label)


def _relevance(item: AlignedItem, evaluation: Evaluation) -> AlignedItem | str:
    verdict = next((v for v in evaluation.labels if v.sentence == item.sentence), None)
    if verdict is not None:
        return _add_verdict(item, verdict)
    if any(s.index == item.sentence for s in evaluation.sentences):
        return "the run did not label the sentence"
    return "no such sentence in the answer"


def _add_verdict(item: AlignedItem, verdict: VerdictBase) -> AlignedItem:
    value, is_open = verdict.value, verdict.is_undecided
    return replace(
        item,
        predicted=None if value is None else str(value),
        is_undecided=is_open,
        confidence=None if is_open else verdict.confidence,
    )


def _citation(item: AlignedItem, evaluation: Evaluation, document: str) -> AlignedItem | str:
    for verdict in evaluation.citations:
        if verdict.sentence == item.sentence and _is_cited(verdict, document):
            return _add_verdict(replace(item, item=verdict.citation.marker), verdict)
    return "no such citation in the sentence"


def _is_cited(verdict: CitationVerdict, document: str) -> bool:
    wanted = public_id(document) or document.strip()
    known = (verdict.citation.document or "", verdict.citation.marker)
    return bool(wanted) and wanted in {public_id(name) or name.strip() for name in known}


def _nugget(item: AlignedItem, evaluation: Evaluation, text: str) -> AlignedItem | str:
    """Read the label from the judge's assignment; in a run without any, from the nugget's match."""
    wanted = _words(text)
    gold = next((i for i, n in enumerate(evaluation.gold_nuggets) if _words(n.text) == wanted), -1)
    if gold < 0:
        return "no such gold nugget"
    item = replace(item, item=evaluation.gold_nuggets[gold].text)
    if evaluation.assignments:
        verdict = next((a for a in evaluation.assignments if a.gold == gold), None)
        if verdict is None:
            return "the run did not assign the nugget"
        return _add_verdict(item, verdict)
    if any(match.gold == gold for match in evaluation.matches):
        return replace(item, predicted="support")
    recall = evaluation.scores.get("nuggets.recall")
    is_missed = recall is not None and recall.value is not None and not recall.n_unscored
    return replace(item, predicted="not_support" if is_missed else None)


def _rubric(item: AlignedItem, evaluation: Evaluation, label: HumanLabel) -> AlignedItem | str:
    judgment = next((j for j in evaluation.judgments if j.rubric == label.item), None)
    if judgment is None:
        return "the run did not judge the rubric"
    low, high = judgment.scale
    labels = tuple(str(rating) for rating in range(low, high + 1))
    if label.label not in labels:
        return f"{label.label!r} is not a label of this task"
    rating, likely = judgment.rating, judgment.distribution
    return replace(
        item,
        item=label.item,
        predicted=None if rating is None else str(rating),
        confidence=likely[rating - low] if likely and rating is not None else None,
        score=judgment.score,
        is_undecided=judgment.is_undecided,
        labels=labels,
    )


def _racar(item: AlignedItem, evaluation: Evaluation, label: HumanLabel) -> AlignedItem | str:
    pair = label.record_id or ""
    found = _own(item, evaluation.by("racar"), f"{label.item}/{pair}", label.label)
    return found if isinstance(found, str) else replace(found, record_id=pair, item=label.item)


def _own(
    item: AlignedItem, verdicts: Iterable[VerdictBase], about: str, label: str
) -> AlignedItem | str:
    """Read the judge's label from the verdict on the same item, whose choices are the labels."""
    verdict = next((one for one in verdicts if one.item == about), None)
    if verdict is None:
        return "the run has no such verdict"
    labels = tuple(map(str, verdict.choices))
    if label not in labels:
        return f"{label!r} is not a label of this task"
    chosen, value = verdict.choice, verdict.value
    return replace(
        _add_verdict(item, verdict),
        item=about,
        predicted=None if chosen is None else str(chosen),
        score=None if isinstance(value, str) else value,
        labels=labels,
    )


def _words(text: str) -> str:
    return " ".join(text.casefold().split())

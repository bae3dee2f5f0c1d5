"""Align human labels with the judge's verdicts on the same items."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from ragassay.metrics.papers.pooled import find_public_id
from ragassay.metrics.stats.aggregates import identify_question
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
"""Allowed labels of each task with a fixed set of labels."""


RATED: tuple[LabelTask, ...] = ("rubric", "racar")
"""Tasks in which all labels are ratings, unlike `exam_grade`."""


@dataclass(frozen=True)
class AlignedItem:
    """An item with human labels and, if the judge scored it, the judge's label.

    Attributes:
        question: Key of the question, used to resample questions for intervals.
        sentence: Sentence number from 1, for relevance and citation labels.
        item: What the verdict is about, such as a cited document, a nugget, a rubric or a
            dimension.
        truth: Consensus of the human labels, or None for a tie.
        predicted: The judge's label, or None if unscored. The task "accuracy" has no labels by the
            judge.
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
    """Human label to which no verdict of the run corresponds, and the reason for this."""

    label: HumanLabel
    reason: str


@dataclass(frozen=True)
class Alignment:
    """Aligned items, and human labels to which no verdict corresponds."""

    items: tuple[AlignedItem, ...]
    unaligned: tuple[Unaligned, ...]

    def list_items(self, task: LabelTask) -> tuple[AlignedItem, ...]:
        """Return the items of a task."""
        return tuple(item for item in self.items if item.task == task)

    def count_reasons(self) -> dict[tuple[LabelTask, str], int]:
        """Count unaligned labels by task and reason."""
        return dict(Counter((u.label.task, u.reason) for u in self.unaligned))


def align_labels(labels: Iterable[HumanLabel], evaluations: Sequence[Evaluation]) -> Alignment:
    """Find the verdict that corresponds to each human label.

    An answer is identified by its record id or, if there is none, by its topic (or question) and
    system. Labels without the name of an annotator count as labels by different annotators.
    """
    index = _Index(evaluations)
    aligned: dict[tuple[str, LabelTask, int | None, str], AlignedItem] = {}
    unaligned: list[Unaligned] = []
    annotators: set[tuple[object, ...]] = set()
    for label in labels:
        item = index.find(label)
        if isinstance(item, str):
            unaligned.append(Unaligned(label, item))
            continue
        key = (item.record_id, item.task, item.sentence, item.item)
        if label.annotator and (*key, label.annotator) in annotators:
            unaligned.append(Unaligned(label, "duplicate label by the same annotator"))
            continue
        annotators.add((*key, label.annotator))
        people = (*aligned[key].people, label.label) if key in aligned else (label.label,)
        aligned[key] = replace(item, people=people, truth=find_consensus(label.task, people))
    return Alignment(tuple(aligned.values()), tuple(unaligned))


def find_consensus(task: LabelTask, people: Sequence[str]) -> str | None:
    """Return the consensus of annotators.

    The consensus is the lower median of the ratings, or the most frequent label if the labels are
    not ratings. The consensus is None if several labels are equally frequent.

    Example:
        >>> find_consensus("relevance", ["required", "borderline", "required"])
        'required'
    """
    if task in RATED or all(label.isdigit() for label in people):
        return str(statistics.median_low([int(rating) for rating in people]))
    votes = Counter(people).most_common(2)
    return None if len(votes) > 1 and votes[0][1] == votes[1][1] else votes[0][0]


class _Index:
    def __init__(self, evaluations: Sequence[Evaluation]) -> None:
        self._by_id: dict[str | None, Evaluation] = {
            **{pair.id: e for e in evaluations for pair in e.pairs},
            **{e.record_id: e for e in evaluations},
        }
        self._by_system: dict[tuple[str, str], list[Evaluation]] = {}
        for e in evaluations:
            self._by_system.setdefault((identify_question(e), e.system or ""), []).append(e)

    def find(self, label: HumanLabel) -> AlignedItem | str:
        """Return the item that a label refers to, or the reason why there is none."""
        if label.label not in TASK_LABELS.get(label.task, (label.label,)):
            return f"{label.label!r} is not a label of this task"
        answers = self._find_answers(label)
        if len(answers) != 1:
            return "several answers match" if answers else "the answer is not in the run"
        return _find_item(label, answers[0])

    def _find_answers(self, label: HumanLabel) -> list[Evaluation]:
        if label.record_id in self._by_id:
            return [self._by_id[label.record_id]]
        if label.record_id is not None and (label.topic is None or label.system is None):
            return []
        return self._by_system.get((label.topic or "", label.system or ""), [])


def _find_item(label: HumanLabel, evaluation: Evaluation) -> AlignedItem | str:
    item = AlignedItem(
        task=label.task,
        question=identify_question(evaluation),
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
            return _align_relevance(item, evaluation)
        case "citation":
            return _align_citation(item, evaluation, label.item)
        case "nugget":
            return _align_nugget(item, evaluation, label.item)
        case "rubric":
            return _align_rubric(item, evaluation, label)
        case "racar":
            return _align_racar(item, evaluation, label)
        case "evidence" | "correctness" | "exam_grade" | "relevance_grade":
            return _find_verdict(
                item, evaluation.find_verdicts(label.task), label.item, label.label
            )


def _align_relevance(item: AlignedItem, evaluation: Evaluation) -> AlignedItem | str:
    verdict = next((v for v in evaluation.labels if v.sentence == item.sentence), None)
    if verdict is not None:
        return _add_verdict(item, verdict)
    if any(s.index == item.sentence for s in evaluation.sentences):
        return "the run did not label the sentence"
    return "the sentence is not in the answer"


def _add_verdict(item: AlignedItem, verdict: VerdictBase) -> AlignedItem:
    value, is_open = verdict.value, verdict.is_undecided
    return replace(
        item,
        predicted=None if value is None else str(value),
        is_undecided=is_open,
        confidence=None if is_open else verdict.confidence,
    )


def _align_citation(item: AlignedItem, evaluation: Evaluation, document: str) -> AlignedItem | str:
    for verdict in evaluation.citations:
        if verdict.sentence == item.sentence and _is_cited(verdict, document):
            return _add_verdict(replace(item, item=verdict.citation.marker), verdict)
    return "the citation is not in the sentence"


def _is_cited(verdict: CitationVerdict, document: str) -> bool:
    key = find_public_id(document) or document.strip()
    names = (verdict.citation.document or "", verdict.citation.marker)
    return bool(key) and key in {find_public_id(name) or name.strip() for name in names}


def _align_nugget(item: AlignedItem, evaluation: Evaluation, text: str) -> AlignedItem | str:
    """Read a nugget's label from its assignment or, without assignments, from its match."""
    key = _normalize(text)
    gold = next((i for i, n in enumerate(evaluation.gold_nuggets) if _normalize(n.text) == key), -1)
    if gold < 0:
        return "the gold nugget does not exist"
    item = replace(item, item=evaluation.gold_nuggets[gold].text)
    if evaluation.assignments:
        verdict = next((a for a in evaluation.assignments if a.gold == gold), None)
        if verdict is None:
            return "the run did not label the nugget"
        return _add_verdict(item, verdict)
    if any(match.gold == gold for match in evaluation.matches):
        return replace(item, predicted="support")
    recall = evaluation.scores.get("nuggets.recall")
    is_missed = recall is not None and recall.value is not None and not recall.n_unscored
    return replace(item, predicted="not_support" if is_missed else None)


def _align_rubric(
    item: AlignedItem, evaluation: Evaluation, label: HumanLabel
) -> AlignedItem | str:
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


def _align_racar(item: AlignedItem, evaluation: Evaluation, label: HumanLabel) -> AlignedItem | str:
    pair = label.record_id or ""
    rated = _find_verdict(
        item, evaluation.find_verdicts("racar"), f"{label.item}/{pair}", label.label
    )
    return rated if isinstance(rated, str) else replace(rated, record_id=pair, item=label.item)


def _find_verdict(
    item: AlignedItem, verdicts: Iterable[VerdictBase], key: str, label: str
) -> AlignedItem | str:
    verdict = next((one for one in verdicts if one.item == key), None)
    if verdict is None:
        return "the run has no verdict on this item"
    labels = tuple(map(str, verdict.choices))
    if label not in labels:
        return f"{label!r} is not a label of this task"
    chosen, value = verdict.choice, verdict.value
    return replace(
        _add_verdict(item, verdict),
        item=key,
        predicted=None if chosen is None else str(chosen),
        score=None if isinstance(value, str) else value,
        labels=labels,
    )


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())

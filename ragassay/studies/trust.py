"""Measure the agreement between a judge and human labels for each task."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

from ragassay.metrics.papers.answer_scores import LOWER_IS_BETTER
from ragassay.metrics.stats.aggregates import average_over_questions
from ragassay.metrics.stats.agreement import (
    Agreement,
    AlphaLevel,
    krippendorff_alpha,
    measure_agreement,
    measure_discrimination,
)
from ragassay.metrics.stats.alignment import RATED, TASK_LABELS, AlignedItem, Alignment
from ragassay.metrics.stats.calibration import Calibration, measure_calibration
from ragassay.metrics.stats.correlation import correlate_scores
from ragassay.metrics.stats.intervals import mean_score
from ragassay.records import RACAR_SCALE, VERDICTS, Evaluation, LabelTask, OwnTask, Score
from ragassay.reports.display import UNDECIDED

MEAN_OF_PEOPLE, MEAN_OF_JUDGE = "mean of people", "mean of the judge"


class TrustFigure(NamedTuple):
    """Measure of a judge's agreement with humans, and its name."""

    metric: str
    score: Score


@dataclass(frozen=True)
class TaskTrust:
    """Agreement between a judge and the human consensus on one label set or score of a task.

    Attributes:
        reading: Set of labels that is compared, or name of the score.
        n_disputed: Number of items that are excluded because they have no human majority.
    """

    task: str
    reading: str
    figures: tuple[TrustFigure, ...]
    agreement: Agreement | None = None
    calibration: Calibration | None = None
    n_disputed: int = 0


@dataclass(frozen=True)
class _TaskReading:
    name: str
    labels: tuple[str, ...]
    folded: Mapping[str, str]
    is_ordered: bool = False

    def fold_label(self, label: str | None) -> str | None:
        return None if label is None else self.folded.get(label, label)


def measure_trust(
    alignment: Alignment, evaluations: Sequence[Evaluation], n_verdict_labels: int = 4
) -> tuple[TaskTrust, ...]:
    """Compare a judge's verdicts with human labels on all tasks.

    Citation labels are compared three times: as supported or not, as three labels (BioACE, section
    4.2), and as all labels. Ratings are compared for each rubric and over all rubrics.

    Args:
        evaluations: Evaluations of the run, whose scores are compared with the labels of the task
            "accuracy".
        n_verdict_labels: Number of citation labels that the judge distinguishes (2, 3 or 4), to
            which human labels are mapped.
    """
    trusts: list[TaskTrust] = []
    for task in ("relevance", "citation", "nugget"):
        items = alignment.list_items(task)
        readings = _iter_readings(task, items, n_verdict_labels)
        trusts += [_measure(task, reading, items) for reading in readings]
    for task in RATED:
        trusts += _measure_rated_tasks(task, alignment.list_items(task))
    for task in get_args(OwnTask):
        trusts += _measure_own_labels(task, alignment.list_items(task))
    return (*trusts, *_measure_accuracy(alignment.list_items("accuracy"), evaluations))


def _iter_readings(
    task: LabelTask, items: Sequence[AlignedItem], n_verdict_labels: int
) -> Iterator[_TaskReading]:
    if not items:
        return
    every = TASK_LABELS[task]
    seen = {label for item in items for label in (*item.people, item.predicted) if label}
    if task == "citation":
        others = dict.fromkeys(every, "other") | {"supports": "supports"}
        yield _TaskReading("supports or not", ("supports", "other"), others)
        if n_verdict_labels == 2:
            return
        folded = {x: "neutral" for x in every if x not in ("supports", "contradicts")}
        yield _TaskReading("three labels", ("supports", "contradicts", "neutral"), folded)
        if n_verdict_labels == 3:
            return
        every = (*VERDICTS, *sorted(seen & {"invalid", "not_attributable"}))
    if task == "nugget":
        others = dict.fromkeys(every, "other") | {"support": "support"}
        yield _TaskReading("support or not", ("support", "other"), others)
        if "partial_support" not in seen:
            return
    yield _TaskReading(_name_labels(every), every, {})


def _name_labels(labels: Sequence[str]) -> str:
    number = {2: "two", 3: "three", 4: "four", 5: "five"}.get(len(labels), "all")
    return f"{number} labels"


def _measure(task: str, reading: _TaskReading, items: Sequence[AlignedItem]) -> TaskTrust:
    pairs = [(reading.fold_label(i.truth), i) for i in items]
    decided = [(truth, item) for truth, item in pairs if truth is not None]
    truth = [label for label, _ in decided]
    predicted = [reading.fold_label(item.predicted) for _, item in decided]
    questions = [item.question for _, item in decided]
    agreed = measure_agreement(
        truth, predicted, reading.labels, questions, is_ordered=reading.is_ordered
    )
    figures = [
        TrustFigure("accuracy", agreed.accuracy),
        *_measure_abstention(truth, predicted, [item for _, item in decided]),
        *_iter_averages(agreed),
        TrustFigure("Cohen's kappa", agreed.kappa),
    ]
    if agreed.linear_kappa and agreed.quadratic_kappa:
        figures.append(TrustFigure("Cohen's kappa, linear weights", agreed.linear_kappa))
        figures.append(TrustFigure("Cohen's kappa, quadratic weights", agreed.quadratic_kappa))
    units = [[t] if p is None else [t, p] for t, p in zip(truth, predicted, strict=True)]
    figures += _compute_alphas("Krippendorff's alpha", units, reading, questions)
    figures += _measure_human_agreement(reading, items)
    calibrated = _measure_calibration(reading, decided)
    if calibrated:
        error = calibrated.error
        figures.append(TrustFigure("expected calibration error (lower is better)", error))
        figures.append(TrustFigure("Brier score (lower is better)", calibrated.brier))
    n_disputed = len(items) - len(decided)
    return TaskTrust(task, reading.name, tuple(figures), agreed, calibrated, n_disputed)


def _iter_averages(agreed: Agreement) -> Iterator[TrustFigure]:
    for way, one in agreed.averages.items():
        yield TrustFigure(f"{way} precision", one.precision)
        yield TrustFigure(f"{way} recall", one.recall)
        yield TrustFigure("macro-F1" if way == "macro" else f"{way} F1", one.f1)


def _measure_abstention(
    truth: Sequence[str], predicted: Sequence[str | None], items: Sequence[AlignedItem]
) -> list[TrustFigure]:
    """Return the accuracy with undecided items as wrong, and the share of decided items.

    The list is empty if no item is undecided.
    """
    if not any(item.is_undecided for item in items):
        return []
    right: list[float | None] = []
    decided: list[float | None] = []
    for label, guess, item in zip(truth, predicted, items, strict=True):
        is_failed = guess is None and not item.is_undecided
        right.append(None if is_failed else float(guess == label))
        decided.append(None if is_failed else float(guess is not None))
    questions = [item.question for item in items]
    return [
        TrustFigure(f"accuracy, {UNDECIDED} as wrong", average_over_questions(right, questions)),
        TrustFigure("share decided", average_over_questions(decided, questions)),
    ]


def _compute_alphas(
    name: str, units: Sequence[Sequence[str]], reading: _TaskReading, questions: Sequence[str]
) -> list[TrustFigure]:
    levels: tuple[AlphaLevel, ...] = ("ordinal", "interval") if reading.is_ordered else ("nominal",)
    return [
        TrustFigure(f"{name}, {level}", krippendorff_alpha(units, reading.labels, level, questions))
        for level in levels
    ]


def _measure_human_agreement(
    reading: _TaskReading, items: Sequence[AlignedItem]
) -> list[TrustFigure]:
    """Measure the agreement among humans, with and without the judge as an additional rater.

    Items without a majority are included. The list is empty if no item has two human labels.
    """
    shared = [item for item in items if len(item.people) > 1]
    if not shared:
        return []
    people = [[reading.folded.get(label, label) for label in item.people] for item in shared]
    judged = [reading.fold_label(item.predicted) for item in shared]
    everyone = [[*u, p] if p is not None else u for u, p in zip(people, judged, strict=True)]
    questions = [item.question for item in shared]
    return [
        *_compute_alphas("between people: Krippendorff's alpha", people, reading, questions),
        *_compute_alphas(
            "people and the judge: Krippendorff's alpha", everyone, reading, questions
        ),
    ]


def _measure_calibration(
    reading: _TaskReading, decided: Sequence[tuple[str, AlignedItem]]
) -> Calibration | None:
    """Measure calibration. Return None if labels are merged or if there are no confidences."""
    scored = [(truth, item) for truth, item in decided if item.predicted is not None]
    if reading.folded or all(item.confidence is None for _, item in scored):
        return None
    return measure_calibration(
        [item.confidence for _, item in scored],
        [item.predicted == truth for truth, item in scored],
        [item.question for _, item in scored],
    )


def _measure_own_labels(task: OwnTask, items: Sequence[AlignedItem]) -> Iterator[TaskTrust]:
    for labels in dict.fromkeys(item.labels for item in items):
        group = [item for item in items if item.labels == labels]
        if all(label.isdigit() for label in labels):
            yield _measure_ratings(task, f"{labels[0]} to {labels[-1]}", group)
        else:
            yield _measure(task, _TaskReading(_name_labels(labels), labels, {}), group)


def _measure_rated_tasks(task: LabelTask, items: Sequence[AlignedItem]) -> list[TaskTrust]:
    names = sorted({item.item for item in items})
    groups = {name: [item for item in items if item.item == name] for name in names}
    # Ratings on different scales cannot be combined.
    if len(names) > 1 and len({item.labels for item in items}) == 1:
        groups["all rubrics" if task == "rubric" else "all dimensions"] = list(items)
    return [_measure_ratings(task, name, group) for name, group in groups.items()]


def _measure_ratings(task: LabelTask, name: str, items: Sequence[AlignedItem]) -> TaskTrust:
    ratings = tuple(sorted({label for item in items for label in item.labels}, key=int))
    trust = _measure(task, _TaskReading(name, ratings, {}, is_ordered=True), items)
    correlation = correlate_scores(
        [float(item.truth or 0) for item in items],
        [item.score for item in items],
        [item.question for item in items],
    )
    added = (
        *_average_ratings(task, items),
        TrustFigure("Spearman's rho", correlation.spearman),
        TrustFigure("Kendall's tau-b", correlation.kendall),
    )
    return replace(trust, figures=(*trust.figures, *added))


def _average_ratings(task: LabelTask, items: Sequence[AlignedItem]) -> Iterator[TrustFigure]:
    """Yield the mean human and judge rating on a RACAR dimension (Wan et al. 2024, 5.1)."""
    if task == "racar":
        low, high = map(float, RACAR_SCALE)
        with_human_labels = [statistics.fmean(map(int, item.people)) for item in items]
        yield TrustFigure(MEAN_OF_PEOPLE, mean_score(with_human_labels, (low, high)))
        yield TrustFigure(MEAN_OF_JUDGE, mean_score([i.score for i in items], (low, high)))


def _measure_accuracy(
    items: Sequence[AlignedItem], evaluations: Sequence[Evaluation]
) -> Iterator[TaskTrust]:
    """Yield the AUROC with which each score separates accurate from inaccurate answers."""
    scores = {e.record_id: e.scores for e in evaluations}
    decided = [item for item in items if item.truth is not None]
    questions = [item.question for item in decided]
    is_good = [item.truth == "yes" for item in decided]
    for key in dict.fromkeys(key for item in decided for key in scores[item.record_id]):
        own = [scores[item.record_id].get(key) for item in decided]
        areas = measure_discrimination(
            [score.decided if score else None for score in own],
            is_good,
            questions,
            lower_is_better=key in LOWER_IS_BETTER,
        )
        figures = (
            TrustFigure("AUROC", areas.auroc),
            TrustFigure("AUROC, paired by question", areas.paired_auroc),
        )
        yield TaskTrust("accuracy", key, figures, n_disputed=len(items) - len(decided))

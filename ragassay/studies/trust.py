"""Measure how far a judge can be trusted: its labels against people's, task by task."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

from ragassay.metrics.papers.answer_scores import LOWER_IS_BETTER
from ragassay.metrics.stats.aggregates import mean_over_questions
from ragassay.metrics.stats.agreement import (
    Agreement,
    AlphaLevel,
    agreement,
    discrimination,
    krippendorff_alpha,
)
from ragassay.metrics.stats.alignment import RATED, TASK_LABELS, AlignedItem, Alignment
from ragassay.metrics.stats.calibration import Calibration, calibration
from ragassay.metrics.stats.correlation import correlate_scores
from ragassay.metrics.stats.intervals import mean_score
from ragassay.records import RACAR_SCALE, VERDICTS, Evaluation, LabelTask, OwnTask, Score
from ragassay.reports.display import UNDECIDED

MEAN_OF_PEOPLE, MEAN_OF_JUDGE = "mean of people", "mean of the judge"


class TrustFigure(NamedTuple):
    """One number about a judge."""

    metric: str
    score: Score


@dataclass(frozen=True)
class TaskTrust:
    """A judge against the consensus of people on one task, or on one reading of it.

    Attributes:
        reading: Which labels were distinguished, or which score was used.
        agreement: With the confusion matrix; None where no labels are compared.
        calibration: None where the judge gave no probabilities.
        n_disputed: Items without a majority; they are left out.
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

    def of(self, label: str | None) -> str | None:
        return None if label is None else self.folded.get(label, label)


def judge_trust(
    alignment: Alignment, evaluations: Sequence[Evaluation], n_verdict_labels: int = 4
) -> tuple[TaskTrust, ...]:
    """Compare a judge with people's labels in every way that the labels allow.

    Citations are read up to three ways: supported or not; supports, contradicts or neither
    (BioACE, section 4.2); all labels. Ratings are compared rubric by rubric and over all.

    Args:
        alignment: From `align_labels`.
        evaluations: The run's evaluations; their scores are compared with accuracy labels.
        n_verdict_labels: The number of labels that the judge chose verdicts from: 2, 3 or 4.
            People's finer labels are folded into these.
    """
    found: list[TaskTrust] = []
    for task in ("relevance", "citation", "nugget"):
        items = alignment.of(task)
        readings = _readings(task, items, n_verdict_labels)
        found += [_trust(task, reading, items) for reading in readings]
    for task in RATED:
        found += _measure_rated_tasks(task, alignment.of(task))
    for task in get_args(OwnTask):
        found += _own(task, alignment.of(task))
    return (*found, *_accuracy(alignment.of("accuracy"), evaluations))


def _readings(
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
    yield _TaskReading(f"{_in_words(len(every))} labels", every, {})


def _in_words(n: int) -> str:
    return {2: "two", 3: "three", 4: "four", 5: "five"}.get(n, "all")


def _trust(task: str, reading: _TaskReading, items: Sequence[AlignedItem]) -> TaskTrust:
    pairs = [(reading.of(i.truth), i) for i in items]
    decided = [(truth, item) for truth, item in pairs if truth is not None]
    truth = [label for label, _ in decided]
    predicted = [reading.of(item.predicted) for _, item in decided]
    questions = [item.question for _, item in decided]
    found = agreement(truth, predicted, reading.labels, questions, is_ordered=reading.is_ordered)
    figures = [
        TrustFigure("accuracy", found.accuracy),
        *_averages(found),
        TrustFigure("Cohen's kappa", found.kappa),
    ]
    if found.linear_kappa and found.quadratic_kappa:
        figures.append(TrustFigure("Cohen's kappa, linear weights", found.linear_kappa))
        figures.append(TrustFigure("Cohen's kappa, quadratic weights", found.quadratic_kappa))
    figures[1:1] = _abstaining(truth, predicted, [item for _, item in decided])
    units = [[t] if p is None else [t, p] for t, p in zip(truth, predicted, strict=True)]
    figures += _alphas("Krippendorff's alpha", units, reading, questions)
    figures += _between_people(reading, items)
    sure = _measure_calibration(reading, decided)
    if sure:
        figures.append(TrustFigure("expected calibration error (lower is better)", sure.error))
        figures.append(TrustFigure("Brier score (lower is better)", sure.brier))
    return TaskTrust(
        task, reading.name, tuple(figures), found, sure, n_disputed=len(items) - len(decided)
    )


def _averages(found: Agreement) -> Iterator[TrustFigure]:
    for way, one in found.averages.items():
        yield TrustFigure(f"{way} precision", one.precision)
        yield TrustFigure(f"{way} recall", one.recall)
        yield TrustFigure("macro-F1" if way == "macro" else f"{way} F1", one.f1)


def _abstaining(
    truth: Sequence[str], predicted: Sequence[str | None], items: Sequence[AlignedItem]
) -> list[TrustFigure]:
    """Measure a judge that leaves items open: its accuracy alone is over what it decides.

    Empty for a judge that leaves nothing open.
    """
    asked = [i for i, one in enumerate(items) if predicted[i] is not None or one.is_undecided]
    if not any(items[i].is_undecided for i in asked):
        return []
    known = set(asked)
    right = [float(predicted[i] == truth[i]) if i in known else None for i in range(len(items))]
    told = [float(predicted[i] is not None) if i in known else None for i in range(len(items))]
    questions = [item.question for item in items]
    return [
        TrustFigure(name, mean_over_questions(hits, questions))
        for name, hits in ((f"accuracy, {UNDECIDED} as wrong", right), ("share decided", told))
    ]


def _alphas(
    name: str,
    units: Sequence[Sequence[str]],
    reading: _TaskReading,
    questions: Sequence[str],
) -> list[TrustFigure]:
    levels: tuple[AlphaLevel, ...] = ("ordinal", "interval") if reading.is_ordered else ("nominal",)
    return [
        TrustFigure(f"{name}, {level}", krippendorff_alpha(units, reading.labels, level, questions))
        for level in levels
    ]


def _between_people(reading: _TaskReading, items: Sequence[AlignedItem]) -> list[TrustFigure]:
    """Measure how well people agree, without the judge and with it as one of them.

    The majority leaves out what people do not agree on; here it counts. Empty where two people
    labelled nothing in common.
    """
    shared = [item for item in items if len(item.people) > 1]
    if not shared:
        return []
    people = [[reading.folded.get(label, label) for label in item.people] for item in shared]
    judged = [reading.of(item.predicted) for item in shared]
    everyone = [[*u, p] if p is not None else u for u, p in zip(people, judged, strict=True)]
    questions = [item.question for item in shared]
    return [
        *_alphas("between people: Krippendorff's alpha", people, reading, questions),
        *_alphas("people and the judge: Krippendorff's alpha", everyone, reading, questions),
    ]


def _measure_calibration(
    reading: _TaskReading, decided: Sequence[tuple[str, AlignedItem]]
) -> Calibration | None:
    """Measure calibration of the label itself; folded labels have no probability of their own."""
    scored = [(truth, item) for truth, item in decided if item.predicted is not None]
    if reading.folded or all(item.confidence is None for _, item in scored):
        return None
    return calibration(
        [item.confidence for _, item in scored],
        [item.predicted == truth for truth, item in scored],
        [item.question for _, item in scored],
    )


def _own(task: OwnTask, items: Sequence[AlignedItem]) -> Iterator[TaskTrust]:
    """Yield the agreement on an evaluator's verdicts, by the labels that they could have."""
    for labels in dict.fromkeys(item.labels for item in items):
        alike = [item for item in items if item.labels == labels]
        if all(label.isdigit() for label in labels):
            yield _ratings(task, f"{labels[0]} to {labels[-1]}", alike)
        else:
            yield _trust(task, _TaskReading(f"{_in_words(len(labels))} labels", labels, {}), alike)


def _measure_rated_tasks(task: LabelTask, items: Sequence[AlignedItem]) -> list[TaskTrust]:
    names = sorted({item.item for item in items})
    groups = {name: [item for item in items if item.item == name] for name in names}
    # Ratings on different scales cannot share a table.
    if len(names) > 1 and len({item.labels for item in items}) == 1:
        groups["all rubrics" if task == "rubric" else "all dimensions"] = list(items)
    return [_ratings(task, name, group) for name, group in groups.items()]


def _ratings(task: LabelTask, name: str, items: Sequence[AlignedItem]) -> TaskTrust:
    ratings = tuple(sorted({label for item in items for label in item.labels}, key=int))
    trust = _trust(task, _TaskReading(name, ratings, {}, is_ordered=True), items)
    alike = correlate_scores(
        [float(item.truth or 0) for item in items],
        [item.score for item in items],
        [item.question for item in items],
    )
    added = (
        *_means(task, items),
        TrustFigure("Spearman's rho", alike.spearman),
        TrustFigure("Kendall's tau-b", alike.kendall),
    )
    return replace(trust, figures=(*trust.figures, *added))


def _means(task: LabelTask, items: Sequence[AlignedItem]) -> Iterator[TrustFigure]:
    """Yield both means, as the paper compares them (Wan et al. 2024, section 5.1)."""
    if task == "racar":
        low, high = map(float, RACAR_SCALE)
        by_people = [statistics.fmean(map(int, item.people)) for item in items]
        yield TrustFigure(MEAN_OF_PEOPLE, mean_score(by_people, (low, high)))
        yield TrustFigure(MEAN_OF_JUDGE, mean_score([i.score for i in items], (low, high)))


def _accuracy(
    items: Sequence[AlignedItem], evaluations: Sequence[Evaluation]
) -> Iterator[TaskTrust]:
    """Score each of the run's scores as a detector of accurate answers."""
    scores = {e.record_id: e.scores for e in evaluations}
    decided = [item for item in items if item.truth is not None]
    questions = [item.question for item in decided]
    is_good = [item.truth == "yes" for item in decided]
    for key in dict.fromkeys(key for item in decided for key in scores[item.record_id]):
        known = [scores[item.record_id].get(key) for item in decided]
        found = discrimination(
            [score.decided if score else None for score in known],
            is_good,
            questions,
            lower_is_better=key in LOWER_IS_BETTER,
        )
        figures = (
            TrustFigure("AUROC", found.auroc),
            TrustFigure("AUROC, paired by question", found.paired_auroc),
        )
        yield TaskTrust("accuracy", key, figures, n_disputed=len(items) - len(decided))

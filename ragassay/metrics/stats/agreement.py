"""Measure label agreement, and how well a score separates good and bad answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import (
    N_SLOW_DRAWS,
    build_score,
    cluster_names,
    score_clustered_mean,
    score_statistic,
    sum_by_cluster,
)
from ragassay.records import Score

Average = Literal["binary", "macro", "weighted"]


@dataclass(frozen=True)
class Averaged:
    """Averaged precision, recall and F1.

    Attributes:
        average: Averaging method. "binary" uses only the first label, "macro" weights all used
            labels equally, and "weighted" weights them by their number of human labels.
        precision: Averaged precision. The precision of labels that are never predicted is 0.
        recall: Averaged recall. The recall of labels that humans never used is 0.
        f1_of_means: Harmonic mean of `precision` and `recall`, as in BioACE's three-label tables.
    """

    average: Average
    precision: Score
    recall: Score
    f1: Score
    f1_of_means: Score


def average_labels(tables: NDArray[np.float64], n_unscored: int, average: Average) -> Averaged:
    """Average precision, recall and F1 over labels, with the same results as scikit-learn.

    Args:
        tables: Confusion matrices by question, shape (n_questions, n_labels, n_labels). Rows are
            human labels, and columns are judge labels. Intervals are computed by resampling
            questions.
    """
    total, n = tables.sum(axis=0), int(tables.sum())
    if not n:
        return Averaged(average, *[build_score(None, 0, n_unscored)] * 4)
    # As in scikit-learn, unused labels are not averaged.
    is_used = total.sum(axis=0) + total.sum(axis=1) > 0
    is_used[0] = is_used[0] or average == "binary"
    own = tables[:, is_used][:, :, is_used]

    def score_figure(name: str) -> Score:
        def compute_draws(counts: NDArray[np.int64]) -> NDArray[np.float64]:
            return compute_figures(np.tensordot(counts, own, axes=1), average)[name]

        return score_statistic(compute_draws, len(tables), n, n_unscored)

    return Averaged(average, *map(score_figure, ("precision", "recall", "f1", "f1_of_means")))


def compute_figures(
    tables: NDArray[np.float64], average: Average
) -> Mapping[str, NDArray[np.float64]]:
    """Compute averaged precision, recall, F1 and F1 of means for many confusion matrices.

    Args:
        tables: Confusion matrices, shape (n_draws, n_labels, n_labels). Rows are human labels and
            columns are judge labels.

    Returns:
        Values, keyed by name, shape (n_draws,). Division by zero yields 0, as in scikit-learn.
    """
    hits = np.diagonal(tables, axis1=1, axis2=2)
    labelled_counts, predicted_counts = tables.sum(axis=2), tables.sum(axis=1)

    def divide_counts(
        above: NDArray[np.float64], below: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return np.where(below > 0, above / np.where(below > 0, below, 1), 0.0)

    parts = (
        divide_counts(hits, predicted_counts),
        divide_counts(hits, labelled_counts),
        divide_counts(2 * hits, labelled_counts + predicted_counts),
    )
    if average == "binary":
        weights = np.eye(tables.shape[1])[:1]
    elif average == "macro":
        weights = np.full((1, tables.shape[1]), 1 / tables.shape[1])
    else:
        weights = divide_counts(labelled_counts, labelled_counts.sum(axis=1, keepdims=True))
    precision, recall, f1 = ((part * weights).sum(axis=1) for part in parts)
    f1_of_means = divide_counts(2 * precision * recall, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1, "f1_of_means": f1_of_means}


@dataclass(frozen=True)
class Discrimination:
    """Probability that a good answer has a better score than a bad answer.

    Attributes:
        auroc: Area under the ROC curve over all answers. `n` is the number of scored answers.
        paired_auroc: Mean area over questions, each with its own answers only, so that the
            difficulty of questions has no influence. `n` is the number of questions with at least
            one good and one bad answer.
    """

    auroc: Score
    paired_auroc: Score


def measure_discrimination(
    values: Sequence[float | None],
    is_good: Sequence[bool],
    questions: Sequence[str] | None = None,
    *,
    lower_is_better: bool = False,
) -> Discrimination:
    """Return the area under a score's ROC curve, over all answers and within questions.

    Args:
        values: Score of each answer, shape (n,). None means unscored.
        is_good: Human label of each answer, shape (n,).
        questions: Question of each answer, shape (n,), used to resample questions for intervals.
        lower_is_better: Whether good answers have lower scores.

    Returns:
        Areas in [0, 1]. A value is None if there is no pair of a good and a bad answer.

    Raises:
        InputError: If the lengths differ.
    """
    names = cluster_names(questions, len(is_good))
    if not len(values) == len(is_good) == len(names):
        raise InputError(
            f"found {len(values)} scores for {len(is_good)} answers; pass one score for each answer"
        )
    sign = -1.0 if lower_is_better else 1.0
    scored = [
        (sign * v, g, q) for v, g, q in zip(values, is_good, names, strict=True) if v is not None
    ]
    scores = np.array([v for v, *_ in scored])
    good = np.array([g for _, g, _ in scored], dtype=bool)
    unique, ids = np.unique(np.array([q for *_, q in scored], dtype=object), return_inverse=True)
    wins = _count_wins(scores, good, ids, len(unique))
    n_unscored = len(is_good) - len(scored)
    n_good, n_bad = (np.bincount(ids[kind], minlength=len(wins)) for kind in (good, ~good))

    def compute_areas(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        won = ((counts @ wins) * counts).sum(axis=1)
        return won / ((counts @ n_good) * (counts @ n_bad))

    both = np.flatnonzero(n_good * n_bad)
    areas = [float(wins[i, i] / (n_good[i] * n_bad[i])) for i in both]
    return Discrimination(
        score_statistic(compute_areas, len(wins), len(good), n_unscored),
        score_clustered_mean(areas, [unique[i] for i in both], n_unscored),
    )


def _count_wins(
    scores: NDArray[np.float64], good: NDArray[np.bool_], ids: NDArray[np.intp], n: int
) -> NDArray[np.float64]:
    """Count the pairs in which the good answer has the higher score. Ties count as 0.5.

    Returns:
        Counts, shape (n_questions, n_questions). Rows are the questions of the good answers, and
        columns are the questions of the bad answers.
    """
    above = scores[good][:, None] - scores[~good]
    won = np.where(above == 0, 0.5, (above > 0).astype(float))
    wins = np.zeros((n, n))
    np.add.at(wins, (ids[good][:, None], ids[~good][None, :]), won)
    return wins


KappaWeights = Literal["linear", "quadratic"]
AlphaLevel = Literal["nominal", "ordinal", "interval"]
COEFFICIENT_SCALE = (-1.0, 1.0)


@dataclass(frozen=True)
class ClassAgreement:
    """Agreement on one label.

    Attributes:
        precision: The judge's precision, which is undefined if `n_predicted` is 0.
        f1: The judge's F1. F1 is undefined if neither the judge nor the humans used the label.
    """

    label: str
    n_truth: int
    n_predicted: int
    precision: Score
    recall: Score
    f1: Score


@dataclass(frozen=True)
class Agreement:
    """Agreement between a judge and human labels.

    Attributes:
        accuracy: Share of items for which the judge's label equals the human label. The bounds
            allow for unscored items.
        linear_kappa: Kappa with linear weights, or None if the labels are not ordered.
        quadratic_kappa: Kappa with quadratic weights, or None if the labels are not ordered.
        confusion: Confusion matrix. Rows are human labels and columns are judge labels.
    """

    labels: tuple[str, ...]
    accuracy: Score
    averages: Mapping[Average, Averaged]
    kappa: Score
    linear_kappa: Score | None
    quadratic_kappa: Score | None
    classes: tuple[ClassAgreement, ...]
    confusion: tuple[tuple[int, ...], ...]


def measure_agreement(
    truth: Sequence[str],
    predicted: Sequence[str | None],
    labels: Sequence[str],
    questions: Sequence[str] | None = None,
    *,
    is_ordered: bool = False,
    averages: Sequence[Average] = ("macro", "weighted"),
) -> Agreement:
    """Compare judge labels with human labels, with the same results as scikit-learn.

    Args:
        truth: Human labels, shape (n_items,).
        predicted: Judge labels, shape (n_items,). None means unscored.
        labels: All labels, in ascending order if `is_ordered`.
        questions: Question of each item, shape (n_items,), used to resample questions for
            intervals.
        is_ordered: Whether the labels are ordered, so that weighted kappa is defined.

    Raises:
        InputError: If the lengths differ or a label is not in `labels`.
    """
    groups = cluster_names(questions, len(truth))
    _check(truth, predicted, labels, groups)
    index = {label: i for i, label in enumerate(labels)}
    triples = zip(truth, predicted, groups, strict=True)
    rows = [(index[t], index[p], q) for t, p, q in triples if p is not None]
    n_unscored = len(truth) - len(rows)
    counts = np.zeros((len(rows), len(labels), len(labels)))
    for i, (t, p, _) in enumerate(rows):
        counts[i, t, p] = 1
    tables = sum_by_cluster(counts, [q for *_, q in rows])
    weights: tuple[KappaWeights, KappaWeights] = ("linear", "quadratic")
    linear, quadratic = (
        _score_kappa(tables, n_unscored, name) if is_ordered else None for name in weights
    )
    return Agreement(
        labels=tuple(labels),
        accuracy=_score_accuracy(tables, n_unscored),
        averages={way: average_labels(tables, n_unscored, way) for way in averages},
        kappa=_score_kappa(tables, n_unscored, None),
        linear_kappa=linear,
        quadratic_kappa=quadratic,
        classes=tuple(_score_class(label, i, tables, n_unscored) for i, label in enumerate(labels)),
        confusion=tuple(tuple(map(int, row)) for row in counts.sum(axis=0)),
    )


def krippendorff_alpha(
    units: Sequence[Sequence[str]],
    labels: Sequence[str],
    level: AlphaLevel,
    questions: Sequence[str] | None = None,
) -> Score:
    """Return Krippendorff's alpha (Krippendorff 2011) for any number of raters.

    Args:
        units: Labels of each item, at most one from each rater.
        labels: All possible labels, in ascending order for "ordinal" and numeric for "interval".
        level: Level of measurement, which determines how much each kind of disagreement counts.
        questions: Question of each item, shape (n_items,), used to resample questions for an
            interval.

    Returns:
        Alpha. `n` is the number of items with at least two labels, and `n_unscored` the number of
        other items. The value is None if no item has two labels or if all labels are equal.

    Raises:
        InputError: If a label is not in `labels`.
    """
    index = {label: i for i, label in enumerate(labels)}
    unknown = next((x for unit in units for x in unit if x not in index), None)
    if unknown is not None:
        raise InputError(f"{unknown!r} is not one of the labels {', '.join(labels)}")
    counts = np.zeros((len(units), len(labels)), dtype=int)
    for i, unit in enumerate(units):
        for label in unit:
            counts[i, index[label]] += 1
    tables = sum_by_cluster(_count_coincidences(counts), cluster_names(questions, len(units)))

    def compute_alphas(drawn: NDArray[np.int64]) -> NDArray[np.float64]:
        return _compute_alphas(np.tensordot(drawn, tables, axes=1), labels, level)

    n_paired = int((counts.sum(axis=1) >= 2).sum())
    n_single = len(units) - n_paired
    return score_statistic(
        compute_alphas, len(tables), n_paired, n_single, COEFFICIENT_SCALE, N_SLOW_DRAWS
    )


def _count_coincidences(counts: NDArray[np.int_]) -> NDArray[np.float64]:
    """Return the coincidence matrix of each item, shape (n_items, n_labels, n_labels)."""
    n_raters = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    return pairs / np.maximum(n_raters - 1, 1)[:, None, None]


def _compute_alphas(
    tables: NDArray[np.float64], labels: Sequence[str], level: AlphaLevel
) -> NDArray[np.float64]:
    """Return alpha = 1 - sum(d * observed) / sum(d * expected) for each coincidence matrix.

    The GPL package `krippendorff`, used only in tests, computes the same value for one matrix.
    `tables` has the shape (n_draws, n_labels, n_labels).
    """
    sums = tables.sum(axis=2)
    total = sums.sum(axis=1)[:, None, None]
    expected = sums[:, :, None] * sums[:, None, :] / (total - 1)
    if level == "ordinal":
        # Number of ratings between two labels, including half of the ratings at each end.
        below = sums.cumsum(axis=1) - sums / 2
        differences = (below[:, :, None] - below[:, None, :]) ** 2
    elif level == "interval":
        values = np.array(labels, dtype=float)
        differences = ((values[:, None] - values) ** 2)[None]
    else:
        differences = 1 - np.eye(len(labels))[None]
    observed = (tables * differences).sum(axis=(1, 2))
    return 1 - observed / (expected * differences).sum(axis=(1, 2))


def _check(
    truth: Sequence[str],
    predicted: Sequence[str | None],
    labels: Sequence[str],
    questions: Sequence[str],
) -> None:
    if not len(truth) == len(predicted) == len(questions):
        raise InputError(
            f"found {len(truth)} human labels, {len(predicted)} judge labels and "
            f"{len(questions)} questions; the numbers must be equal"
        )
    unknown = sorted({x for x in (*truth, *predicted) if x is not None} - set(labels))
    if unknown:
        raise InputError(f"{unknown[0]!r} is not one of the labels {', '.join(labels)}")


def _score_accuracy(tables: NDArray[np.float64], n_unscored: int) -> Score:
    hits, sizes = tables.trace(axis1=1, axis2=2), tables.sum(axis=(1, 2))
    score = _score_share(hits, sizes, n_unscored)
    total = score.n + n_unscored
    if not total:
        return score
    ends = {"worst": hits.sum() / total, "best": (hits.sum() + n_unscored) / total}
    return score.model_copy(update={end: float(value) for end, value in ends.items()})


def _score_kappa(
    tables: NDArray[np.float64], n_unscored: int, weights: KappaWeights | None
) -> Score:
    """Return kappa = 1 - sum(w * observed) / sum(w * expected) (Cohen 1968).

    The value is None if all labels are equal.
    """
    ranks = np.arange(tables.shape[1], dtype=float)
    distance = np.abs(ranks[:, None] - ranks)
    if weights is None:
        distance = (distance > 0).astype(float)
    elif weights == "quadratic":
        distance = distance**2

    def compute_kappas(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        drawn = np.tensordot(counts, tables, axes=1)
        total = drawn.sum(axis=(1, 2))
        expected = np.einsum("di,dj,ij->d", drawn.sum(axis=2), drawn.sum(axis=1), distance) / total
        return 1 - (drawn * distance).sum(axis=(1, 2)) / expected

    return score_statistic(
        compute_kappas, len(tables), int(tables.sum()), n_unscored, COEFFICIENT_SCALE
    )


def _score_class(
    label: str, i: int, tables: NDArray[np.float64], n_unscored: int
) -> ClassAgreement:
    both = tables[:, i, i]
    labelled_counts, predicted_counts = (tables.sum(axis=axis)[:, i] for axis in (2, 1))
    return ClassAgreement(
        label=label,
        n_truth=int(labelled_counts.sum()),
        n_predicted=int(predicted_counts.sum()),
        precision=_score_share(both, predicted_counts, n_unscored),
        recall=_score_share(both, labelled_counts, n_unscored),
        f1=_score_share(2 * both, labelled_counts + predicted_counts, n_unscored),
    )


def _score_share(hits: NDArray[np.float64], sizes: NDArray[np.float64], n_unscored: int) -> Score:
    n = int(sizes.sum())
    return score_statistic(lambda w: (w @ hits) / (w @ sizes), len(sizes), n, n_unscored)

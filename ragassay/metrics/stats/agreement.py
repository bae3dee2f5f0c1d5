"""Agreement of labels, and how well a score tells good answers from bad ones."""

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
    clustered_mean,
    statistic_score,
    sums_by_cluster,
)
from ragassay.records import Score

Average = Literal["binary", "macro", "weighted"]


@dataclass(frozen=True)
class Averaged:
    """Precision, recall and F1 of labels, averaged in one way.

    Attributes:
        average: "binary" is of the first label alone; "macro" counts each label that either used
            once, "weighted" by how often people gave it.
        precision: Share of right ones among those called so; 0 for a label never called.
        recall: Share of those called so among the right ones; 0 for a label that people never gave.
        f1: The average of the labels' F1. BioACE's tables of three labels give the harmonic mean
            of the two columns before it, which is `f1_of_means`.
        f1_of_means: Harmonic mean of `precision` and `recall`; the same as `f1` of one label.
    """

    average: Average
    precision: Score
    recall: Score
    f1: Score
    f1_of_means: Score


def average_labels(tables: NDArray[np.float64], n_unscored: int, average: Average) -> Averaged:
    """Average over labels; a test holds the values to those of scikit-learn.

    `tables` are confusion counts by question, shape (n_questions, n_labels, n_labels): rows
    people's labels, columns the judge's; intervals resample questions.
    """
    total, n = tables.sum(axis=0), int(tables.sum())
    if not n:
        return Averaged(average, *[build_score(None, 0, n_unscored)] * 4)
    # As in scikit-learn, a label that neither used is not averaged over.
    is_used = total.sum(axis=0) + total.sum(axis=1) > 0
    is_used[0] = is_used[0] or average == "binary"
    own = tables[:, is_used][:, :, is_used]

    def score(name: str) -> Score:
        def of_draws(counts: NDArray[np.int64]) -> NDArray[np.float64]:
            return figures_of_tables(np.tensordot(counts, own, axes=1), average)[name]

        return statistic_score(of_draws, len(tables), n, n_unscored)

    return Averaged(average, *map(score, ("precision", "recall", "f1", "f1_of_means")))


def figures_of_tables(
    tables: NDArray[np.float64], average: Average
) -> Mapping[str, NDArray[np.float64]]:
    """Return the figures of many confusion tables at once, for intervals.

    `tables` have the shape (n_draws, n_labels, n_labels): rows people's labels, columns the
    judge's.

    Returns:
        By name, each of shape (n_draws,); what divides by zero is 0, as in scikit-learn.
    """
    hits = np.diagonal(tables, axis1=1, axis2=2)
    labelled_counts, predicted_counts = tables.sum(axis=2), tables.sum(axis=1)

    def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(below > 0, above / np.where(below > 0, below, 1), 0.0)

    parts = (
        ratio(hits, predicted_counts),
        ratio(hits, labelled_counts),
        ratio(2 * hits, labelled_counts + predicted_counts),
    )
    if average == "binary":
        weights = np.eye(tables.shape[1])[:1]
    elif average == "macro":
        weights = np.full((1, tables.shape[1]), 1 / tables.shape[1])
    else:
        weights = ratio(labelled_counts, labelled_counts.sum(axis=1, keepdims=True))
    precision, recall, f1 = ((part * weights).sum(axis=1) for part in parts)
    f1_of_means = ratio(2 * precision * recall, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1, "f1_of_means": f1_of_means}


@dataclass(frozen=True)
class Discrimination:
    """Chance that a good answer scores above a bad one; one half is a coin.

    Attributes:
        auroc: Over all pairs of a good and a bad answer; `n` counts answers.
        paired_auroc: Over pairs that answer the same question, the mean over questions, so that
            hard and easy questions do not show; `n` counts questions with both kinds.
    """

    auroc: Score
    paired_auroc: Score


def discrimination(
    values: Sequence[float | None],
    is_good: Sequence[bool],
    questions: Sequence[str] | None = None,
    *,
    lower_is_better: bool = False,
) -> Discrimination:
    """Return the area under the ROC curve of a score, also paired by question.

    Args:
        values: shape (n,), the score of each answer; None is unscored: left out and counted.
        is_good: shape (n,), people's label of each answer.
        questions: shape (n,); intervals resample questions.
        lower_is_better: Whether a good answer should have the lower score.

    Returns:
        In [0, 1]; the plain area is None where all answers are good or all are bad, the paired
        one where no question has both.

    Raises:
        InputError: The lengths differ.
    """
    names = cluster_names(questions, len(is_good))
    if not len(values) == len(is_good) == len(names):
        raise InputError(f"{len(values)} scores for {len(is_good)} answers")
    sign = -1.0 if lower_is_better else 1.0
    kept = [
        (sign * v, g, q) for v, g, q in zip(values, is_good, names, strict=True) if v is not None
    ]
    scores = np.array([v for v, *_ in kept])
    good = np.array([g for _, g, _ in kept], dtype=bool)
    found, places = np.unique(np.array([q for *_, q in kept], dtype=object), return_inverse=True)
    wins = _wins(scores, good, places, len(found))
    n_unscored = len(is_good) - len(kept)
    n_good, n_bad = (np.bincount(places[kind], minlength=len(wins)) for kind in (good, ~good))

    def area_of_draws(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        won = ((counts @ wins) * counts).sum(axis=1)
        return won / ((counts @ n_good) * (counts @ n_bad))

    both = np.flatnonzero(n_good * n_bad)
    areas = [float(wins[i, i] / (n_good[i] * n_bad[i])) for i in both]
    return Discrimination(
        statistic_score(area_of_draws, len(wins), len(good), n_unscored),
        clustered_mean(areas, [found[i] for i in both], n_unscored),
    )


def _wins(
    scores: NDArray[np.float64], good: NDArray[np.bool_], places: NDArray[np.intp], n: int
) -> NDArray[np.float64]:
    """Count pairs that a good answer wins, ties as half; shape (n_questions, n_questions)."""
    above = scores[good][:, None] - scores[~good]
    won = np.where(above == 0, 0.5, (above > 0).astype(float))
    wins = np.zeros((n, n))
    np.add.at(wins, (places[good][:, None], places[~good][None, :]), won)
    return wins


KappaWeights = Literal["linear", "quadratic"]
AlphaLevel = Literal["nominal", "ordinal", "interval"]
COEFFICIENT_SCALE = (-1.0, 1.0)


@dataclass(frozen=True)
class ClassAgreement:
    """The judge's precision and recall on one label.

    `n_truth` and `n_predicted` count how often people and the judge gave it. Without a value are
    the precision where the judge never gave it, the recall where people never did, f1 where nobody
    did.
    """

    label: str
    n_truth: int
    n_predicted: int
    precision: Score
    recall: Score
    f1: Score


@dataclass(frozen=True)
class Agreement:
    """A judge compared with people. Every score has its n, its unscored count and its interval.

    Attributes:
        accuracy: Share of items on which they agree; the bounds cover what is unscored.
        averages: Precision, recall and F1 over labels, by the way of averaging.
        linear_kappa: With linear weights; None where the labels have no order.
        quadratic_kappa: With quadratic weights; None where the labels have no order.
        confusion: Counts, in the order of `labels`: rows are people's labels, columns the judge's.
    """

    labels: tuple[str, ...]
    accuracy: Score
    averages: Mapping[Average, Averaged]
    kappa: Score
    linear_kappa: Score | None
    quadratic_kappa: Score | None
    classes: tuple[ClassAgreement, ...]
    confusion: tuple[tuple[int, ...], ...]


def agreement(
    truth: Sequence[str],
    predicted: Sequence[str | None],
    labels: Sequence[str],
    questions: Sequence[str] | None = None,
    *,
    is_ordered: bool = False,
    averages: Sequence[Average] = ("macro", "weighted"),
) -> Agreement:
    """Compare labels item by item; a test holds the values to those of scikit-learn.

    Args:
        truth: shape (n_items,), people's labels.
        predicted: shape (n_items,), the judge's labels; None is unscored: left out and counted.
        labels: All labels; in their order where `is_ordered`.
        questions: shape (n_items,), the question of each item; intervals resample questions.
        is_ordered: Whether the labels have an order, so that weights make sense.
        averages: Ways of averaging over labels; "binary" is of the first label alone.

    Raises:
        InputError: Lengths differ, or a label is not among `labels`.
    """
    groups = cluster_names(questions, len(truth))
    _check(truth, predicted, labels, groups)
    place = {label: i for i, label in enumerate(labels)}
    triples = zip(truth, predicted, groups, strict=True)
    rows = [(place[t], place[p], q) for t, p, q in triples if p is not None]
    n_unscored = len(truth) - len(rows)
    counts = np.zeros((len(rows), len(labels), len(labels)))
    for i, (t, p, _) in enumerate(rows):
        counts[i, t, p] = 1
    tables = sums_by_cluster(counts, [q for *_, q in rows])
    weights: tuple[KappaWeights, KappaWeights] = ("linear", "quadratic")
    linear, quadratic = (
        _kappa(tables, n_unscored, name) if is_ordered else None for name in weights
    )
    return Agreement(
        labels=tuple(labels),
        accuracy=_accuracy(tables, n_unscored),
        averages={way: average_labels(tables, n_unscored, way) for way in averages},
        kappa=_kappa(tables, n_unscored, None),
        linear_kappa=linear,
        quadratic_kappa=quadratic,
        classes=tuple(_class(label, i, tables, n_unscored) for i, label in enumerate(labels)),
        confusion=tuple(tuple(map(int, row)) for row in counts.sum(axis=0)),
    )


def krippendorff_alpha(
    units: Sequence[Sequence[str]],
    labels: Sequence[str],
    level: AlphaLevel,
    questions: Sequence[str] | None = None,
) -> Score:
    """Return Krippendorff's alpha (Krippendorff 2011), for any number of raters.

    Args:
        units: The labels that each item got, from any number of raters; missing raters are left
            out.
        labels: All labels; in their order for "ordinal". For "interval" they are numbers.
        level: How disagreements are weighted: all the same, by rank, or by squared distance.
        questions: Shape of `units`, the question of each item; the interval resamples questions.

    Returns:
        `n` counts items with two labels or more, `n_unscored` the others. None where no item has
        two, or where all labels are the same: no disagreement is expected then.

    Raises:
        InputError: A label is not among `labels`.
    """
    place = {label: i for i, label in enumerate(labels)}
    unknown = next((x for unit in units for x in unit if x not in place), None)
    if unknown is not None:
        raise InputError(f"{unknown!r} is not one of the labels {', '.join(labels)}")
    counts = np.zeros((len(units), len(labels)), dtype=int)
    for i, unit in enumerate(units):
        for label in unit:
            counts[i, place[label]] += 1
    tables = sums_by_cluster(_coincidences(counts), cluster_names(questions, len(units)))

    def of_draws(drawn: NDArray[np.int64]) -> NDArray[np.float64]:
        return _alphas(np.tensordot(drawn, tables, axes=1), labels, level)

    n_paired = int((counts.sum(axis=1) >= 2).sum())
    n_single = len(units) - n_paired
    return statistic_score(
        of_draws, len(tables), n_paired, n_single, COEFFICIENT_SCALE, N_SLOW_DRAWS
    )


def _coincidences(counts: NDArray[np.int_]) -> NDArray[np.float64]:
    """Return each item's part of the table of pairs of labels: shape (n_items, n, n)."""
    n_raters = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    return pairs / np.maximum(n_raters - 1, 1)[:, None, None]


def _alphas(
    tables: NDArray[np.float64], labels: Sequence[str], level: AlphaLevel
) -> NDArray[np.float64]:
    """Return alpha of drawn tables of pairs, 1 - sum(d * observed) / sum(d * expected).

    The package `krippendorff` computes the same of one table: a test compares. It is GPL, so that
    only the tests install it.

    `tables` have the shape (n_draws, n_labels, n_labels); the labels are numbers for "interval".
    """
    sums = tables.sum(axis=2)
    total = sums.sum(axis=1)[:, None, None]
    expected = sums[:, :, None] * sums[:, None, :] / (total - 1)
    if level == "ordinal":
        # Between two labels: all that are counted up to the second, less half of both ends.
        below = sums.cumsum(axis=1) - sums / 2
        differences = (below[:, :, None] - below[:, None, :]) ** 2
    elif level == "interval":
        places = np.array(labels, dtype=float)
        differences = ((places[:, None] - places) ** 2)[None]
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
            f"{len(truth)} labels of people, {len(predicted)} of the judge, "
            f"{len(questions)} questions: there must be as many of each"
        )
    unknown = sorted({x for x in (*truth, *predicted) if x is not None} - set(labels))
    if unknown:
        raise InputError(f"{unknown[0]!r} is not one of the labels {', '.join(labels)}")


def _accuracy(tables: NDArray[np.float64], n_unscored: int) -> Score:
    hits, sizes = tables.trace(axis1=1, axis2=2), tables.sum(axis=(1, 2))
    found = _share(hits, sizes, n_unscored)
    total = found.n + n_unscored
    if not total:
        return found
    ends = {"worst": hits.sum() / total, "best": (hits.sum() + n_unscored) / total}
    return found.model_copy(update={end: float(value) for end, value in ends.items()})


def _kappa(tables: NDArray[np.float64], n_unscored: int, weights: KappaWeights | None) -> Score:
    """Return 1 - sum(w * observed) / sum(w * expected) (Cohen 1968).

    None where all labels are the same: no disagreement is expected then.
    """
    places = np.arange(tables.shape[1], dtype=float)
    distance = np.abs(places[:, None] - places)
    if weights is None:
        distance = (distance > 0).astype(float)
    elif weights == "quadratic":
        distance = distance**2

    def of_draws(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        drawn = np.tensordot(counts, tables, axes=1)
        total = drawn.sum(axis=(1, 2))
        expected = np.einsum("di,dj,ij->d", drawn.sum(axis=2), drawn.sum(axis=1), distance) / total
        return 1 - (drawn * distance).sum(axis=(1, 2)) / expected

    return statistic_score(of_draws, len(tables), int(tables.sum()), n_unscored, COEFFICIENT_SCALE)


def _class(label: str, i: int, tables: NDArray[np.float64], n_unscored: int) -> ClassAgreement:
    both, labelled_counts, predicted_counts = (
        tables[:, i, i],
        tables[:, i].sum(axis=1),
        tables[:, :, i].sum(axis=1),
    )
    return ClassAgreement(
        label=label,
        n_truth=int(labelled_counts.sum()),
        n_predicted=int(predicted_counts.sum()),
        precision=_share(both, predicted_counts, n_unscored),
        recall=_share(both, labelled_counts, n_unscored),
        f1=_share(2 * both, labelled_counts + predicted_counts, n_unscored),
    )


def _share(hits: NDArray[np.float64], sizes: NDArray[np.float64], n_unscored: int) -> Score:
    """Return the ratio of two sums over questions."""
    n = int(sizes.sum())
    return statistic_score(lambda w: (w @ hits) / (w @ sizes), len(sizes), n, n_unscored)

"""Measure how well a judge's labels agree with people's, and people's with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragassay.errors import InputError
from ragassay.metrics.stats.classification import Average, Averaged, average_labels
from ragassay.metrics.stats.intervals import (
    N_SLOW_DRAWS,
    cluster_names,
    statistic_score,
    sums_by_cluster,
)
from ragassay.records import Score

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
    given = zip(truth, predicted, groups, strict=True)
    rows = [(place[t], place[p], q) for t, p, q in given if p is not None]
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

    Args:
        tables: shape (n_draws, n_labels, n_labels).
        labels: Numbers, for the level "interval".
        level: What the differences `d` are.
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
    both, given, said = tables[:, i, i], tables[:, i].sum(axis=1), tables[:, :, i].sum(axis=1)
    return ClassAgreement(
        label=label,
        n_truth=int(given.sum()),
        n_predicted=int(said.sum()),
        precision=_share(both, said, n_unscored),
        recall=_share(both, given, n_unscored),
        f1=_share(2 * both, given + said, n_unscored),
    )


def _share(hits: NDArray[np.float64], sizes: NDArray[np.float64], n_unscored: int) -> Score:
    """Return the ratio of two sums over questions."""
    n = int(sizes.sum())
    return statistic_score(lambda w: (w @ hits) / (w @ sizes), len(sizes), n, n_unscored)

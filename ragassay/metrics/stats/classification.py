"""Averaged precision, recall and F1, and the area under the ROC curve, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import (
    build_score,
    cluster_names,
    clustered_mean,
    statistic_score,
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

    Args:
        tables: shape (n_questions, n_labels, n_labels), confusion counts by question: rows people's
            labels, columns the judge's; intervals resample questions.
        n_unscored: Items without a label of the judge.
        average: See `Averaged`.
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

    Args:
        tables: shape (n_draws, n_labels, n_labels), rows people's labels, columns the judge's.
        average: See `Averaged`.

    Returns:
        By name, each of shape (n_draws,); what divides by zero is 0, as in scikit-learn.
    """
    hits = np.diagonal(tables, axis1=1, axis2=2)
    given, said = tables.sum(axis=2), tables.sum(axis=1)

    def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(below > 0, above / np.where(below > 0, below, 1), 0.0)

    parts = ratio(hits, said), ratio(hits, given), ratio(2 * hits, given + said)
    if average == "binary":
        weights = np.eye(tables.shape[1])[:1]
    elif average == "macro":
        weights = np.full((1, tables.shape[1]), 1 / tables.shape[1])
    else:
        weights = ratio(given, given.sum(axis=1, keepdims=True))
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

"""Combine scores of several answers, as means over questions or pooled over verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragassay.metrics.papers.answer_scores import LOWER_IS_BETTER, build_f1
from ragassay.metrics.stats.intervals import (
    SHARE_SCALE,
    bootstrap_interval,
    build_score,
    compute_mean,
    compute_mean_interval,
    compute_ratio_interval,
    f1_score,
    round_score,
    sum_by_cluster,
)
from ragassay.records import Outlined, Score


@dataclass(frozen=True)
class Matrix:
    """A table of mean scores for pairs of names.

    Attributes:
        cells: Mean scores, shape (n_rows, n_columns).
        unit: Plural noun for what `n` counts in each cell, such as "questions" or "ratings".
        own: Row and column indices of cells that compare an item with itself.
        is_reflexive: Whether the cells in `own` carry no information, such as the similarity of a
            text to itself.
    """

    key: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Score, ...], ...]
    row_title: str
    column_title: str
    unit: str
    n_questions: int
    own: frozenset[tuple[int, int]] = frozenset()
    is_reflexive: bool = False
    lower_is_better: bool = False


def average_over_questions(
    values: Sequence[float | None],
    questions: Sequence[str],
    scale: tuple[float, float] = SHARE_SCALE,
    judge: str = "",
    lower_is_better: bool = False,
) -> Score:
    """Return an unrounded mean, with an interval computed by resampling questions.

    If there are unscored values, an infinite end of `scale` results in a bound of None.
    """
    known = [(v, name) for v, name in zip(values, questions, strict=True) if v is not None]
    total, n, n_unscored = math.fsum(v for v, _ in known), len(known), len(values) - len(known)
    value = total / n if n else None
    bounds = (value, value)
    if n_unscored:
        ends = [(total + n_unscored * end) / len(values) for end in scale]
        worst, best = (
            end if math.isfinite(end) else None
            for end in (reversed(ends) if lower_is_better else ends)
        )
        bounds = (worst, best)
    interval = compute_mean_interval([v for v, _ in known], [name for _, name in known])
    return build_score(value, n, n_unscored, interval, bounds, scale, judge)


def build_clustered_score(
    values: Sequence[float | None],
    questions: Sequence[str],
    scale: tuple[float, float] = SHARE_SCALE,
    judge: str = "",
    lower_is_better: bool = False,
) -> Score:
    """Return `average_over_questions` rounded to four digits."""
    return round_score(average_over_questions(values, questions, scale, judge, lower_is_better))


MOST_SNAPPED = 2000
"""Maximum n for which a share rounded to four digits determines the number of hits to the nearest
0.5."""


def identify_question(evaluation: Outlined) -> str:
    """Return the topic of an evaluation, or its question if it has no topic."""
    return evaluation.topic or evaluation.question


def find_score_bounds(key: str, score: Score) -> tuple[float, float]:
    """Return the worst and best case of a score, or the ends of its scale if unknown."""
    low, high = score.scale
    worst, best = (high, low) if key in LOWER_IS_BETTER else (low, high)
    if score.decided is not None:
        worst = best = score.decided
    return (
        worst if score.worst is None else score.worst,
        best if score.best is None else score.best,
    )


def average_by_question(evaluations: Sequence[Outlined], key: str) -> dict[str, float]:
    """Return the mean score over the scored answers to each question."""
    return {
        question: math.fsum(values) / len(values)
        for question, scores in _group_by_question(evaluations, key).items()
        if (values := [score.decided for score in scores if score.decided is not None])
    }


def average_question_scores(evaluations: Sequence[Outlined]) -> dict[str, Score]:
    """Return macro averages, in which each question has the same weight.

    Returns:
        Scores in order of first appearance. `n` is the number of questions and `n_unscored` the
        number of questions without any scored answer. The bounds cover every
        value that missing scores and missing verdicts could have had.
    """
    keys = dict.fromkeys(key for e in evaluations for key in e.scores)
    return {key: average_question_score(key, evaluations) for key in keys}


def average_question_score(key: str, evaluations: Sequence[Outlined]) -> Score:
    """Return the macro average of one score, without a value if no answer has the score."""
    return _average_groups(key, list(_group_by_question(evaluations, key).items()))


def average_scores(evaluations: Sequence[Outlined]) -> dict[str, Score]:
    """Return the mean of each score over the answers that have it, in order of first appearance.

    An answer counts as unscored if its verdicts failed, but not if the score does not apply to it.
    The bounds cover every value that missing scores and missing verdicts could have had.
    """
    keys = dict.fromkeys(key for e in evaluations for key in e.scores)
    return {
        key: _average_groups(
            key, [(identify_question(e), [e.scores[key]]) for e in evaluations if key in e.scores]
        )
        for key in keys
    }


def _average_groups(key: str, groups: Sequence[tuple[str, Sequence[Score]]]) -> Score:
    """Return the mean of group means.

    A group is the key of a question, and the question's scores.
    """
    values: list[float] = []
    questions: list[str] = []
    bounds: list[tuple[float, float]] = []
    for question, scores in groups:
        known = [score.decided for score in scores if score.decided is not None]
        if known:
            values.append(math.fsum(known) / len(known))
            questions.append(question)
        ends = [find_score_bounds(key, s) for s in scores if s.decided is not None or s.n_unscored]
        if ends:
            worst, best = (math.fsum(side) / len(ends) for side in zip(*ends, strict=True))
            bounds.append((worst, best))
    first = groups[0][1][0] if groups else None
    return round_score(
        build_score(
            compute_mean(values),
            len(values),
            len(bounds) - len(values),
            compute_mean_interval(values, questions),
            (compute_mean(worst for worst, _ in bounds), compute_mean(best for _, best in bounds)),
            scale=first.scale if first else SHARE_SCALE,
            judge=first.judge if first else "",
        )
    )


def pool_scores(evaluations: Sequence[Outlined]) -> dict[str, Score]:
    """Return micro averages: the total number of hits divided by the total n.

    Long answers count more than short answers. F1 is computed from pooled precision and recall.

    Returns:
        Scores on a scale of 0 to 1, in order of first appearance. `n` and `n_unscored` are numbers
        of verdicts. Intervals are computed by resampling questions.
    """
    keys = dict.fromkeys(
        key for e in evaluations for key, s in e.scores.items() if s.scale == SHARE_SCALE
    )
    pooled = {key: _pool_score(key, evaluations) for key in keys if not key.endswith(".f1")}
    for key in keys:
        group = key.removesuffix(".f1")
        parts = f"{group}.precision", f"{group}.recall"
        if key.endswith(".f1") and all(part in pooled for part in parts):
            pooled[key] = _pool_f1(parts, pooled, evaluations)
    return {key: pooled[key] for key in keys if key in pooled}


def _pool_score(key: str, evaluations: Sequence[Outlined]) -> Score:
    scored = [e for e in evaluations if key in e.scores]
    scores = [e.scores[key] for e in scored]
    hits, sizes = [_count_hits(score) for score in scores], [score.n for score in scores]
    n, n_unscored = sum(sizes), sum(score.n_unscored for score in scores)
    interval = (
        compute_ratio_interval(hits, sizes, [identify_question(e) for e in scored]) if n else None
    )
    ends = [(score.n + score.n_unscored, find_score_bounds(key, score)) for score in scores]
    total = n + n_unscored
    worst, best = (
        math.fsum(w * bounds[end] for w, bounds in ends) / total if total else None
        for end in (0, 1)
    )
    value = math.fsum(hits) / n if n else None
    judge = scores[0].judge
    return round_score(build_score(value, n, n_unscored, interval, (worst, best), judge=judge))


def _pool_f1(
    parts: tuple[str, str], pooled: Mapping[str, Score], evaluations: Sequence[Outlined]
) -> Score:
    precision, recall = (pooled[part] for part in parts)
    scored = [e for e in evaluations if all(part in e.scores for part in parts)]
    scores = [[e.scores[part] for part in parts] for e in scored]
    rows = [[number for one in both for number in (_count_hits(one), one.n)] for both in scores]
    sums = sum_by_cluster(
        np.array(rows, dtype=float).reshape(-1, 4), [identify_question(e) for e in scored]
    )

    def compute_f1(counts: np.ndarray) -> np.ndarray:
        drawn = counts @ sums
        p, r = drawn[:, 0] / drawn[:, 1], drawn[:, 2] / drawn[:, 3]
        return np.where(p + r == 0, 0.0, 2 * p * r / (p + r))

    is_defined = f1_score(precision.decided, recall.decided) is not None
    interval = bootstrap_interval(compute_f1, len(sums)) if is_defined else None
    return build_f1(precision, recall, interval, precision.judge)


def _count_hits(score: Score) -> float:
    """Return the number of hits in a rounded share, as a multiple of 0.5 if possible."""
    total = (score.decided or 0.0) * score.n
    nearest = round(2 * total) / 2
    return nearest if score.n <= MOST_SNAPPED and abs(total - nearest) <= 1e-4 * score.n else total


def _group_by_question(evaluations: Sequence[Outlined], key: str) -> dict[str, list[Score]]:
    scores: dict[str, list[Score]] = {}
    for evaluation in evaluations:
        if key in evaluation.scores:
            scores.setdefault(identify_question(evaluation), []).append(evaluation.scores[key])
    return scores

"""Measure the agreement of panel judges and the correlation of their errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ragassay.metrics.stats.aggregates import identify_question
from ragassay.metrics.stats.agreement import COEFFICIENT_SCALE, krippendorff_alpha
from ragassay.metrics.stats.intervals import (
    compute_mean,
    compute_mean_interval,
    score_ratio,
    score_statistic,
    sum_by_cluster,
)
from ragassay.metrics.stats.joint_judgments import choose_final_judgment, is_disputed
from ragassay.records import Evaluation, Judgment, PanelAgreement, PanelMember, PanelPair, Score

Rated = tuple[str, str, str]
"""Question, record id and rubric of a rating."""


def collect_lone_ratings(evaluations: Sequence[Evaluation]) -> dict[str, dict[Rated, Judgment]]:
    """Return the ratings that each judge gave before reading the ratings of other judges."""
    ratings: dict[str, dict[Rated, Judgment]] = {}
    for evaluation in evaluations:
        question = identify_question(evaluation)
        for judgment in evaluation.judgments:
            for member in judgment.members:
                alone = member.first or member
                own = ratings.setdefault(member.judge, {})
                if alone.rating is not None:
                    own[question, evaluation.record_id, judgment.rubric] = alone
    return ratings


def measure_pair_agreement(
    ratings: Mapping[str, Mapping[Rated, Judgment]],
) -> tuple[PanelPair, ...]:
    """Return ordinal Krippendorff's alpha for each pair of judges."""
    scales = [one.scale for own in ratings.values() for one in own.values()]
    if not scales:
        return ()
    low, high = min(low for low, _ in scales), max(high for _, high in scales)
    labels = [str(rating) for rating in range(low, high + 1)]
    pairs: list[PanelPair] = []
    for first, second in combinations(ratings, 2):
        both = [key for key in ratings[first] if key in ratings[second]]
        units = [[str(ratings[judge][key].rating) for judge in (first, second)] for key in both]
        alike = krippendorff_alpha(units, labels, "ordinal", [key[0] for key in both])
        pairs.append(PanelPair(first=first, second=second, alike=alike))
    return tuple(pairs)


def correlate_pair_errors(
    ratings: Mapping[str, Mapping[Rated, Judgment]], truth: Mapping[tuple[str, str], float]
) -> tuple[PanelPair, ...]:
    """Return the correlation of the errors of each pair of judges."""
    errors = {
        judge: {
            key: float(one.rating) - truth[key[1:]]
            for key, one in own.items()
            if one.rating is not None and key[1:] in truth
        }
        for judge, own in ratings.items()
    }
    pairs: list[PanelPair] = []
    for first, second in combinations(errors, 2):
        both = [key for key in errors[first] if key in errors[second]]
        x, y = ([errors[judge][key] for key in both] for judge in (first, second))
        alike = correlate_errors(x, y, [key[0] for key in both])
        pairs.append(PanelPair(first=first, second=second, alike=alike, is_of_errors=True))
    return tuple(pairs)


def correlate_errors(
    first: Sequence[float], second: Sequence[float], questions: Sequence[str]
) -> Score:
    """Return Pearson's correlation of two judges' errors, with a bootstrap interval.

    The value is None if there are fewer than two errors or if all errors of a judge are equal.
    """
    x, y = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    moments = np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])
    sums = sum_by_cluster(moments, questions)
    return score_statistic(
        lambda drawn: _compute_pearson(drawn @ sums), len(sums), len(x), scale=COEFFICIENT_SCALE
    )


def _compute_pearson(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return correlations from sums of 1, x, y, x^2, y^2 and xy, shape (n_draws, 6)."""
    n, x, y, xx, yy, xy = sums.T
    spread = np.maximum(n * xx - x * x, 0.0) * np.maximum(n * yy - y * y, 0.0)
    # A tiny spread is only a rounding error.
    spread = np.where(spread > 1e-9 * np.maximum(n, 1.0) ** 4, spread, 0.0)
    return np.clip((n * xy - x * y) / np.sqrt(spread), -1.0, 1.0)


def estimate_effective_judges(pairs: Sequence[PanelPair]) -> float | None:
    """Return the effective number of independent judges in a panel.

    n_eff = n / (1 + (n - 1) r)   (Kish 1965, the effect of clustering on a mean's variance)

    n is the number of judges, and r is the mean error correlation of all pairs of judges, but at
    least 0. If `pairs` contains agreement instead of error correlation, the result is a lower
    bound, because judges can agree when both are correct.

    Returns:
        A number from 1 to n, or None if there are no pairs or the value of a pair is undefined.

    Example:
        >>> alike = Score(value=0.5, n=10)
        >>> round(estimate_effective_judges([PanelPair(first="a", second="b", alike=alike)]), 2)
        1.33
    """
    values = [pair.alike.value for pair in pairs if pair.alike.value is not None]
    if not pairs or len(values) < len(pairs):
        return None
    n = len({judge for pair in pairs for judge in (pair.first, pair.second)})
    mean = max(0.0, compute_mean(values) or 0.0)
    return n / (1 + (n - 1) * mean)


def measure_panel_agreement(evaluations: Sequence[Evaluation]) -> PanelAgreement | None:
    """Measure the agreement among the members of panels, or return None without panels.

    Agreement is measured for independent ratings, and for ratings made after reading the other
    members' ratings. Only the agreement of independent ratings measures reliability. Intervals are
    computed by resampling questions.
    """
    units = [
        (identify_question(evaluation), judgment)
        for evaluation in evaluations
        for judgment in evaluation.judgments
        if judgment.members
    ]
    if not units:
        return None
    alone = [[member.first or member for member in panel.members] for _, panel in units]
    final = [[choose_final_judgment(member) for member in panel.members] for _, panel in units]
    disputed = [is_disputed(members) for members in alone]
    judges = list(dict.fromkeys(m.judge for _, panel in units for m in panel.members))
    members = tuple(_summarize_member(judge, units) for judge in judges)
    questions = [question for question, _ in units]
    pairs = measure_pair_agreement(collect_lone_ratings(evaluations))
    return PanelAgreement(
        members=members,
        alpha_alone=_compute_alpha(alone, questions),
        alpha=_compute_alpha(final, questions),
        exact_alone=_score_exact_agreement(alone, questions),
        exact=_score_exact_agreement(final, questions),
        n_disputed=sum(disputed),
        n_resolved=sum(d and not is_disputed(f) for d, f in zip(disputed, final, strict=True)),
        n_heard_again=sum(member.n_heard_again for member in members),
        n_moved=sum(member.n_moved for member in members),
        pairs=pairs,
        n_effective=estimate_effective_judges(pairs),
    )


def _summarize_member(judge: str, units: Sequence[tuple[str, Judgment]]) -> PanelMember:
    own = [(q, m) for q, panel in units for m in panel.members if m.judge == judge]
    scored = [(q, score) for q, m in own if (score := choose_final_judgment(m).score) is not None]
    scores = [score for _, score in scored]
    scales = [m.scale for _, m in own]
    interval = compute_mean_interval(scores, [q for q, _ in scored]) or (None, None)
    revised = [(m, m.first) for _, m in own if m.first is not None and m.rating is not None]
    return PanelMember(
        judge=judge,
        score=Score(
            value=round(math.fsum(scores) / len(scores), 4) if scores else None,
            n=len(scores),
            n_unscored=len(own) - len(scores),
            low=interval[0],
            high=interval[1],
            scale=(min(low for low, _ in scales), max(high for _, high in scales)),
            judge=judge,
        ),
        n_heard_again=len(revised),
        n_moved=sum(final.rating != first.rating for final, first in revised),
    )


def _compute_alpha(units: Sequence[Sequence[Judgment]], questions: Sequence[str]) -> Score:
    scales = [one.scale for unit in units for one in unit]
    labels = range(min(low for low, _ in scales), max(high for _, high in scales) + 1)
    ratings = [[str(one.rating) for one in unit if one.rating is not None] for unit in units]
    return krippendorff_alpha(ratings, [str(label) for label in labels], "ordinal", questions)


def _score_exact_agreement(units: Sequence[Sequence[Judgment]], questions: Sequence[str]) -> Score:
    """Return the share of panels whose members gave equal ratings, if at least two rated."""
    ratings = [[one.rating for one in unit if one.rating is not None] for unit in units]
    several = [(q, unit) for q, unit in zip(questions, ratings, strict=True) if len(unit) > 1]
    hits = [float(len(set(unit)) == 1) for _, unit in several]
    return score_ratio(hits, [1.0] * len(hits), [q for q, _ in several], len(units) - len(hits))

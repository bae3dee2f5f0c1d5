"""Rank systems and test their differences with Holm-corrected permutation tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.metrics.papers.answer_scores import LOWER_IS_BETTER
from ragassay.metrics.stats.aggregates import average_by_question, average_question_score
from ragassay.metrics.stats.intervals import SEED, compute_mean_interval
from ragassay.records import Evaluation, Score

ALPHA = 0.05
"""Significance level for corrected p-values."""

N_PERMUTATIONS = 9999
"""Number of random permutations. Tests with up to 13 questions are exact and use all 2^n."""

BATCH_CELLS = 4_000_000
"""Maximum number of values permuted at a time, to limit memory."""


@dataclass(frozen=True)
class PairTest:
    """Paired test of two systems.

    Attributes:
        difference: Mean of the first score minus the second, or None if no questions are shared.
        low: Lower end of the 95 % bootstrap interval, or None if undefined.
        p_value: Two-sided p-value, or None if no questions are shared.
        is_exact: Whether all permutations were used.
    """

    first: str
    second: str
    n_questions: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_holm: float | None
    is_exact: bool

    @property
    def is_significant(self) -> bool:
        """True if the corrected p-value is below `ALPHA`."""
        return self.p_holm is not None and self.p_holm < ALPHA


def run_paired_tests(systems: Mapping[str, Mapping[str, float]]) -> tuple[PairTest, ...]:
    """Test the mean difference of every pair of systems with a two-sided permutation test.

    The test permutes the signs of the differences (`scipy.stats.permutation_test`, "samples").
    """
    pairs = list(itertools.combinations(systems, 2))
    shared = {(a, b): tuple(sorted(systems[a].keys() & systems[b].keys())) for a, b in pairs}
    differences = {
        (a, b): [systems[a][q] - systems[b][q] for q in questions]
        for (a, b), questions in shared.items()
    }
    p_values = _compute_p_values(shared, differences)
    corrected = apply_holm([p_values.get(pair) for pair in pairs])
    return tuple(
        _build_test(pair, shared[pair], differences[pair], p_values.get(pair), p_holm)
        for pair, p_holm in zip(pairs, corrected, strict=True)
    )


def apply_holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Apply Holm's step-down correction for the family-wise error rate (Holm 1979).

    The k-th smallest of m p-values is multiplied by m - k + 1. Corrected values are at most 1 and
    never decrease with k.

    Args:
        p_values: P-values. A p-value of None (no test) is not counted in m.

    Example:
        >>> [round(p, 3) for p in apply_holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        corrected[i] = largest
    return tuple(corrected)


def _compute_p_values(
    shared: Mapping[tuple[str, str], tuple[str, ...]],
    differences: Mapping[tuple[str, str], Sequence[float]],
) -> dict[tuple[str, str], float]:
    """Return p-values. Pairs with the same questions use the same permutations."""
    by_questions: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for pair, questions in shared.items():
        if questions:
            by_questions.setdefault(questions, []).append(pair)
    p_values: dict[tuple[str, str], float] = {}
    for pairs in by_questions.values():
        rows = _permute_differences(np.array([differences[pair] for pair in pairs]))
        p_values |= {pair: float(p) for pair, p in zip(pairs, rows, strict=True)}
    return p_values


def _permute_differences(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the p-value for each row of differences, shape (n_pairs, n_questions)."""
    from scipy.stats import permutation_test

    def average_axis(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        return values.mean(axis=axis)

    if differences.shape[1] == 1:
        # SciPy requires two questions. With one, the p-value is always 1.
        return np.ones(len(differences))
    result = permutation_test(
        (differences,),
        average_axis,
        permutation_type="samples",
        n_resamples=N_PERMUTATIONS,
        batch=max(1, BATCH_CELLS // differences.size),
        vectorized=True,
        axis=-1,
        rng=np.random.default_rng(SEED),
    )
    return np.asarray(result.pvalue)


def _build_test(
    pair: tuple[str, str],
    questions: Sequence[str],
    differences: Sequence[float],
    p_value: float | None,
    p_holm: float | None,
) -> PairTest:
    n = len(questions)
    low, high = compute_mean_interval(differences, questions) or (None, None)
    return PairTest(
        *pair,
        n_questions=n,
        difference=math.fsum(differences) / n if n else None,
        low=low,
        high=high,
        p_value=p_value,
        p_holm=p_holm,
        is_exact=n > 0 and 2**n <= N_PERMUTATIONS,
    )


@dataclass(frozen=True)
class LeaderboardRow:
    """Rank of one system.

    Attributes:
        rank: Rank by mean, starting at 1. Systems whose means are equal when rounded to four digits
            have the same rank. The rank is None if there is no mean or if the system's bounds
            overlap with those of another system.
        rank_low: Best rank that is consistent with the tests.
        rank_high: Worst rank that is consistent with the tests.
        overlaps: Systems whose bounds for unscored verdicts overlap with those of this system.
    """

    system: str
    score: Score
    n_answers: int
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    ties: tuple[str, ...]
    overlaps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leaderboard:
    """A ranking of systems by one score.

    Attributes:
        rows: Systems, best first. Systems without a mean are last.
        tests: Tests for all pairs of systems that have means and whose bounds do not overlap.
        n_questions: Number of questions for which any system has a score.
        n_shared: Number of questions for which all systems have scores.
    """

    key: str
    lower_is_better: bool
    rows: tuple[LeaderboardRow, ...]
    tests: tuple[PairTest, ...]
    n_questions: int
    n_shared: int


def rank_systems(systems: Mapping[str, Sequence[Evaluation]], key: str) -> Leaderboard:
    """Rank systems by a score.

    A system's mean includes all questions that it answered, but a test of two systems includes only
    the questions that both answered. Two systems are tied if the Holm-corrected test is not
    significant. Ties are not transitive, so each system has a range of ranks.
    """
    values = {name: average_by_question(answers, key) for name, answers in systems.items()}
    ranked = {name: by_question for name, by_question in values.items() if by_question}
    scores = {
        name: average_question_score(key, answers).reported for name, answers in systems.items()
    }
    lower = key in LOWER_IS_BETTER
    order = sorted(systems, key=lambda name: (_sort_key(scores[name], lower), name))
    tests = tuple(
        test
        for test in run_paired_tests({name: ranked[name] for name in order if name in ranked})
        if not scores[test.first].overlaps(scores[test.second])
    )
    better = {
        (test.first, test.second)
        if ((test.difference or 0.0) < 0) == lower
        else (test.second, test.first)
        for test in tests
        if test.is_significant
    }
    questions = [by_question.keys() for by_question in ranked.values()]
    return Leaderboard(
        key=key,
        lower_is_better=lower,
        rows=tuple(
            _build_row(name, scores, _count_answers(systems[name], key), ranked, better, lower)
            for name in order
        ),
        tests=tests,
        n_questions=len(set().union(*questions)),
        n_shared=len(set.intersection(*map(set, questions)))
        if questions and len(ranked) == len(systems)
        else 0,
    )


def _sort_key(score: Score, lower: bool) -> float:
    if score.decided is None:
        return float("inf")
    return score.decided if lower else -score.decided


def _count_answers(evaluations: Sequence[Evaluation], key: str) -> int:
    scores = (e.scores[key] for e in evaluations if key in e.scores)
    return sum(score.decided is not None or score.n_unscored > 0 for score in scores)


def _build_row(
    name: str,
    scores: Mapping[str, Score],
    n_answers: int,
    ranked: Mapping[str, Mapping[str, float]],
    better: set[tuple[str, str]],
    lower: bool,
) -> LeaderboardRow:
    overlaps = tuple(
        other for other in ranked if other != name and scores[name].overlaps(scores[other])
    )
    if name not in ranked or overlaps:
        return LeaderboardRow(name, scores[name], n_answers, None, None, None, (), overlaps)
    own = _sort_key(scores[name], lower)
    rank = 1 + sum(_sort_key(scores[other], lower) < own for other in ranked)
    n_above = sum((other, name) in better for other in ranked)
    n_below = sum((name, other) in better for other in ranked)
    ties = tuple(
        other for other in ranked if other != name and not {(name, other), (other, name)} & better
    )
    # If the questions differ, the rank by mean can be outside the range from the tests.
    return LeaderboardRow(
        system=name,
        score=scores[name],
        n_answers=n_answers,
        rank=rank,
        rank_low=min(rank, 1 + n_above),
        rank_high=max(rank, len(ranked) - n_below),
        ties=ties,
    )

"""Test whether systems differ, corrected by Holm, and rank them as far as the tests tell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.metrics.papers.answer_scores import LOWER_IS_BETTER
from ragassay.metrics.stats.aggregates import question_score, values_by_question
from ragassay.metrics.stats.intervals import SEED, mean_interval
from ragassay.records import Evaluation, Score

ALPHA = 0.05
"""Level below which a corrected p-value counts as significant."""

N_PERMUTATIONS = 9999
"""Random permutations of a test; up to 13 questions all 2^n are taken and the test is exact."""

BATCH_CELLS = 4_000_000
"""Values permuted at a time; bounds the memory of a test, not its result."""


@dataclass(frozen=True)
class PairTest:
    """Two systems on the questions that both have.

    Attributes:
        n_questions: Questions for which both have the score.
        difference: Mean of first minus second over them; None without a question.
        low: Lower end of its 95 % interval (bootstrap over questions); None where undefined.
        p_value: Two-sided; None without a question.
        is_exact: Whether all permutations were taken.
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
        """Return whether the two differ at `ALPHA`, after the correction."""
        return self.p_holm is not None and self.p_holm < ALPHA


def paired_tests(systems: Mapping[str, Mapping[str, float]]) -> tuple[PairTest, ...]:
    """Test every pair of systems.

    Under the null hypothesis a question's two values could have come from either system, so the
    sign of each difference is permuted (scipy's `permutation_test`, "samples"). The statistic is
    the mean difference, two-sided.

    `systems` are by name and question; the tests stand in their order.

    Returns:
        One test a pair, in the order of the systems.
    """
    pairs = list(itertools.combinations(systems, 2))
    shared = {(a, b): tuple(sorted(systems[a].keys() & systems[b].keys())) for a, b in pairs}
    differences = {
        (a, b): [systems[a][q] - systems[b][q] for q in questions]
        for (a, b), questions in shared.items()
    }
    p_values = _p_values(shared, differences)
    corrected = holm([p_values.get(pair) for pair in pairs])
    return tuple(
        _test(pair, shared[pair], differences[pair], p_values.get(pair), p_holm)
        for pair, p_holm in zip(pairs, corrected, strict=True)
    )


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Apply Holm's step-down correction (Holm 1979), which bounds the family-wise error.

    The k-th smallest of m p-values is multiplied by m - k + 1; none may be below the one before.

    Args:
        p_values: None for a test that was not possible; it does not count in m.

    Returns:
        In the order given, each at most 1.

    Example:
        >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        corrected[place] = largest
    return tuple(corrected)


def _p_values(
    shared: Mapping[tuple[str, str], tuple[str, ...]],
    differences: Mapping[tuple[str, str], Sequence[float]],
) -> dict[tuple[str, str], float]:
    """Return p-values; pairs with the same questions go through the same permutations at once."""
    by_questions: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for pair, questions in shared.items():
        if questions:
            by_questions.setdefault(questions, []).append(pair)
    found: dict[tuple[str, str], float] = {}
    for pairs in by_questions.values():
        p_values = _permute_differences(np.array([differences[pair] for pair in pairs]))
        found |= {pair: float(p) for pair, p in zip(pairs, p_values, strict=True)}
    return found


def _permute_differences(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values of rows of differences, shape (n_pairs, n_questions)."""
    from scipy.stats import permutation_test

    def mean(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        return values.mean(axis=axis)

    if differences.shape[1] == 1:
        # With one question, both signs are as far from zero; scipy needs two.
        return np.ones(len(differences))
    found = permutation_test(
        (differences,),
        mean,
        permutation_type="samples",
        n_resamples=N_PERMUTATIONS,
        batch=max(1, BATCH_CELLS // differences.size),
        vectorized=True,
        axis=-1,
        rng=np.random.default_rng(SEED),
    )
    return np.asarray(found.pvalue)


def _test(
    pair: tuple[str, str],
    questions: Sequence[str],
    differences: Sequence[float],
    p_value: float | None,
    p_holm: float | None,
) -> PairTest:
    n = len(questions)
    low, high = mean_interval(differences, questions) or (None, None)
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
    """A system's place.

    Attributes:
        score: Macro mean over its questions; `n` and `n_unscored` count questions.
        n_answers: Answers that have the score, or lack it because a verdict failed.
        rank: By the mean, 1 is the best; means equal to four digits share a rank. None without a
            mean, and where what is unscored leaves open whether another system is better.
        rank_low: The best rank that the tests leave open: one more than the systems that are
            significantly better.
        ties: Systems with a mean that do not differ significantly from this one.
        overlaps: Systems that may be better or worse, as their ranges overlap with this one's.
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
    """One score of several systems.

    Attributes:
        rows: The best first; systems without a mean at the end.
        tests: Every pair of systems that have a mean, but those whose ranges overlap.
        n_questions: Questions for which some system has the score.
        n_shared: Questions for which every system has it.
    """

    key: str
    lower_is_better: bool
    rows: tuple[LeaderboardRow, ...]
    tests: tuple[PairTest, ...]
    n_questions: int
    n_shared: int


def leaderboard(systems: Mapping[str, Sequence[Evaluation]], key: str) -> Leaderboard:
    """Rank systems by a score.

    A system's mean is over its own questions; a pair is tested on the questions that both have. Two
    systems are tied where the test, after Holm's correction over all pairs, is not significant.
    Ties are not transitive, so each system has its own range of ranks.
    """
    values = {name: values_by_question(found, key) for name, found in systems.items()}
    ranked = {name: of_system for name, of_system in values.items() if of_system}
    scores = {name: question_score(key, found).reported for name, found in systems.items()}
    lower = key in LOWER_IS_BETTER
    order = sorted(systems, key=lambda name: (_place(scores[name], lower), name))
    tests = tuple(
        test
        for test in paired_tests({name: ranked[name] for name in order if name in ranked})
        if not scores[test.first].overlaps(scores[test.second])
    )
    better = _betters(tests, lower)
    questions = [of_system.keys() for of_system in ranked.values()]
    return Leaderboard(
        key=key,
        lower_is_better=lower,
        rows=tuple(
            _row(name, scores, _count_answers(systems[name], key), ranked, better, lower)
            for name in order
        ),
        tests=tests,
        n_questions=len(set().union(*questions)),
        n_shared=len(set.intersection(*map(set, questions)))
        if questions and len(ranked) == len(systems)
        else 0,
    )


def _place(score: Score, lower: bool) -> float:
    if score.decided is None:
        return float("inf")
    return score.decided if lower else -score.decided


def _betters(tests: Sequence[PairTest], lower: bool) -> set[tuple[str, str]]:
    """Return the pairs of which the first is significantly better than the second."""
    return {
        (test.first, test.second)
        if ((test.difference or 0.0) < 0) == lower
        else (test.second, test.first)
        for test in tests
        if test.is_significant
    }


def _count_answers(evaluations: Sequence[Evaluation], key: str) -> int:
    scores = (e.scores[key] for e in evaluations if key in e.scores)
    return sum(score.decided is not None or score.n_unscored > 0 for score in scores)


def _row(
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
    own = _place(scores[name], lower)
    rank = 1 + sum(1 for other in ranked if _place(scores[other], lower) < own)
    n_above = sum(1 for other in ranked if (other, name) in better)
    n_below = sum(1 for other in ranked if (name, other) in better)
    ties = tuple(
        other for other in ranked if other != name and not {(name, other), (other, name)} & better
    )
    # Systems with other questions can have a mean that their tests do not confirm.
    return LeaderboardRow(
        system=name,
        score=scores[name],
        n_answers=n_answers,
        rank=rank,
        rank_low=min(rank, 1 + n_above),
        rank_high=max(rank, len(ranked) - n_below),
        ties=ties,
    )

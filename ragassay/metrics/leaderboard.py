"""Rank systems by a score, with the ranges of ranks that significance tests leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.metrics.aggregates import question_score, values_by_question
from ragassay.metrics.scores import LOWER_IS_BETTER
from ragassay.metrics.significance import PairTest, paired_tests
from ragassay.records import Evaluation, Score


@dataclass(frozen=True)
class LeaderboardRow:
    """A system's place.

    Attributes:
        system: Its name.
        score: Macro mean over its questions; `n` and `n_unscored` count questions.
        n_answers: Answers that have the score, or lack it because a verdict failed.
        rank: By the mean, 1 is the best; means equal to four digits share a rank. None without a
            mean, and where what is unscored leaves open whether another system is better.
        rank_low: The best rank that the tests leave open: one more than the systems that are
            significantly better.
        rank_high: The worst rank that the tests leave open.
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
        key: The score's key.
        lower_is_better: Whether the lowest is the best.
        rows: The best first; systems without a mean at the end.
        tests: Every pair of systems that have a mean, but those whose ranges overlap.
        n_questions: Questions for which some system has the score.
        n_shared: Questions for which every system with a mean has it.
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

    Args:
        systems: Name to the system's evaluations.
        key: The score to rank by.
    """
    values = {name: values_by_question(found, key) for name, found in systems.items()}
    ranked = {name: of_system for name, of_system in values.items() if of_system}
    scores = {name: question_score(key, found).settled for name, found in systems.items()}
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
            _row(name, scores, len(_counted(systems[name], key)), ranked, better, lower)
            for name in order
        ),
        tests=tests,
        n_questions=len(set().union(*questions)),
        n_shared=len(set.intersection(*map(set, questions))) if questions else 0,
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


def _counted(evaluations: Sequence[Evaluation], key: str) -> list[Evaluation]:
    return [
        e
        for e in evaluations
        if key in e.scores and (e.scores[key].decided is not None or e.scores[key].n_unscored)
    ]


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

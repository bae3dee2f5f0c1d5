"""Score graded passages (Dietz 2024), and score rankings with ir_measures and alpha-nDCG."""

from __future__ import annotations

import math
import subprocess
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import SHARE_SCALE, mean_score, score_clustered_mean
from ragassay.records import MOST_EXAM_RATING, ExamGrade, RelevanceGrade, Score

if TYPE_CHECKING:
    from ir_measures.measures import Measure


COVERED_FROM = 4
"""Default minimum rating at which a passage covers an item."""


def score_exam_grades(grades: Sequence[ExamGrade], judge: str) -> dict[str, Score]:
    """Return the scores of a passage from its grades on the items of a test bank.

    `exam.cover` is the share of items rated 4 or higher, the paper's threshold. `exam.rating` is
    the mean rating from 0 to 5. `exam.answered` is the share of items with an extracted answer. If
    an item has known answers, the extracted answer must match. A score is left out if there are no
    grades for it.
    """
    rated = [grade for grade in grades if grade.grader == "rating"]
    extracted = [grade for grade in grades if grade.grader == "extraction"]
    scores: dict[str, Score] = {}
    if rated:
        covered = [None if g.rating is None else g.rating >= COVERED_FROM for g in rated]
        scores["exam.cover"] = mean_score(covered, SHARE_SCALE, judge)
        scale = (0.0, float(MOST_EXAM_RATING))
        scores["exam.rating"] = mean_score([grade.score for grade in rated], scale, judge)
    if extracted:
        correct = [grade.is_correct for grade in extracted]
        scores["exam.answered"] = mean_score(correct, SHARE_SCALE, judge)
    return scores


def score_relevance_grades(grades: Sequence[RelevanceGrade], judge: str) -> dict[str, Score]:
    """Return a relevance score from each direct grader: 1, 0 or unscored."""
    return {
        f"relevance.{one.grader}": mean_score([one.is_relevant], SHARE_SCALE, judge)
        for one in grades
    }


def alpha_ndcg(
    ranking: Sequence[str],
    subtopics: Mapping[str, Collection[str]],
    k: int = 20,
    alpha: float = 0.5,
) -> float | None:
    """Return alpha-nDCG@k (Clarke et al. 2008), computed as in ndeval.

    The gain of a passage at rank r is sum((1 - alpha)^(times seen before)) over its subtopics,
    divided by log2(r + 1). The ideal ranking is approximated greedily, because finding it exactly
    is NP-hard. Ties go to the id that is last in sort order, as in ndeval.

    Args:
        ranking: Passage ids, best first.
        subtopics: Subtopics of each judged passage. Unjudged passages have no subtopics.
        k: Rank cutoff.
        alpha: Penalty for repeated subtopics, in [0, 1].

    Returns:
        A value in [0, 1], or slightly above 1 if the greedy ranking is not ideal. The result is
        None if no passage has a subtopic.

    Example:
        >>> alpha_ndcg(["a", "b"], {"a": {"s", "t"}, "b": {"s"}})
        1.0
    """
    ideal = _compute_dcg(_find_ideal_gains(subtopics, k, alpha))
    if not ideal:
        return None
    seen: Counter[str] = Counter()
    gains: list[float] = []
    for name in ranking[:k]:
        gains.append(_compute_gain(subtopics.get(name, ()), seen, alpha))
        seen.update(subtopics.get(name, ()))
    return _compute_dcg(gains) / ideal


def _find_ideal_gains(
    subtopics: Mapping[str, Collection[str]], k: int, alpha: float
) -> list[float]:
    left = [subtopics[name] for name in sorted(subtopics, reverse=True) if subtopics[name]]
    seen: Counter[str] = Counter()
    gains: list[float] = []
    while left and len(gains) < k:
        best = max(left, key=lambda topics: _compute_gain(topics, seen, alpha))
        left.remove(best)
        gains.append(_compute_gain(best, seen, alpha))
        seen.update(best)
    return gains


def _compute_gain(subtopics: Iterable[str], seen: Counter[str], alpha: float) -> float:
    return math.fsum((1 - alpha) ** seen[subtopic] for subtopic in subtopics)


def _compute_dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


Qrels = Mapping[str, Mapping[str, int]]
"""Grades, keyed by query and document."""

MEASURES = ("nDCG@10", "R@100", "RR", "AP")
"""Default measures in ir_measures notation, including reciprocal rank and average precision."""


def score_retrieval(
    qrels: Qrels, run: Mapping[str, Mapping[str, float]], *, skips_empty: bool = False
) -> dict[str, Score]:
    """Score a retrieval run with the default `MEASURES`.

    Args:
        qrels: Relevance grades, keyed by query and document. Grades of 0 and below are not
            relevant.
        run: Scores of the retrieved documents, keyed by query. A missing query counts as a search
            without results.

    Returns:
        Scores in [0, 1], keyed by measure, with the number of queries as n.

    Example:
        >>> scores = score_retrieval({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}})
        >>> scores["RR"].value
        0.5
    """
    values = run_values(qrels, {"": run}, MEASURES, skips_empty=skips_empty)
    return {
        name: score_clustered_mean(list(by_run[""].values())) for name, by_run in values.items()
    }


def run_values(
    qrels: Qrels,
    runs: Mapping[str, Mapping[str, Mapping[str, float]]],
    measures: Sequence[str],
    level: int = 1,
    *,
    skips_empty: bool = False,
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the measures for each run and query, keyed by measure, run and query.

    Args:
        qrels: Relevance grades, keyed by query and document.
        runs: Scores, keyed by run, query and document. Higher scores are better. Missing queries
            score 0.
        measures: Names of measures in ir_measures notation.
        level: Minimum grade of a relevant document, like -l in trec_eval. The level does not affect
            measures based on gains, such as nDCG, or measures that specify `rel=`.
        skips_empty: Whether to ignore queries without relevant documents. If False, queries without
            relevant documents score 0, as with -c in trec_eval.

    Raises:
        InputError: If a measure is unknown or cannot be computed.
    """
    import ir_measures

    parsed = {name: _parse_at_level(name, level) for name in dict.fromkeys(measures)}
    queries = {
        name: _list_answerable_queries(qrels, measure) if skips_empty else list(qrels)
        for name, measure in parsed.items()
    }
    used = {q: dict(qrels[q]) for q in qrels if any(q in own for own in queries.values())}
    values = {name: {run: dict.fromkeys(own, 0.0) for run in runs} for name, own in queries.items()}
    if not used:
        return values
    # Two names can be the same measure, such as RR and RR(rel=4) at level 4.
    names: dict[Measure, list[str]] = {}
    for name, measure in parsed.items():
        names.setdefault(measure, []).append(name)
    with _convert_measure_errors():
        evaluator = ir_measures.evaluator(list(names), used)
        for system, run in runs.items():
            ranked = {q: dict(run[q]) for q in used if run.get(q)}
            for metric in evaluator.iter_calc(ranked) if ranked else ():
                for name in names[metric.measure]:
                    if metric.query_id in values[name][system]:
                        values[name][system][metric.query_id] = metric.value
    return values


def parse_measure(name: str) -> Measure:
    """Parse the name of a measure in ir_measures notation.

    Raises:
        InputError: If the name is unknown or malformed.
    """
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
        unknown = measure.params.keys() - measure.SUPPORTED_PARAMS.keys()
        if unknown:
            raise ValueError(f"unknown parameter {min(unknown)}")
        return measure
    except (NameError, ValueError) as error:
        raise InputError(
            f"{name!r} is not a measure ({error}); pass an ir_measures name such as nDCG@10"
        ) from error


@contextmanager
def _convert_measure_errors() -> Generator[None]:
    """Convert errors from ir_measures and its programs to `InputError`."""
    try:
        yield
    except (ValueError, KeyError, AssertionError, subprocess.CalledProcessError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the measures cannot be computed: {reason}") from error


def _parse_at_level(name: str, level: int) -> Measure:
    measure = parse_measure(name)
    has_default = "rel" in measure.SUPPORTED_PARAMS and "rel" not in measure.params
    return measure(rel=level) if has_default and level > 1 else measure


def _list_answerable_queries(qrels: Qrels, measure: Measure) -> list[str]:
    least = measure.params.get("rel", 1)
    return [query for query, grades in qrels.items() if max(grades.values(), default=0) >= least]

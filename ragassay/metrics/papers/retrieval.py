"""Score passages by their grades and searches by ir_measures and alpha-nDCG (Dietz 2024)."""

from __future__ import annotations

import math
import subprocess
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import SHARE_SCALE, clustered_mean, mean_score
from ragassay.records import MOST_EXAM_RATING, ExamGrade, RelevanceGrade, Score

if TYPE_CHECKING:
    from ir_measures.measures import Measure


COVERED_FROM = 4
"""Least rating at which a passage counts as covering an item, where nothing else is chosen."""


def exam_scores(grades: Sequence[ExamGrade], judge: str) -> dict[str, Score]:
    """Return what the grades of a passage by its bank's items come to; empty without grades.

    `exam.cover` is the share of items rated 4 or more (the paper's threshold), `exam.rating` the
    mean rating, 0 to 5, `exam.answered` the share of items that something was extracted for, and
    that it answers rightly where answers are known.
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
        found = [grade.is_correct for grade in extracted]
        scores["exam.answered"] = mean_score(found, SHARE_SCALE, judge)
    return scores


def relevance_scores(grades: Sequence[RelevanceGrade], judge: str) -> dict[str, Score]:
    """Return whether a passage is relevant, by each direct grader: 1, 0, or unscored."""
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
    """Return alpha-nDCG@k (Clarke et al. 2008; as ndeval computes it).

    The gain of a passage at rank r is sum((1 - alpha)^(times seen before)) over its subtopics, and
    is divided by log2(r + 1). The ideal ranking is built greedily, as finding the best is NP-hard;
    among equal gains the last id in the order of text is taken, as in ndeval.

    Args:
        ranking: Passages, the best first.
        subtopics: The subtopics of each judged passage; others have none.
        k: The last rank that counts.
        alpha: How much a repeated subtopic loses, in [0, 1].

    Returns:
        In [0, 1] unless the greedy ideal is not the best; None where no passage has a subtopic.

    Example:
        >>> alpha_ndcg(["a", "b"], {"a": {"s", "t"}, "b": {"s"}})
        1.0
    """
    ideal = _dcg(_ideal_gains(subtopics, k, alpha))
    if not ideal:
        return None
    seen: Counter[str] = Counter()
    gains: list[float] = []
    for found in (subtopics.get(name, ()) for name in ranking[:k]):
        gains.append(_gain(found, seen, alpha))
        seen.update(found)
    return _dcg(gains) / ideal


def _ideal_gains(subtopics: Mapping[str, Collection[str]], k: int, alpha: float) -> list[float]:
    left = [subtopics[name] for name in sorted(subtopics, reverse=True) if subtopics[name]]
    seen: Counter[str] = Counter()
    gains: list[float] = []
    while left and len(gains) < k:
        best = max(left, key=lambda found: _gain(found, seen, alpha))
        left.remove(best)
        gains.append(_gain(best, seen, alpha))
        seen.update(best)
    return gains


def _gain(found: Iterable[str], seen: Counter[str], alpha: float) -> float:
    return math.fsum((1 - alpha) ** seen[one] for one in found)


def _dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


Qrels = Mapping[str, Mapping[str, int]]
"""Query to document to grade."""

MEASURES = ("nDCG@10", "R@100", "RR", "AP")
"""In the notation of ir_measures: RR is the mean reciprocal rank, AP mean average precision."""


def retrieval_scores(
    qrels: Qrels, run: Mapping[str, Mapping[str, float]], *, skips_empty: bool = False
) -> dict[str, Score]:
    """Score a ranking.

    Query by query, `qrels` grade documents (0 and below is not relevant), and `run` scores those
    that were found. A query that is missing from the run has found nothing. For `skips_empty` see
    `run_values`.

    Returns:
        By measure; each in [0, 1], its n the number of queries.

    Example:
        >>> found = retrieval_scores({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}})
        >>> found["RR"].value
        0.5
    """
    values = run_values(qrels, {"": run}, MEASURES, skips_empty=skips_empty)
    return {name: clustered_mean(list(by_run[""].values())) for name, by_run in values.items()}


def run_values(
    qrels: Qrels,
    runs: Mapping[str, Mapping[str, Mapping[str, float]]],
    measures: Sequence[str],
    level: int = 1,
    *,
    skips_empty: bool = False,
) -> dict[str, dict[str, dict[str, float]]]:
    """Return each measure of each run for each query.

    Args:
        qrels: Grades of documents, query by query.
        runs: Run to query to document to score; higher is better. A query of the qrels that is
            missing from a run is 0.
        measures: Names in the notation of ir_measures.
        level: The least grade that is relevant, as trec_eval's -l. Measures that take gains, such
            as nDCG, do not heed it, and a measure's own `rel=` goes first.
        skips_empty: Whether a query without a relevant document is left out, as nothing can be
            found for it. Else it is 0, as in trec_eval with -c.

    Returns:
        Measure to run to query to value.

    Raises:
        InputError: A measure is unknown, or cannot be computed here.
    """
    import ir_measures

    parsed = {name: _measure(name, level) for name in dict.fromkeys(measures)}
    wanted = {
        name: _with_relevant(qrels, measure) if skips_empty else list(qrels)
        for name, measure in parsed.items()
    }
    used = {q: dict(qrels[q]) for q in qrels if any(q in found for found in wanted.values())}
    values = {
        name: {run: dict.fromkeys(found, 0.0) for run in runs} for name, found in wanted.items()
    }
    if not used:
        return values
    # Two names may be the same measure, as RR and RR(rel=4) at the level 4.
    names: dict[Measure, list[str]] = {}
    for name, measure in parsed.items():
        names.setdefault(measure, []).append(name)
    with _unusable_measures():
        evaluator = ir_measures.evaluator(list(names), used)
        for system, run in runs.items():
            ranked = {q: dict(run[q]) for q in used if run.get(q)}
            for metric in evaluator.iter_calc(ranked) if ranked else ():
                for name in names[metric.measure]:
                    if metric.query_id in values[name][system]:
                        values[name][system][metric.query_id] = metric.value
    return values


def parse_measure(name: str) -> Measure:
    """Return a measure by its name in the notation of ir_measures.

    Raises:
        InputError: The name is unknown or malformed.
    """
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
        unknown = measure.params.keys() - measure.SUPPORTED_PARAMS.keys()
        if unknown:
            raise ValueError(f"it has no {min(unknown)}")
        return measure
    except (NameError, ValueError) as error:
        raise InputError(
            f"{name!r} is not a measure ({error}): give one of ir_measures, as nDCG@10"
        ) from error


@contextmanager
def _unusable_measures() -> Generator[None]:
    """Turn the errors of ir_measures' programs into one that says what to do."""
    try:
        yield
    except (ValueError, KeyError, AssertionError, subprocess.CalledProcessError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the measures cannot be computed: {reason}") from error


def _measure(name: str, level: int) -> Measure:
    measure = parse_measure(name)
    takes = "rel" in measure.SUPPORTED_PARAMS and "rel" not in measure.params
    return measure(rel=level) if takes and level > 1 else measure


def _with_relevant(qrels: Qrels, measure: Measure) -> list[str]:
    least = measure.params.get("rel", 1)
    return [query for query, grades in qrels.items() if max(grades.values(), default=0) >= least]

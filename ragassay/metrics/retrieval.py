"""Score a search by the measures of ir_measures, each with its interval over the queries."""

from __future__ import annotations

import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.metrics.intervals import mean_interval
from ragassay.metrics.scoring import build_score
from ragassay.records import Score

if TYPE_CHECKING:
    from ir_measures.measures import Measure

Qrels = Mapping[str, Mapping[str, int]]
"""Query to document to grade."""

MEASURES = ("nDCG@10", "R@100", "RR", "AP")
"""In the notation of ir_measures: RR is the mean reciprocal rank, AP mean average precision."""


def retrieval_scores(
    qrels: Qrels, run: Mapping[str, Mapping[str, float]], *, skips_empty: bool = False
) -> dict[str, Score]:
    """Score a ranking.

    Args:
        qrels: Grades of documents, query by query; 0 and below is not relevant.
        run: Scores of the found documents, query by query; higher is better. A query of the qrels
            that is missing here counts as having found nothing.
        skips_empty: See `run_values`.

    Returns:
        By measure; each in [0, 1], its n the number of queries.

    Example:
        >>> found = retrieval_scores({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}})
        >>> found["RR"].value
        0.5
    """
    values = run_values(qrels, {"": run}, MEASURES, skips_empty=skips_empty)
    return {name: _score(list(by_run[""].values())) for name, by_run in values.items()}


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


def _score(values: list[float]) -> Score:
    mean = sum(values) / len(values) if values else None
    return build_score(mean, len(values), interval=mean_interval(values))

"""Score a search by the measures of ir_measures, each with its interval over the queries."""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.metrics.intervals import mean_interval
from ragassay.metrics.scoring import build_score
from ragassay.records import Score

MEASURES = ("nDCG@10", "R@100", "RR", "AP")
"""In the notation of ir_measures: RR is the mean reciprocal rank, AP mean average precision."""


def retrieval_scores(
    qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]
) -> dict[str, Score]:
    """Score a ranking.

    Args:
        qrels: Grades of documents, query by query; 0 and below is not relevant.
        run: Scores of the found documents, query by query; higher is better. A query of the qrels
            that is missing here counts as having found nothing.

    Returns:
        By measure; each in [0, 1], its n the number of queries of the qrels that have a relevant
        document.

    Example:
        >>> found = retrieval_scores({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}})
        >>> found["RR"].value
        0.5
    """
    import ir_measures

    wanted = {q: dict(grades) for q, grades in qrels.items() if max(grades.values()) > 0}
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    values: dict[str, dict[str, float]] = {name: dict.fromkeys(wanted, 0.0) for name in MEASURES}
    found = {q: dict(run[q]) for q in wanted if run.get(q)}
    for metric in ir_measures.iter_calc(measures, wanted, found) if found else ():
        values[str(metric.measure)][metric.query_id] = metric.value
    return {name: _score(list(of_query.values())) for name, of_query in values.items()}


def _score(values: list[float]) -> Score:
    mean = sum(values) / len(values) if values else None
    return build_score(mean, len(values), interval=mean_interval(values))

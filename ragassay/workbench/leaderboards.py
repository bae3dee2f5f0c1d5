"""Compute Rubric-Qrels, and leaderboards to compare with official ones (Dietz 2024, 4.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ragassay.formats.workbench.bank_items import RubricBank
from ragassay.formats.workbench.paragraphs import QueryParagraphs
from ragassay.metrics.papers.retrieval import alpha_ndcg, parse_measure, run_values
from ragassay.metrics.stats.correlation import RankCorrelation, correlate_scores
from ragassay.metrics.stats.intervals import build_score, compute_mean_interval
from ragassay.records import Score
from ragassay.workbench.cover import Rankings, standard_error
from ragassay.workbench.grades import GradeFilter, PassageGrade, find_grade

TopicOf = Callable[[str, str], str]
"""Function that maps a query id and an item id to a topic, which is the query or one of its
facets."""


@dataclass(frozen=True)
class RubricQrels:
    """Passage labels.

    Attributes:
        labels: Labels, keyed by topic and passage id, in the order of the file.
        n_ungraded: Number of passages that have no label because no grade matches the filter.
        n_unlabelled: Number of passages that have no label because all their items are unscored.
        n_uncertain: Number of labels that may be too low because some items are unscored.
    """

    labels: Mapping[str, Mapping[str, int]]
    n_ungraded: int = 0
    n_unlabelled: int = 0
    n_uncertain: int = 0


def get_query_topic(query: str, item: str) -> str:
    """Return the query id, so that each query is one topic."""
    return query


def extract_facet(query: str, item: str) -> str:
    """Return the item id up to its last slash, which the original program uses as the facet.

    Example:
        >>> extract_facet("q1", "q1/f2/3e9afdb8")
        'q1/f2'
    """
    head, slash, _ = item.rpartition("/")
    return head if slash else query


def build_facet_finder(banks: Sequence[RubricBank]) -> TopicOf:
    """Return a function that finds an item's facet in the test banks, or else in the item id."""
    known = {
        item.id: f"{bank.query_id}/{bank.facet_id}" if bank.facet_id else bank.query_id
        for bank in banks
        for item in bank.items
    }
    return lambda query, item: known.get(item) or extract_facet(query, item)


def label_by_covered_count(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    min_rating: int | None = None,
    topic_of: TopicOf = get_query_topic,
) -> RubricQrels:
    """Label each passage with the number of items it covers (Dietz 2024, 4.5, (1)).

    Unlike in the original program, duplicate items count once, and facets have labels of 0.

    Args:
        chosen: Filter that selects the first matching grade of each passage.
        min_rating: Lowest rating that covers an item, or None to use correctness.

    Raises:
        InputError: `min_rating` is set and a grade has no ratings.
    """

    def read_cover(grade: PassageGrade, place: str) -> dict[str, int | None]:
        covered = grade.list_verdicts(min_rating, place)
        return {
            item: None if verdict is None else int(verdict) for item, verdict in covered.items()
        }

    return _label_passages(queries, chosen, topic_of, read_cover, sum)


def label_by_highest_rating(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    topic_of: TopicOf = get_query_topic,
) -> RubricQrels:
    """Label each passage with its highest item rating (Dietz 2024, 4.5, (2)).

    The original program counts covered items for facets without ratings, which is an error here.

    Args:
        chosen: Filter that selects the first matching grade of each passage.

    Raises:
        InputError: A grade has no ratings.
    """

    def read_ratings(grade: PassageGrade, place: str) -> dict[str, int | None]:
        return {**grade.require_ratings(place), **dict.fromkeys(grade.unscored, None)}

    return _label_passages(queries, chosen, topic_of, read_ratings, max)


def find_covered_items(
    queries: Sequence[QueryParagraphs], chosen: GradeFilter, min_rating: int | None = None
) -> dict[str, dict[str, frozenset[str]]]:
    """Return the covered items by query and passage, which diversity measures use as subtopics.

    Raises:
        InputError: `min_rating` is set and a grade has no ratings.
    """
    covered: dict[str, dict[str, frozenset[str]]] = {}
    for query, passage, grade in iter_graded_passages(queries, chosen):
        verdicts = grade.list_verdicts(min_rating, f"{query}/{passage}").items()
        items = frozenset(item for item, verdict in verdicts if verdict)
        covered.setdefault(query, {})[passage] = items
    return covered


def iter_graded_passages(
    queries: Sequence[QueryParagraphs], chosen: GradeFilter
) -> Iterator[tuple[str, str, PassageGrade]]:
    """Yield the query id, passage id and grade of each passage with a matching grade."""
    for query in queries:
        for paragraph in query.paragraphs:
            grade = find_grade(paragraph, chosen)
            if grade is not None:
                yield query.query_id, paragraph.paragraph_id, grade


def _label_passages(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    topic_of: TopicOf,
    verdicts: Callable[[PassageGrade, str], Mapping[str, int | None]],
    aggregate: Callable[[list[int]], int],
) -> RubricQrels:
    labels: dict[str, dict[str, int]] = {}
    n_graded = n_unlabelled = n_uncertain = 0
    for query, passage, grade in iter_graded_passages(queries, chosen):
        n_graded += 1
        by_topic: dict[str, list[int | None]] = {}
        for item, verdict in verdicts(grade, f"{query}/{passage}").items():
            by_topic.setdefault(topic_of(query, item), []).append(verdict)
        for topic, item_verdicts in by_topic.items():
            scored = [verdict for verdict in item_verdicts if verdict is not None]
            if not scored:
                n_unlabelled += 1
                continue
            n_uncertain += len(scored) < len(item_verdicts)
            labels.setdefault(topic, {})[passage] = aggregate(scored)
    n_all = sum(len(query.paragraphs) for query in queries)
    return RubricQrels(labels, n_all - n_graded, n_unlabelled, n_uncertain)


ALPHA_NDCG = "alpha_nDCG"
"""Name that ir_measures gives to the measure that uses items as subtopics."""

N_DIGITS = 12
"""Number of digits to which means are rounded. Without rounding, ties would depend on the order of
summation."""

JUDGED_DEPTH = 20
"""Number of top-ranked passages among which passages without a label are counted."""


@dataclass(frozen=True)
class RubricRow:
    """A system in a leaderboard.

    Attributes:
        rank: Rank, from 1, or None for a system without a mean. Systems with equal means have the
            same rank.
        score: Mean of the measure over `n` queries that have a relevant passage.
        score_se: Standard error of the mean, or None for fewer than two queries.
        official: Rank in the official leaderboard, or None if the system is not in it.
        n_unlabelled: Number of passages without a label among the top `JUDGED_DEPTH` of each query,
            which count as not relevant.
    """

    system: str
    rank: int | None
    score: Score
    score_se: float | None
    official: int | None = None
    n_unlabelled: int = 0


@dataclass(frozen=True)
class RubricBoard:
    """Leaderboard for one measure.

    Attributes:
        measure: Name in ir_measures notation.
        correlation: Correlation with the official scores, or None without official scores. Systems
            with only one of the two scores are counted as unscored.
        only_official: Systems that only the official leaderboard contains.
        n_uncertain: Number of labels that are missing or may be too low, because items have no
            grade.
    """

    measure: str
    rows: tuple[RubricRow, ...]
    correlation: RankCorrelation | None
    only_official: tuple[str, ...]
    n_uncertain: int = 0


def build_rubric_boards(
    labels: Mapping[str, Mapping[str, int]],
    rankings: Rankings,
    measures: Sequence[str],
    *,
    level: int = 1,
    subtopics: Mapping[str, Mapping[str, Collection[str]]] | None = None,
    official: Mapping[str, float] | None = None,
    skips_empty: bool = False,
) -> tuple[RubricBoard, ...]:
    """Rank systems by each measure (Dietz 2024, section 6, table 4).

    A query for which a system ranks no passage scores 0. The original program skips such queries,
    as trec_eval does by default, so that a system gains by answering only easy queries.

    Args:
        measures: Names in ir_measures notation. `alpha_nDCG@k` uses `subtopics`.
        level: Lowest label that counts as relevant, like the option -l of trec_eval.
        subtopics: Covered items by query and passage. Without subtopics, each query is one
            subtopic.
        official: Official scores of systems. Higher is better.
        skips_empty: See `run_values`.

    Raises:
        InputError: A measure is unknown or not supported.
    """
    runs = {
        system: {query: _convert_ranks(ranks) for query, ranks in by_query.items()}
        for system, by_query in rankings.items()
    }
    plain = [name for name in measures if parse_measure(name).NAME != ALPHA_NDCG]
    values = run_values(labels, runs, plain, level, skips_empty=skips_empty) if plain else {}
    items = _build_default_subtopics(labels, level) if subtopics is None else subtopics
    for name in measures:
        if name not in values:
            values[name] = _compute_alpha_ndcg(name, items, rankings)
    missing = {system: _count_unlabelled(by_query, labels) for system, by_query in rankings.items()}
    return tuple(
        build_board(name, values[name], official, missing) for name in dict.fromkeys(measures)
    )


def build_board(
    measure: str,
    values: Mapping[str, Mapping[str, float]],
    official: Mapping[str, float] | None = None,
    n_unlabelled: Mapping[str, int] | None = None,
) -> RubricBoard:
    """Rank systems by their mean values.

    Args:
        official: Official scores of systems. Higher is better.
        n_unlabelled: Number of unlabelled top passages by system. See `RubricRow`.

    Example:
        >>> [row.rank for row in build_board("RR", {"a": {"q": 0.5}, "b": {"q": 1.0}}).rows]
        [1, 2]
    """
    means = {
        system: round(fmean(by_query.values()), N_DIGITS) if by_query else None
        for system, by_query in values.items()
    }
    known = {system: mean for system, mean in means.items() if mean is not None}

    def build_row(system: str) -> RubricRow:
        system_values = list(values[system].values())
        return RubricRow(
            system=system,
            rank=_rank_system(system, known),
            score=build_score(
                means[system], len(system_values), interval=compute_mean_interval(system_values)
            ),
            score_se=standard_error(system_values),
            official=_rank_system(system, official or {}),
            n_unlabelled=(n_unlabelled or {}).get(system, 0),
        )

    order = sorted(means, key=lambda system: (-known.get(system, -math.inf), system))
    return RubricBoard(
        measure=measure,
        rows=tuple(map(build_row, order)),
        correlation=None if official is None else add_official(means, official),
        only_official=tuple(sorted((official or {}).keys() - means.keys())),
    )


def _rank_system(system: str, scores: Mapping[str, float]) -> int | None:
    own = scores.get(system)
    return None if own is None else 1 + sum(score > own for score in scores.values())


def add_official(
    means: Mapping[str, float | None], official: Mapping[str, float]
) -> RankCorrelation:
    """Correlate means with official scores, without systems that have only one of the two.

    The original program fails if a system on the official leaderboard has no mean.
    """
    systems = sorted(means.keys() | official.keys())
    ours, theirs = [means.get(s) for s in systems], [official.get(s) for s in systems]
    return correlate_scores(ours, theirs, are_systems=True)


def _convert_ranks(ranks: Mapping[str, int]) -> dict[str, float]:
    """Convert ranks to distinct scores, because trec_eval orders equal scores by id."""
    return {name: float(-position) for position, name in enumerate(ranks)}


def _build_default_subtopics(
    labels: Mapping[str, Mapping[str, int]], level: int
) -> dict[str, dict[str, tuple[str, ...]]]:
    return {
        query: {name: (query,) if label >= level else () for name, label in by_passage.items()}
        for query, by_passage in labels.items()
    }


def _compute_alpha_ndcg(
    name: str, subtopics: Mapping[str, Mapping[str, Collection[str]]], rankings: Rankings
) -> dict[str, dict[str, float]]:
    params = {"cutoff": 20, "alpha": 0.5, **parse_measure(name).params}
    values: dict[str, dict[str, float]] = {system: {} for system in rankings}
    for query, passages in subtopics.items():
        for system, by_query in rankings.items():
            ranked = list(by_query.get(query, ()))
            value = alpha_ndcg(ranked, passages, params["cutoff"], params["alpha"])
            if value is not None:
                values[system][query] = value
    return values


def _count_unlabelled(
    by_query: Mapping[str, Mapping[str, int]], labels: Mapping[str, Mapping[str, int]]
) -> int:
    return sum(
        name not in labels[query]
        for query, ranks in by_query.items()
        if query in labels
        for name in list(ranks)[:JUDGED_DEPTH]
    )

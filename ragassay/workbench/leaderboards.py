"""Rubric-Qrels, and leaderboards by them beside an official one (Dietz 2024, 4.5)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ragassay.formats.workbench.bank_items import RubricBank
from ragassay.formats.workbench.paragraphs import QueryParagraphs
from ragassay.metrics.papers.retrieval import alpha_ndcg, parse_measure, run_values
from ragassay.metrics.stats.correlation import RankCorrelation, correlate_scores
from ragassay.metrics.stats.intervals import build_score, mean_interval
from ragassay.records import Score
from ragassay.workbench.cover import Rankings, standard_error
from ragassay.workbench.grades import GradeFilter, PassageGrade, grade_of

TopicOf = Callable[[str, str], str]
"""A function of a query and an item that returns the topic of the label: the query or a facet."""


@dataclass(frozen=True)
class RubricQrels:
    """Labels of passages.

    Attributes:
        labels: Topic to passage to label, in the file's order.
        n_ungraded: Passages without a grade that counts; they have no label.
        n_unlabelled: Labels that are missing because every item of theirs is unscored.
        n_uncertain: Labels that could be higher because some item of theirs is unscored.
    """

    labels: Mapping[str, Mapping[str, int]]
    n_ungraded: int = 0
    n_unlabelled: int = 0
    n_uncertain: int = 0


def whole_query(query: str, item: str) -> str:
    """Return the query: its labels are not split by facets."""
    return query


def facet_of_id(query: str, item: str) -> str:
    """Return an item's facet as the original finds it: its id up to the last slash.

    Example:
        >>> facet_of_id("q1", "q1/f2/3e9afdb8")
        'q1/f2'
    """
    head, slash, _ = item.rpartition("/")
    return head if slash else query


def facets_of_banks(banks: Sequence[RubricBank]) -> TopicOf:
    """Return a function that finds an item's facet in its bank, else as `facet_of_id` does."""
    known = {
        item.id: f"{bank.query_id}/{bank.facet_id}" if bank.facet_id else bank.query_id
        for bank in banks
        for item in bank.items
    }
    return lambda query, item: known.get(item) or facet_of_id(query, item)


def number_covered(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    min_rating: int | None = None,
    topic_of: TopicOf = whole_query,
) -> RubricQrels:
    """Label each passage with the number of items that it covers (Dietz 2024, 4.5, (1)).

    The original counts an item that a file names twice twice, and by facets leaves a label of 0
    out; here an item counts once, and a passage graded by a facet's items has a label.

    Args:
        chosen: The grades that count; of several for a passage the first does.
        min_rating: The least rating that covers an item; None takes what is marked as correct.
        topic_of: Splits labels by facets.

    Raises:
        InputError: A minimum is given and a grade has no ratings.
    """

    def verdicts(grade: PassageGrade, place: str) -> dict[str, int | None]:
        covered = grade.verdicts(min_rating, place)
        return {
            item: None if verdict is None else int(verdict) for item, verdict in covered.items()
        }

    return _labels(queries, chosen, topic_of, verdicts, sum)


def highest_rating(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    topic_of: TopicOf = whole_query,
) -> RubricQrels:
    """Label each passage with the highest rating of its items (Dietz 2024, 4.5, (2)).

    Args:
        chosen: The grades that count; of several for a passage the first does.
        topic_of: Splits labels by facets. The original falls back to numbers of covered items where
            a grade has no ratings and facets are asked for; here that is an error too.

    Raises:
        InputError: A grade has no ratings.
    """

    def verdicts(grade: PassageGrade, place: str) -> dict[str, int | None]:
        return {**grade.require_ratings(place), **dict.fromkeys(grade.unscored, None)}

    return _labels(queries, chosen, topic_of, verdicts, max)


def covered_items(
    queries: Sequence[QueryParagraphs], chosen: GradeFilter, min_rating: int | None = None
) -> dict[str, dict[str, frozenset[str]]]:
    """Return query to passage to the items that it covers: the subtopics of diversity measures.

    Raises:
        InputError: A minimum is given and a grade has no ratings.
    """
    found: dict[str, dict[str, frozenset[str]]] = {}
    for query, passage, grade in graded_passages(queries, chosen):
        verdicts = grade.verdicts(min_rating, f"{query}/{passage}").items()
        items = frozenset(item for item, verdict in verdicts if verdict)
        found.setdefault(query, {})[passage] = items
    return found


def graded_passages(
    queries: Sequence[QueryParagraphs], chosen: GradeFilter
) -> Iterator[tuple[str, str, PassageGrade]]:
    """Yield query, passage and grade of each passage that has a grade that counts."""
    for query in queries:
        for one in query.paragraphs:
            grade = grade_of(one, chosen)
            if grade is not None:
                yield query.query_id, one.paragraph_id, grade


def _labels(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    topic_of: TopicOf,
    verdicts: Callable[[PassageGrade, str], Mapping[str, int | None]],
    aggregate: Callable[[list[int]], int],
) -> RubricQrels:
    labels: dict[str, dict[str, int]] = {}
    n_graded = n_unlabelled = n_uncertain = 0
    for query, passage, grade in graded_passages(queries, chosen):
        n_graded += 1
        by_topic: dict[str, list[int | None]] = {}
        for item, verdict in verdicts(grade, f"{query}/{passage}").items():
            by_topic.setdefault(topic_of(query, item), []).append(verdict)
        for topic, found in by_topic.items():
            scored = [verdict for verdict in found if verdict is not None]
            if not scored:
                n_unlabelled += 1
                continue
            n_uncertain += len(scored) < len(found)
            labels.setdefault(topic, {})[passage] = aggregate(scored)
    n_all = sum(len(query.paragraphs) for query in queries)
    return RubricQrels(labels, n_all - n_graded, n_unlabelled, n_uncertain)


ALPHA_NDCG = "alpha_nDCG"
"""ir_measures' name of the one measure that counts items as subtopics."""

N_DIGITS = 12
"""Equal means must stay equal, in whatever order they were summed."""

JUDGED_DEPTH = 20
"""How far down a ranking passages without a label are counted."""


@dataclass(frozen=True)
class RubricRow:
    """A system's place.

    Attributes:
        rank: 1 is the best; equal means share a rank. None without a mean.
        score: Mean over queries that have a relevant passage; `n` counts them.
        score_se: Its standard error; None for fewer than two queries.
        official: Its official rank, among all systems that have one; None where it has none.
        n_unlabelled: Passages among the first `JUDGED_DEPTH` of each query that have no label, and
            count as not relevant.
    """

    system: str
    rank: int | None
    score: Score
    score_se: float | None
    official: int | None = None
    n_unlabelled: int = 0


@dataclass(frozen=True)
class RubricBoard:
    """One measure of several systems.

    Attributes:
        measure: In the notation of ir_measures.
        rows: The best first.
        correlation: Of the means with the official scores; None without these. Systems that only
            one of the two has are left out, and counted as unscored.
        only_official: Systems that only the official leaderboard has.
        n_uncertain: Labels that are missing or could be higher, as an item has no grade.
    """

    measure: str
    rows: tuple[RubricRow, ...]
    correlation: RankCorrelation | None
    only_official: tuple[str, ...]
    n_uncertain: int = 0


def rubric_boards(
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

    A query for which a system ranks nothing is 0. The original leaves it out, as trec_eval does by
    default: a system could gain by answering its best queries only.

    Args:
        labels: Query to passage to label.
        rankings: Of the systems.
        measures: Names in the notation of ir_measures. `alpha_nDCG@k` is computed here, with
            `subtopics`.
        level: The least label that is relevant, as trec_eval's -l.
        subtopics: Query to passage to the items that it covers; without them a passage with a
            relevant label has one subtopic, its query.
        official: Official scores; higher is better.
        skips_empty: See `run_values`.

    Raises:
        InputError: A measure is unknown, or cannot be computed here.
    """
    runs = {
        system: {query: _descending(ranks) for query, ranks in by_query.items()}
        for system, by_query in rankings.items()
    }
    plain = [name for name in measures if parse_measure(name).NAME != ALPHA_NDCG]
    values = run_values(labels, runs, plain, level, skips_empty=skips_empty) if plain else {}
    items = _subtopics(labels, level) if subtopics is None else subtopics
    for name in measures:
        if name not in values:
            values[name] = _alpha_values(name, items, rankings)
    holes = {system: _count_unlabelled(by_query, labels) for system, by_query in rankings.items()}
    return tuple(board(name, values[name], official, holes) for name in dict.fromkeys(measures))


def board(
    measure: str,
    values: Mapping[str, Mapping[str, float]],
    official: Mapping[str, float] | None = None,
    n_unlabelled: Mapping[str, int] | None = None,
) -> RubricBoard:
    """Rank systems by their means.

    Args:
        measure: The measure's name.
        values: System to query to value.
        official: Official scores; higher is better.
        n_unlabelled: See `RubricRow`.

    Example:
        >>> [row.rank for row in board("RR", {"a": {"q": 0.5}, "b": {"q": 1.0}}).rows]
        [1, 2]
    """
    means = {
        system: round(fmean(found.values()), N_DIGITS) if found else None
        for system, found in values.items()
    }
    order = sorted(means, key=lambda name: (_place(means[name]), name))
    known = [mean for mean in means.values() if mean is not None]
    rows = [
        RubricRow(
            system=name,
            rank=None if (own := means[name]) is None else 1 + sum(mean > own for mean in known),
            score=build_score(
                own, len(values[name]), interval=mean_interval(list(values[name].values()))
            ),
            score_se=standard_error(list(values[name].values())),
            official=_official_rank(name, official or {}),
            n_unlabelled=(n_unlabelled or {}).get(name, 0),
        )
        for name in order
    ]
    return RubricBoard(
        measure=measure,
        rows=tuple(rows),
        correlation=None if official is None else with_official(means, official),
        only_official=tuple(sorted((official or {}).keys() - means.keys())),
    )


def _official_rank(name: str, official: Mapping[str, float]) -> int | None:
    own = official.get(name)
    return None if own is None else 1 + sum(score > own for score in official.values())


def with_official(
    means: Mapping[str, float | None], official: Mapping[str, float]
) -> RankCorrelation:
    """Correlate means with official scores; systems that only one of them has are left out.

    The original stops where an official system has no mean.
    """
    systems = sorted(means.keys() | official.keys())
    ours, theirs = [means.get(s) for s in systems], [official.get(s) for s in systems]
    return correlate_scores(ours, theirs, are_systems=True)


def _place(mean: float | None) -> float:
    return float("inf") if mean is None else -mean


def _descending(ranks: Mapping[str, int]) -> dict[str, float]:
    """Return scores that keep the order: trec_eval breaks ties of scores by id."""
    return {name: float(-place) for place, name in enumerate(ranks)}


def _subtopics(
    labels: Mapping[str, Mapping[str, int]], level: int
) -> dict[str, dict[str, tuple[str, ...]]]:
    return {
        query: {name: (query,) if label >= level else () for name, label in found.items()}
        for query, found in labels.items()
    }


def _alpha_values(
    name: str, subtopics: Mapping[str, Mapping[str, Collection[str]]], rankings: Rankings
) -> dict[str, dict[str, float]]:
    params = {"cutoff": 20, "alpha": 0.5, **parse_measure(name).params}
    found: dict[str, dict[str, float]] = {system: {} for system in rankings}
    for query, passages in subtopics.items():
        for system, by_query in rankings.items():
            ranked = list(by_query.get(query, ()))
            value = alpha_ndcg(ranked, passages, params["cutoff"], params["alpha"])
            if value is not None:
                found[system][query] = value
    return found


def _count_unlabelled(
    by_query: Mapping[str, Mapping[str, int]], labels: Mapping[str, Mapping[str, int]]
) -> int:
    return sum(
        name not in labels[query]
        for query, ranks in by_query.items()
        if query in labels
        for name in list(ranks)[:JUDGED_DEPTH]
    )

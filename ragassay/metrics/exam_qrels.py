"""Rubric-Qrels: labels of passages from their grades by a test bank (Dietz 2024, 4.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragassay.formats.workbench.bank_items import RubricBank
from ragassay.formats.workbench.grades import GradeFilter, PassageGrade, grade_of
from ragassay.formats.workbench.paragraphs import QueryParagraphs

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
        queries: Graded passages.
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
        queries: Graded passages.
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

"""Oversee grading: what was extracted beside what was graded (Dietz 2024, section 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.formats.workbench.grades import (
    DIRECT,
    GradeFilter,
    PassageGrade,
    grade_of,
    grades_of,
)
from ragassay.formats.workbench.paragraphs import GradedParagraph, QueryParagraphs

Texts = Mapping[str, str]
"""Item to its text, as far as it is known."""


@dataclass(frozen=True)
class Relevance:
    """Says which passages are relevant.

    Attributes:
        min_relevant: The least judgment, or direct rating, that is relevant.
        direct: Where given, the direct grades that are taken in place of judgments: their rating,
            or 1 and 0 where they have none.
    """

    min_relevant: int = 1
    direct: GradeFilter | None = None

    def level(self, one: GradedParagraph) -> int | None:
        """Return the lowest of a passage's judgments, or its direct grade; None where unknown."""
        if self.direct is None:
            return min((j.relevance for j in one.paragraph_data.judgments), default=None)
        grade = grade_of(one, self.direct)
        if grade is None or grade.unscored:
            return None
        return int(bool(grade.correct)) if grade.ratings is None else grade.ratings.get(DIRECT)

    def is_relevant(self, one: GradedParagraph) -> bool | None:
        """Return whether a passage is relevant; None where unknown."""
        level = self.level(one)
        return None if level is None else level >= self.min_relevant


@dataclass(frozen=True)
class CheckedItem:
    """An item's grade of a passage, with what was extracted for it.

    Attributes:
        query_id: The query.
        item: The item's id.
        text: Its text; empty where unknown.
        paragraph_id: The passage.
        rating: None where unscored, or not rated.
        is_covered: None where unscored, or not graded.
        extracted: The text; None where no grade has one.
        relevance: The passage's judgment or direct rating; None where unknown.
        passage: Its text.
    """

    query_id: str
    item: str
    text: str
    paragraph_id: str
    rating: int | None
    is_covered: bool | None
    extracted: str | None
    relevance: int | None
    passage: str


def checked_items(
    queries: Sequence[QueryParagraphs],
    graded: GradeFilter,
    extracted: GradeFilter | None = None,
    min_rating: int | None = None,
    texts: Texts | None = None,
) -> tuple[CheckedItem, ...]:
    """Show what was extracted beside what was graded, item by item ("verify grading").

    Args:
        queries: Graded passages.
        graded: The grades to check; of several for a passage the first does.
        extracted: The grades whose answers are shown; by default the first grade of the same kind
            that is not self-rated, else the reply of the checked grade itself.
        min_rating: The least rating that covers an item; None takes what is marked as correct.
        texts: The items' texts; their order is the order of the result.

    Returns:
        By query and item; of an item the most surely covered passages first, the unscored last.

    Raises:
        InputError: A minimum is given and a grade has no ratings.
    """
    texts = texts or {}
    places = {item: i for i, item in enumerate(texts)}
    found: list[CheckedItem] = []
    for query in queries:
        rows: list[CheckedItem] = []
        for one in query.paragraphs:
            grade = grade_of(one, graded)
            if grade is not None:
                answers = _answers(one, grade, extracted)
                level = Relevance().level(one)
                rows += _checked(query.query_id, one, grade, answers, min_rating, texts, level)
        first_seen = {row.item: i for i, row in reversed(list(enumerate(rows)))}
        order = {item: (places.get(item, len(places)), seen) for item, seen in first_seen.items()}
        rows.sort(key=lambda row: (order[row.item], _sure(row)))
        found += rows
    return tuple(found)


def _sure(row: CheckedItem) -> tuple[int, int]:
    covered = {True: 0, False: 1, None: 2}[row.is_covered]
    return covered, -(row.rating or 0)


def _answers(one: GradedParagraph, grade: PassageGrade, extracted: GradeFilter | None) -> Texts:
    if extracted is not None:
        chosen = grade_of(one, extracted)
        return {} if chosen is None else chosen.answers
    same = GradeFilter(items=grade.kind, self_rated=False)
    return next((found.answers for found in grades_of(one, same)), grade.answers)


def _checked(
    query: str,
    one: GradedParagraph,
    grade: PassageGrade,
    answers: Texts,
    min_rating: int | None,
    texts: Texts,
    level: int | None,
) -> list[CheckedItem]:
    verdicts = grade.verdicts(min_rating, f"{query}/{one.paragraph_id}")
    ratings = grade.ratings or {}
    items = dict.fromkeys([*grade.answers, *verdicts])
    return [
        CheckedItem(
            query_id=query,
            item=item,
            text=texts.get(item, ""),
            paragraph_id=one.paragraph_id,
            rating=ratings.get(item),
            is_covered=verdicts.get(item),
            extracted=answers.get(item),
            relevance=level,
            passage=one.text,
        )
        for item in items
    ]


@dataclass(frozen=True)
class Grid:
    """The items of a query by its passages.

    Attributes:
        query_id: The query.
        items: The columns: items with their texts.
        passages: The rows, those with the highest grades first.
        cells: By passage and item; a missing one was not graded.
    """

    query_id: str
    items: Mapping[str, str]
    passages: tuple[str, ...]
    cells: Mapping[tuple[str, str], CheckedItem]


def grids(checked: Sequence[CheckedItem]) -> tuple[Grid, ...]:
    """Arrange grades by item and passage, query by query ("grid display").

    Args:
        checked: From `checked_items`.
    """
    by_query: dict[str, list[CheckedItem]] = {}
    for one in checked:
        by_query.setdefault(one.query_id, []).append(one)
    found: list[Grid] = []
    for query, rows in by_query.items():
        weight: dict[str, tuple[int, int]] = {}
        for one in rows:
            rating, covered = weight.get(one.paragraph_id, (0, 0))
            new = (rating + (one.rating or 0), covered + bool(one.is_covered))
            weight[one.paragraph_id] = new
        order = sorted(weight, key=lambda name: weight[name], reverse=True)
        items = {one.item: one.text for one in rows}
        cells = {(one.paragraph_id, one.item): one for one in rows}
        found.append(Grid(query, items, tuple(order), cells))
    return tuple(found)

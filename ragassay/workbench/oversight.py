"""Oversee grading and test bank: what is missing, what is of no use (Dietz 2024, 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.formats.workbench.paragraphs import GradedParagraph, QueryParagraphs
from ragassay.metrics.stats.intervals import build_score, share_interval
from ragassay.records import Score
from ragassay.workbench.grades import DIRECT, GradeFilter, PassageGrade, grade_of, grades_of

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
        text: Its text; empty where unknown.
        rating: None where unscored, or not rated.
        is_covered: None where unscored, or not graded.
        extracted: The text; None where no grade has one.
        relevance: The passage's judgment or direct rating; None where unknown.
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
                rows += _check_grade(query.query_id, one, grade, answers, min_rating, texts, level)
        first_seen = {row.item: i for i, row in reversed(list(enumerate(rows)))}
        order = {item: (places.get(item, len(places)), seen) for item, seen in first_seen.items()}
        rows.sort(key=lambda row: (order[row.item], _sort_key(row)))
        found += rows
    return tuple(found)


def _sort_key(row: CheckedItem) -> tuple[int, int]:
    covered = {True: 0, False: 1, None: 2}[row.is_covered]
    return covered, -(row.rating or 0)


def _answers(one: GradedParagraph, grade: PassageGrade, extracted: GradeFilter | None) -> Texts:
    if extracted is not None:
        chosen = grade_of(one, extracted)
        return {} if chosen is None else chosen.answers
    same = GradeFilter(items=grade.kind, self_rated=False)
    return next((found.answers for found in grades_of(one, same)), grade.answers)


def _check_grade(
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


ItemFinding = Literal["", "spurious", "any", "none"]


@dataclass(frozen=True)
class MissingPassage:
    """A relevant passage that no item covers.

    Attributes:
        relevance: Its judgment or direct rating.
        best_rating: The highest of its items; None without one.
        n_items: Items that it was graded by.
        n_unscored: Those that have no grade: one of them could cover it.
    """

    query_id: str
    paragraph_id: str
    relevance: int
    best_rating: int | None
    n_items: int
    n_unscored: int
    text: str


def missing_passages(
    queries: Sequence[QueryParagraphs],
    graded: GradeFilter,
    relevance: Relevance,
    min_rating: int | None = None,
) -> tuple[MissingPassage, ...]:
    """Return relevant passages that no item covers ("missing in test bank").

    Args:
        graded: The grades that count; of several for a passage the first does. A passage without
            one is left out: nobody asked what it covers.
        relevance: Says which passages are relevant.
        min_rating: The least rating that covers an item; None takes what is marked as correct.

    Returns:
        By query, the most relevant first.

    Raises:
        InputError: A minimum is given and a grade has no ratings.
    """
    found: list[MissingPassage] = []
    for query in queries:
        rows: list[MissingPassage] = []
        for one in query.paragraphs:
            grade, level = grade_of(one, graded), relevance.level(one)
            if grade is None or level is None or level < relevance.min_relevant:
                continue
            verdicts = grade.verdicts(min_rating, f"{query.query_id}/{one.paragraph_id}")
            if verdicts and not any(verdicts.values()):
                best = max((grade.ratings or {}).values(), default=None)
                row = MissingPassage(
                    query_id=query.query_id,
                    paragraph_id=one.paragraph_id,
                    relevance=level,
                    best_rating=best,
                    n_items=len(verdicts),
                    n_unscored=len(grade.unscored),
                    text=one.text,
                )
                rows.append(row)
        found += sorted(rows, key=lambda row: -row.relevance)
    return tuple(found)


@dataclass(frozen=True)
class ItemUse:
    """An item, and the share of passages that cover it.

    Attributes:
        text: Its text; empty where unknown.
        finding: "any" where every graded passage covers it, and not all are relevant; "spurious"
            where some non-relevant passage does; "none" where no passage does; else empty.
        n_other: Non-relevant passages that cover it.
        n_relevant: Relevant passages that cover it.
        other: Share of the non-relevant passages that cover it.
        relevant: Share of the relevant passages that cover it.
        every: Share of all graded passages, judged or not.
    """

    query_id: str
    item: str
    text: str
    finding: ItemFinding
    n_other: int
    n_relevant: int
    other: Score
    relevant: Score
    every: Score


def item_uses(
    queries: Sequence[QueryParagraphs],
    graded: GradeFilter,
    relevance: Relevance,
    min_rating: int | None = None,
    texts: Texts | None = None,
) -> tuple[ItemUse, ...]:
    """Count how often passages cover each item ("spurious test bank entries").

    Args:
        graded: The grades that count; of several for a passage the first does.
        relevance: Says which passages are relevant.
        min_rating: The least rating that covers an item; None takes what is marked as correct.

    Returns:
        Those that most non-relevant passages cover first.

    Raises:
        InputError: A minimum is given and a grade has no ratings.
    """
    found: list[ItemUse] = []
    for query in queries:
        verdicts: dict[str, list[tuple[bool | None, bool | None]]] = {}
        for one in query.paragraphs:
            grade = grade_of(one, graded)
            if grade is not None:
                place = f"{query.query_id}/{one.paragraph_id}"
                for item, is_covered in grade.verdicts(min_rating, place).items():
                    pair = relevance.is_relevant(one), is_covered
                    verdicts.setdefault(item, []).append(pair)
        rows = [
            _use(query.query_id, item, (texts or {}).get(item, ""), pairs)
            for item, pairs in verdicts.items()
        ]
        found += rows
    return tuple(sorted(found, key=lambda row: -row.n_other))


def _use(
    query: str, item: str, text: str, pairs: Sequence[tuple[bool | None, bool | None]]
) -> ItemUse:
    other = [covered for is_relevant, covered in pairs if is_relevant is False]
    relevant = [covered for is_relevant, covered in pairs if is_relevant]
    every = [covered for _, covered in pairs]
    finding: ItemFinding = ""
    if all(every) and len(relevant) < len(every):
        finding = "any"
    elif any(other):
        finding = "spurious"
    elif not any(every) and None not in every:
        finding = "none"
    return ItemUse(
        query_id=query,
        item=item,
        text=text,
        finding=finding,
        n_other=sum(map(bool, other)),
        n_relevant=sum(map(bool, relevant)),
        other=_share(other),
        relevant=_share(relevant),
        every=_share(every),
    )


def _share(verdicts: Sequence[bool | None]) -> Score:
    known = [verdict for verdict in verdicts if verdict is not None]
    hits, n_unscored = sum(known), len(verdicts) - len(known)
    total = len(verdicts)
    return build_score(
        hits / len(known) if known else None,
        len(known),
        n_unscored,
        share_interval(hits, len(known)),
        (hits / total, (hits + n_unscored) / total) if total else (None, None),
    )

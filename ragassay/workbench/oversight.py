"""Check grades and test banks for gaps and spurious items (Dietz 2024, 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.formats.workbench.paragraphs import GradedParagraph, QueryParagraphs
from ragassay.metrics.stats.intervals import build_score, compute_share_interval
from ragassay.records import Score
from ragassay.workbench.grades import DIRECT, GradeFilter, PassageGrade, find_grade

Texts = Mapping[str, str]
"""Texts of items or extracted texts, keyed by item id."""


@dataclass(frozen=True)
class Relevance:
    """Criterion by which a passage counts as relevant.

    Attributes:
        direct: Filter for direct grades to use instead of judgments. A direct grade without ratings
            counts as 1 if it is correct, otherwise as 0.
    """

    min_relevant: int = 1
    direct: GradeFilter | None = None

    def find_level(self, one: GradedParagraph) -> int | None:
        """Return the lowest judgment of a passage, or its direct grade. None if unknown."""
        if self.direct is None:
            return min((j.relevance for j in one.paragraph_data.judgments), default=None)
        grade = find_grade(one, self.direct)
        if grade is None or grade.unscored:
            return None
        return int(bool(grade.correct)) if grade.ratings is None else grade.ratings.get(DIRECT)

    def is_relevant(self, one: GradedParagraph) -> bool | None:
        """Return whether a passage is relevant, or None if unknown."""
        level = self.find_level(one)
        return None if level is None else level >= self.min_relevant


@dataclass(frozen=True)
class CheckedItem:
    """Grade of one item for one passage, with the extracted text.

    Attributes:
        text: Text of the item. Empty if unknown.
        rating: Rating of the item, or None if it has no rating.
        is_covered: Whether the passage covers the item, or None if there is no verdict.
        extracted: Text that the grader extracted from the passage, or None if there is none.
        relevance: Judgment or direct rating of the passage, or None if unknown.
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


def list_checked_items(
    queries: Sequence[QueryParagraphs],
    graded: GradeFilter,
    extracted: GradeFilter | None = None,
    min_rating: int | None = None,
    texts: Texts | None = None,
) -> tuple[CheckedItem, ...]:
    """Return the grade of each item and its extracted text for people to check ("verify grading").

    Args:
        graded: Filter that selects the first matching grade of each passage.
        extracted: Filter for the grades that contain the extracted answers. By default, the first
            grade of the same kind without ratings, or else the grade to check.
        min_rating: Lowest rating that covers an item, or None to use correctness.
        texts: Item texts, whose order is also that of the result.

    Returns:
        Grades by query and item. Those of an item are sorted from best to worst, with unscored
        passages last.

    Raises:
        InputError: `min_rating` is set and a grade has no ratings.
    """
    texts = texts or {}
    positions = {item: i for i, item in enumerate(texts)}
    checked: list[CheckedItem] = []
    for query in queries:
        rows: list[CheckedItem] = []
        for paragraph in query.paragraphs:
            grade = find_grade(paragraph, graded)
            if grade is not None:
                answers = _find_answers(paragraph, grade, extracted)
                rows += _check_grade(query.query_id, paragraph, grade, answers, min_rating, texts)
        seen = {item: i for i, item in enumerate(dict.fromkeys(row.item for row in rows))}
        rows.sort(
            key=lambda row: (
                positions.get(row.item, len(positions)),
                seen[row.item],
                _rank_checked_item(row),
            )
        )
        checked += rows
    return tuple(checked)


def _rank_checked_item(row: CheckedItem) -> tuple[int, int]:
    return {True: 0, False: 1, None: 2}[row.is_covered], -(row.rating or 0)


def _find_answers(
    paragraph: GradedParagraph, grade: PassageGrade, extracted: GradeFilter | None
) -> Texts:
    if extracted is not None:
        chosen = find_grade(paragraph, extracted)
        return {} if chosen is None else chosen.answers
    same_kind = GradeFilter(items=grade.kind, self_rated=False)
    return (find_grade(paragraph, same_kind) or grade).answers


def _check_grade(
    query: str,
    paragraph: GradedParagraph,
    grade: PassageGrade,
    answers: Texts,
    min_rating: int | None,
    texts: Texts,
) -> list[CheckedItem]:
    verdicts = grade.list_verdicts(min_rating, f"{query}/{paragraph.paragraph_id}")
    ratings = grade.ratings or {}
    level = Relevance().find_level(paragraph)
    return [
        CheckedItem(
            query_id=query,
            item=item,
            text=texts.get(item, ""),
            paragraph_id=paragraph.paragraph_id,
            rating=ratings.get(item),
            is_covered=verdicts.get(item),
            extracted=answers.get(item),
            relevance=level,
            passage=paragraph.text,
        )
        for item in dict.fromkeys([*grade.answers, *verdicts])
    ]


@dataclass(frozen=True)
class Grid:
    """Grades of a query in a grid of passages and items.

    Attributes:
        items: Item texts by id, one per column.
        passages: Passage ids, one per row. The passage with the highest grades is first.
        cells: Grades, keyed by passage id and item id. Items without a grade are left out.
    """

    query_id: str
    items: Mapping[str, str]
    passages: tuple[str, ...]
    cells: Mapping[tuple[str, str], CheckedItem]


def build_grids(checked: Sequence[CheckedItem]) -> tuple[Grid, ...]:
    """Arrange the grades of each query in a grid of passages and items ("grid display")."""
    by_query: dict[str, list[CheckedItem]] = {}
    for row in checked:
        by_query.setdefault(row.query_id, []).append(row)
    query_grids: list[Grid] = []
    for query, rows in by_query.items():
        totals: dict[str, tuple[int, int]] = {}
        for row in rows:
            rating, covered = totals.get(row.paragraph_id, (0, 0))
            totals[row.paragraph_id] = rating + (row.rating or 0), covered + bool(row.is_covered)
        order = sorted(totals, key=lambda name: totals[name], reverse=True)
        items = {row.item: row.text for row in rows}
        cells = {(row.paragraph_id, row.item): row for row in rows}
        query_grids.append(Grid(query, items, tuple(order), cells))
    return tuple(query_grids)


ItemFinding = Literal["", "spurious", "any", "none"]


@dataclass(frozen=True)
class MissingPassage:
    """A relevant passage that covers no item.

    Attributes:
        relevance: Judgment or direct rating of the passage.
        best_rating: Highest item rating, or None if there are no ratings.
        n_items: Number of items on which the passage was graded.
        n_unscored: Number of these items for which grading failed.
    """

    query_id: str
    paragraph_id: str
    relevance: int
    best_rating: int | None
    n_items: int
    n_unscored: int
    text: str


def find_missing_passages(
    queries: Sequence[QueryParagraphs],
    graded: GradeFilter,
    relevance: Relevance,
    min_rating: int | None = None,
) -> tuple[MissingPassage, ...]:
    """Return relevant passages that cover no item ("missing in test bank").

    Args:
        graded: Filter that selects the first matching grade of each passage. Passages without a
            matching grade are left out.
        min_rating: Lowest rating that covers an item, or None to use correctness.

    Returns:
        Passages of each query, the most relevant ones first.

    Raises:
        InputError: `min_rating` is set and a grade has no ratings.
    """
    missing: list[MissingPassage] = []
    for query in queries:
        rows: list[MissingPassage] = []
        for paragraph in query.paragraphs:
            grade, level = find_grade(paragraph, graded), relevance.find_level(paragraph)
            if grade is None or level is None or level < relevance.min_relevant:
                continue
            verdicts = grade.list_verdicts(min_rating, f"{query.query_id}/{paragraph.paragraph_id}")
            if verdicts and not any(verdicts.values()):
                row = MissingPassage(
                    query_id=query.query_id,
                    paragraph_id=paragraph.paragraph_id,
                    relevance=level,
                    best_rating=max((grade.ratings or {}).values(), default=None),
                    n_items=len(verdicts),
                    n_unscored=len(grade.unscored),
                    text=paragraph.text,
                )
                rows.append(row)
        missing += sorted(rows, key=lambda row: -row.relevance)
    return tuple(missing)


@dataclass(frozen=True)
class ItemUse:
    """Usefulness of an item, which depends on the passages that cover it.

    Attributes:
        text: Text of the item. Empty if unknown.
        finding: "any" if all graded passages cover the item but not all are relevant, "spurious"
            if a non-relevant passage covers it, "none" if no passage does, otherwise empty.
        n_other: Number of non-relevant passages that cover the item.
        n_relevant: Number of relevant passages that cover the item.
        other: Share of the non-relevant passages that cover the item.
        relevant: Share of the relevant passages that cover the item.
        every: Share of all graded passages, judged or not, that cover the item.
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


def count_item_uses(
    queries: Sequence[QueryParagraphs],
    graded: GradeFilter,
    relevance: Relevance,
    min_rating: int | None = None,
    texts: Texts | None = None,
) -> tuple[ItemUse, ...]:
    """Count the passages that cover each item ("spurious test bank entries").

    Args:
        graded: Filter that selects the first matching grade of each passage.
        min_rating: Lowest rating that covers an item, or None to use correctness.

    Returns:
        Items sorted by the number of non-relevant passages that cover them, highest first.

    Raises:
        InputError: `min_rating` is set and a grade has no ratings.
    """
    uses: list[ItemUse] = []
    for query in queries:
        verdicts: dict[str, list[tuple[bool | None, bool | None]]] = {}
        for paragraph in query.paragraphs:
            grade = find_grade(paragraph, graded)
            if grade is not None:
                label = f"{query.query_id}/{paragraph.paragraph_id}"
                for item, is_covered in grade.list_verdicts(min_rating, label).items():
                    pair = relevance.is_relevant(paragraph), is_covered
                    verdicts.setdefault(item, []).append(pair)
        uses += [
            _build_use(query.query_id, item, (texts or {}).get(item, ""), pairs)
            for item, pairs in verdicts.items()
        ]
    return tuple(sorted(uses, key=lambda use: -use.n_other))


def _build_use(
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
        other=_compute_share(other),
        relevant=_compute_share(relevant),
        every=_compute_share(every),
    )


def _compute_share(verdicts: Sequence[bool | None]) -> Score:
    known = [verdict for verdict in verdicts if verdict is not None]
    hits, n_unscored = sum(known), len(verdicts) - len(known)
    total = len(verdicts)
    return build_score(
        hits / len(known) if known else None,
        len(known),
        n_unscored,
        compute_share_interval(hits, len(known)),
        (hits / total, (hits + n_unscored) / total) if total else (None, None),
    )

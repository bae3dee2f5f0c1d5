"""Oversee a test bank: what is missing from it, and what is of no use (Dietz 2024, 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.formats.workbench.grades import GradeFilter, grade_of
from ragassay.formats.workbench.paragraphs import QueryParagraphs
from ragassay.metrics.intervals import mean_share_interval
from ragassay.metrics.oversight import Relevance, Texts
from ragassay.metrics.scoring import build_score
from ragassay.records import Score

ItemFinding = Literal["", "spurious", "any", "none"]


@dataclass(frozen=True)
class MissingPassage:
    """A relevant passage that no item covers.

    Attributes:
        query_id: The query.
        paragraph_id: The passage.
        relevance: Its judgment or direct rating.
        best_rating: The highest of its items; None without one.
        n_items: Items that it was graded by.
        n_unscored: Those that have no grade: one of them could cover it.
        text: The passage.
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
        queries: Graded passages.
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
        query_id: The query.
        item: The item's id.
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
        queries: Graded passages.
        graded: The grades that count; of several for a passage the first does.
        relevance: Says which passages are relevant.
        min_rating: The least rating that covers an item; None takes what is marked as correct.
        texts: The items' texts.

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
        mean_share_interval(hits, len(known)),
        (hits / total, (hits + n_unscored) / total) if total else (None, None),
    )

"""Merge graded files of several graders, and keep some of their grades."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from ragassay.errors import InputError
from ragassay.formats.workbench.grades import GradeFilter, GradeKind, kind_of, prompt_class_of
from ragassay.formats.workbench.paragraphs import (
    DirectGrade,
    ExamGrade,
    GradedParagraph,
    ParagraphData,
    ParagraphJudgment,
    ParagraphRanking,
    QueryParagraphs,
)

T = TypeVar("T")
Grade = TypeVar("Grade", ExamGrade, DirectGrade)


def filter_grades(
    queries: Sequence[QueryParagraphs], chosen: GradeFilter
) -> tuple[QueryParagraphs, ...]:
    """Return all passages, with the grades that a filter accepts only."""

    def kept(one: GradedParagraph) -> GradedParagraph:
        update = {
            name: None if grades is None else tuple(g for g in grades if chosen.accepts(g))
            for name, grades in (("exam_grades", one.exam_grades), ("grades", one.grades))
        }
        return one.model_copy(update=update)

    return tuple(QueryParagraphs(q.query_id, tuple(map(kept, q.paragraphs))) for q in queries)


def merge_grades(
    files: Iterable[Sequence[QueryParagraphs]], *, later_wins: bool = False
) -> tuple[QueryParagraphs, ...]:
    """Merge the grades that several graders gave to the same passages.

    Args:
        files: Queries of each file. Passages are matched by query and paragraph id; what only some
            files have is kept.
        later_wins: Whether a later file's grades replace an earlier one's of the same model, prompt
            class and kind. Without it they must be equal.

    Raises:
        InputError: A passage has different texts, judgments or ranks, or unequal grades of the
            same grader.
    """
    merged: dict[str, dict[str, GradedParagraph]] = {}
    for queries in files:
        for query in queries:
            known = merged.setdefault(query.query_id, {})
            for one in query.paragraphs:
                place = f"query {query.query_id!r}, passage {one.paragraph_id!r}"
                first = known.get(one.paragraph_id)
                new = one if first is None else _merged(first, one, place, later_wins)
                known[one.paragraph_id] = new
    return tuple(QueryParagraphs(q, tuple(known.values())) for q, known in merged.items())


def _merged(
    first: GradedParagraph, second: GradedParagraph, place: str, later_wins: bool
) -> GradedParagraph:
    if first.text != second.text:
        raise InputError(f"{place}: the texts differ: these are grades of other passages")
    one, two = first.paragraph_data, second.paragraph_data
    update = {
        "paragraph": second.paragraph if first.paragraph is None else first.paragraph,
        "paragraph_data": ParagraphData(
            judgments=_united(one.judgments, two.judgments, _judged, f"{place}: judgment"),
            rankings=_united(one.rankings, two.rankings, _ranked, f"{place}: rank"),
        ),
        "exam_grades": _grades(first.exam_grades, second.exam_grades, place, later_wins),
        "grades": _grades(first.grades, second.grades, place, later_wins),
    }
    return first.model_copy(update=update)


def _judged(judgment: ParagraphJudgment) -> Hashable:
    return judgment.query, judgment.title_query


def _ranked(ranking: ParagraphRanking) -> Hashable:
    return ranking.method, ranking.query_id


def _united(
    first: tuple[T, ...], second: tuple[T, ...], key: Callable[[T], Hashable], what: str
) -> tuple[T, ...]:
    known = {key(one): one for one in first}
    for one in second:
        if known.setdefault(key(one), one) != one:
            raise InputError(f"{what} {key(one)} differs between the files")
    new = {key(one) for one in first}
    return (*first, *(one for one in second if key(one) not in new))


def _grades(
    first: tuple[Grade, ...] | None,
    second: tuple[Grade, ...] | None,
    place: str,
    later_wins: bool,
) -> tuple[Grade, ...] | None:
    if first is None or second is None:
        return second if first is None else first
    groups = _by_grader(first)
    for grader, grades in _by_grader(second).items():
        if groups.setdefault(grader, grades) != grades:
            if not later_wins:
                raise InputError(
                    f"{place}: {grader[0] or 'a model'} graded by {grader[1] or 'a prompt'} "
                    "in two files, and the grades differ: give --later-wins to take the later ones"
                )
            groups[grader] = grades
    return tuple(grade for grades in groups.values() for grade in grades)


def _by_grader(grades: tuple[Grade, ...]) -> dict[tuple[str, str, GradeKind], tuple[Grade, ...]]:
    groups: dict[tuple[str, str, GradeKind], tuple[Grade, ...]] = {}
    for grade in grades:
        key = grade.llm, prompt_class_of(grade), kind_of(grade)
        groups[key] = (*groups.get(key, ()), grade)
    return groups

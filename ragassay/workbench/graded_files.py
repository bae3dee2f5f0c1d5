"""Merge graded files of several graders, keep some of their grades, count tentative labels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from ragassay.errors import InputError
from ragassay.formats.workbench.paragraphs import (
    DirectGrade,
    GradedParagraph,
    ParagraphData,
    ParagraphExamGrade,
    ParagraphJudgment,
    ParagraphRanking,
    QueryParagraphs,
    SelfRating,
)
from ragassay.workbench.grades import GradeFilter, GradeKind, kind_of, prompt_class_of


def with_tentative_ratings(queries: Sequence[QueryParagraphs]) -> tuple[QueryParagraphs, ...]:
    """Return all passages, each undecided item with its tentative rating.

    A single rating is then less sure than the grader asks for. Over many passages they may still
    separate systems.
    """
    return tuple(
        QueryParagraphs(q.query_id, tuple(map(_rate_tentatively, q.paragraphs))) for q in queries
    )


def _rate_tentatively(paragraph: GradedParagraph) -> GradedParagraph:
    grades = paragraph.exam_grades
    rated = None if grades is None else tuple(map(_add_tentative_ratings, grades))
    return paragraph.model_copy(update={"exam_grades": rated})


def _add_tentative_ratings(grade: ParagraphExamGrade) -> ParagraphExamGrade:
    known = {one.question_id or one.nugget_id for one in grade.self_ratings or ()}
    new = {
        item: rating
        for item, rating in (grade.tentative_ratings or {}).items()
        if item not in known
    }
    if not new:
        return grade
    id_field = f"{kind_of(grade)}_id"
    rows = [SelfRating.model_validate({id_field: i, "self_rating": r}) for i, r in new.items()]
    errors = {i: why for i, why in (grade.llm_response_errors or {}).items() if i not in new}
    right = [item for item, rating in new.items() if rating > 0]
    wrong = [item for item, rating in new.items() if rating == 0]
    return grade.model_copy(
        update={
            "self_ratings": (*(grade.self_ratings or ()), *rows),
            "correct_answered": (*grade.correct_answered, *right),
            "wrong_answered": (*grade.wrong_answered, *wrong),
            "llm_response_errors": errors or None,
        }
    )


T = TypeVar("T")
Grade = TypeVar("Grade", ParagraphExamGrade, DirectGrade)


def filter_grades(
    queries: Sequence[QueryParagraphs], chosen: GradeFilter
) -> tuple[QueryParagraphs, ...]:
    """Return all passages, with the grades that a filter accepts only."""

    def filter_one(one: GradedParagraph) -> GradedParagraph:
        update = {
            name: None if grades is None else tuple(g for g in grades if chosen.accepts(g))
            for name, grades in (("exam_grades", one.exam_grades), ("grades", one.grades))
        }
        return one.model_copy(update=update)

    return tuple(QueryParagraphs(q.query_id, tuple(map(filter_one, q.paragraphs))) for q in queries)


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
                new = one if first is None else _merge_paragraphs(first, one, place, later_wins)
                known[one.paragraph_id] = new
    return tuple(QueryParagraphs(q, tuple(known.values())) for q, known in merged.items())


def _merge_paragraphs(
    first: GradedParagraph, second: GradedParagraph, place: str, later_wins: bool
) -> GradedParagraph:
    if first.text != second.text:
        raise InputError(f"{place}: the texts differ: these are grades of other passages")
    one, two = first.paragraph_data, second.paragraph_data
    update = {
        "paragraph": second.paragraph if first.paragraph is None else first.paragraph,
        "paragraph_data": ParagraphData(
            judgments=_unite_by_key(
                one.judgments, two.judgments, _judgment_key, f"{place}: judgment"
            ),
            rankings=_unite_by_key(one.rankings, two.rankings, _ranking_key, f"{place}: rank"),
        ),
        "exam_grades": _grades(first.exam_grades, second.exam_grades, place, later_wins),
        "grades": _grades(first.grades, second.grades, place, later_wins),
    }
    return first.model_copy(update=update)


def _judgment_key(judgment: ParagraphJudgment) -> Hashable:
    return judgment.query, judgment.title_query


def _ranking_key(ranking: ParagraphRanking) -> Hashable:
    return ranking.method, ranking.query_id


def _unite_by_key(
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

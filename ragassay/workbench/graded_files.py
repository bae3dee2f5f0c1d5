"""Merge graded files, filter their grades, and use tentative ratings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from ragassay.errors import InputError
from ragassay.formats.workbench.paragraphs import (
    DirectGrade,
    GradedParagraph,
    ParagraphData,
    ParagraphExamGrade,
    QueryParagraphs,
    SelfRating,
)
from ragassay.workbench.grades import GradeFilter, GradeKind, get_prompt_class, infer_grade_kind


def rate_undecided_items(queries: Sequence[QueryParagraphs]) -> tuple[QueryParagraphs, ...]:
    """Return all passages, and rate undecided items with their tentative ratings.

    Tentative ratings do not have the required confidence, but their means may separate systems.
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
    id_field = f"{infer_grade_kind(grade)}_id"
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
    """Return all passages with only those grades that a filter accepts."""

    def filter_paragraph(paragraph: GradedParagraph) -> GradedParagraph:
        lists = {"exam_grades": paragraph.exam_grades, "grades": paragraph.grades}
        return paragraph.model_copy(
            update={
                name: None if grades is None else tuple(filter(chosen.accepts_grade, grades))
                for name, grades in lists.items()
            }
        )

    return tuple(
        QueryParagraphs(q.query_id, tuple(map(filter_paragraph, q.paragraphs))) for q in queries
    )


def merge_grades(
    files: Iterable[Sequence[QueryParagraphs]], *, later_wins: bool = False
) -> tuple[QueryParagraphs, ...]:
    """Merge the grades of several files.

    Args:
        files: Queries of each file. Passages with the same query and paragraph id are merged. A
            passage need not be in all files.
        later_wins: Whether grades in later files replace earlier grades with the same model, prompt
            class and kind, which otherwise must be equal.

    Raises:
        InputError: Two files give a passage different texts, judgments, ranks, or grades by the
            same grader.
    """
    merged: dict[str, dict[str, GradedParagraph]] = {}
    for queries in files:
        for query in queries:
            known = merged.setdefault(query.query_id, {})
            for new in query.paragraphs:
                first = known.get(new.paragraph_id)
                if first is not None:
                    label = f"query {query.query_id!r}, passage {new.paragraph_id!r}"
                    new = _merge_paragraphs(first, new, label, later_wins)
                known[new.paragraph_id] = new
    return tuple(QueryParagraphs(q, tuple(known.values())) for q, known in merged.items())


def _merge_paragraphs(
    first: GradedParagraph, second: GradedParagraph, label: str, later_wins: bool
) -> GradedParagraph:
    if first.text != second.text:
        raise InputError(f"{label}: the texts differ; the files grade different passages")
    data, more = first.paragraph_data, second.paragraph_data
    update = {
        "paragraph": second.paragraph if first.paragraph is None else first.paragraph,
        "paragraph_data": ParagraphData(
            judgments=_unite_by_key(
                *(data.judgments, more.judgments),
                lambda judgment: (judgment.query, judgment.title_query),
                f"{label}: judgment",
            ),
            rankings=_unite_by_key(
                *(data.rankings, more.rankings),
                lambda ranking: (ranking.method, ranking.query_id),
                f"{label}: rank",
            ),
        ),
        "exam_grades": _unite_grades(first.exam_grades, second.exam_grades, label, later_wins),
        "grades": _unite_grades(first.grades, second.grades, label, later_wins),
    }
    return first.model_copy(update=update)


def _unite_by_key(
    first: tuple[T, ...], second: tuple[T, ...], key: Callable[[T], Hashable], label: str
) -> tuple[T, ...]:
    known = {key(entry): entry for entry in first}
    first_keys = set(known)
    for entry in second:
        if known.setdefault(key(entry), entry) != entry:
            raise InputError(f"{label} {key(entry)} differs between the files")
    return (*first, *(entry for entry in second if key(entry) not in first_keys))


def _unite_grades(
    first: tuple[Grade, ...] | None,
    second: tuple[Grade, ...] | None,
    label: str,
    later_wins: bool,
) -> tuple[Grade, ...] | None:
    if first is None or second is None:
        return second if first is None else first
    groups = _group_by_grader(first)
    for grader, grades in _group_by_grader(second).items():
        if groups.setdefault(grader, grades) != grades:
            if not later_wins:
                raise InputError(
                    f"{label}: two files have different grades by {grader[0] or 'a model'} with "
                    f"{grader[1] or 'a prompt'}; pass --later-wins to use the later grades"
                )
            groups[grader] = grades
    return tuple(grade for grades in groups.values() for grade in grades)


def _group_by_grader(
    grades: tuple[Grade, ...],
) -> dict[tuple[str, str, GradeKind], tuple[Grade, ...]]:
    groups: dict[tuple[str, str, GradeKind], tuple[Grade, ...]] = {}
    for grade in grades:
        key = grade.llm, get_prompt_class(grade), infer_grade_kind(grade)
        groups[key] = (*groups.get(key, ()), grade)
    return groups

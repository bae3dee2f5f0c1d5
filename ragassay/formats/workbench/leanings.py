"""Count what a grader left undecided as it leant: for comparing systems, not single passages."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.formats.workbench.grades import kind_of
from ragassay.formats.workbench.paragraphs import (
    ExamGrade,
    GradedParagraph,
    QueryParagraphs,
    SelfRating,
)


def with_leanings(queries: Sequence[QueryParagraphs]) -> tuple[QueryParagraphs, ...]:
    """Return all passages, each undecided item rated as its grader leant.

    A single rating is then less sure than the grader vouches for. Over many passages they may still
    tell systems apart.
    """
    return tuple(QueryParagraphs(q.query_id, tuple(map(_leant, q.paragraphs))) for q in queries)


def _leant(paragraph: GradedParagraph) -> GradedParagraph:
    grades = paragraph.exam_grades
    rated = None if grades is None else tuple(map(_rated, grades))
    return paragraph.model_copy(update={"exam_grades": rated})


def _rated(grade: ExamGrade) -> ExamGrade:
    known = {one.question_id or one.nugget_id for one in grade.self_ratings or ()}
    new = {item: rating for item, rating in (grade.leanings or {}).items() if item not in known}
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

"""From verdicts to the grades of a graded file: what the Workbench's own tools read.

The names of prompt classes are the Workbench's, by which its tools choose grades; the prompts
behind them are ragassay's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from ragassay.formats.workbench.grades import prompt_class_of
from ragassay.formats.workbench.paragraphs import DirectGrade, ExamGrade, GradedParagraph
from ragassay.records import DirectGrader, ExamItem, ItemKind, RelevanceGrade
from ragassay.records import ExamGrade as Verdict
from ragassay.records import ExamGrader as Way

G = TypeVar("G", ExamGrade, DirectGrade)

PROMPT_CLASSES: Mapping[tuple[Way, ItemKind], str] = {
    ("rating", "question"): "QuestionSelfRatedUnanswerablePromptWithChoices",
    ("rating", "nugget"): "NuggetSelfRatedPrompt",
    ("extraction", "question"): "QuestionCompleteConciseUnanswerablePromptWithChoices",
    ("extraction", "nugget"): "NuggetExtractionPrompt",
}
WITH_KEY = "QuestionCompleteConcisePromptWithAnswerKey2"
"""The class of an extraction for questions of which right answers are known."""

DIRECT_CLASSES: Mapping[DirectGrader, str] = {
    "fagb": "FagB",
    "fagb_few": "FagB_few",
    "sun": "Sun",
    "sun_few": "Sun_few",
    "helm": "HELM",
    "thomas": "Thomas",
}

LIKE_ORIGINAL = 1
"""What the original makes of a grade that it cannot read: this rating, and a correct answer."""


def graded(
    paragraph: GradedParagraph,
    items: Sequence[ExamItem],
    grades: Iterable[Verdict],
    relevance: Iterable[RelevanceGrade],
    model: str,
    *,
    like_original: bool = False,
) -> GradedParagraph:
    """Return a paragraph with grades added; earlier ones of the same model and prompt class go.

    An item without a grade stands in `llm_response_errors`, and neither among the correct nor the
    wrong ones: the original rates it 1 and calls it correct, as `like_original` does.

    Args:
        paragraph: The paragraph, with the grades that it has.
        items: The items of its query's bank.
        grades: Verdicts on these items.
        relevance: Direct grades.
        model: Name of what graded.
        like_original: Whether to treat what has no grade as the original does.
    """
    known = {item.id: item for item in items}
    groups: dict[tuple[str, ItemKind], list[Verdict]] = {}
    for grade in grades:
        item = known[grade.exam_item]
        groups.setdefault((_class_of(grade, item), item.kind), []).append(grade)
    exams = [
        _exam_grade([_as_original(g) for g in group] if like_original else group, *key, model)
        for key, group in groups.items()
    ]
    direct = [_direct_grade(grade, model, like_original) for grade in relevance]
    update = {
        "exam_grades": _superseded(paragraph.exam_grades or (), exams),
        "grades": _superseded(paragraph.grades or (), direct),
    }
    return paragraph.model_copy(update={k: v for k, v in update.items() if v})


def _superseded(earlier: Sequence[G], new: Sequence[G]) -> tuple[G, ...]:
    """Return earlier grades, but those that new ones take the place of, and the new ones."""
    graders = {(grade.llm, prompt_class_of(grade)) for grade in new}
    kept = (grade for grade in earlier if (grade.llm, prompt_class_of(grade)) not in graders)
    return (*kept, *new)


def _class_of(grade: Verdict, item: ExamItem) -> str:
    has_key = grade.grader == "extraction" and item.kind == "question" and item.answers
    return WITH_KEY if has_key else PROMPT_CLASSES[grade.grader, item.kind]


def _as_original(grade: Verdict) -> Verdict:
    """Return what the original makes of a grade that could not be had."""
    if grade.failure is None or grade.is_undecided:
        return grade
    rating = LIKE_ORIGINAL if grade.grader == "rating" else None
    return grade.model_copy(update={"failure": None, "rating": rating, "is_correct": True})


def _exam_grade(grades: Sequence[Verdict], name: str, kind: ItemKind, model: str) -> ExamGrade:
    scored = [grade for grade in grades if grade.failure is None]
    correct = tuple(grade.exam_item for grade in scored if grade.is_correct)
    is_rated = grades[0].grader == "rating"
    ratings = [
        {f"{kind}_id": grade.exam_item, "self_rating": grade.rating}
        for grade in scored
        if grade.rating is not None
    ]
    errors = {
        grade.exam_item: {"failure_reason": _reason(grade), "caught_exception": None}
        for grade in grades
        if grade.failure is not None
    }
    leanings = {
        grade.exam_item: grade.leaning_rating
        for grade in grades
        if grade.leaning_rating is not None
    }
    return ExamGrade.model_validate(
        {
            "correctAnswered": correct,
            "wrongAnswered": tuple(g.exam_item for g in scored if not g.is_correct),
            "answers": tuple((g.exam_item, _text(g)) for g in scored),
            "llm": model,
            "llm_options": {},
            "exam_ratio": len(correct) / len(scored) if scored else 0.0,
            "prompt_info": _info(name, is_rated),
            "prompt_type": kind,
        }
        | ({"self_ratings": ratings} if is_rated else {})
        | ({"llm_response_errors": errors} if errors else {})
        | ({"leanings": leanings} if leanings else {})
    )


def _text(grade: Verdict) -> str:
    """Return what the original keeps as the grader's words: the answer, else the rating."""
    return grade.answer or (str(grade.rating) if grade.rating is not None else "")


def _reason(grade: Verdict) -> str:
    failure = grade.failure
    return ": ".join(filter(None, (failure.reason, failure.detail))) if failure else ""


def _direct_grade(grade: RelevanceGrade, model: str, like_original: bool) -> DirectGrade:
    is_lost = grade.failure is not None
    taken = like_original and is_lost and not grade.is_undecided
    fields: dict[str, object] = {
        "correctAnswered": bool(grade.is_relevant) or taken,
        "self_ratings": LIKE_ORIGINAL if taken else grade.rating,
        "answer": "" if grade.rating is None else str(grade.rating),
        "llm": model,
        "llm_options": {},
        "prompt_info": _info(DIRECT_CLASSES[grade.grader], True),
        "prompt_type": "direct_grading",
    }
    if is_lost and not taken and grade.failure:
        fields["llm_response_error"] = grade.failure.reason
    return DirectGrade.model_validate({k: v for k, v in fields.items() if v is not None})


def _info(name: str, is_rated: bool) -> dict[str, object]:
    return {
        "prompt_class": name,
        "prompt_style": "ragassay",
        "context_first": True,
        "check_unanswerable": True,
        "check_answer_key": name == WITH_KEY,
        "is_self_rated": is_rated,
    }

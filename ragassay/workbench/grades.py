"""Read and filter the grades in graded files, and build grades from verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from ragassay.errors import InputError
from ragassay.formats.workbench.paragraphs import DirectGrade, GradedParagraph, ParagraphExamGrade
from ragassay.records import DirectGrader, ExamItem, ItemKind, RelevanceGrade
from ragassay.records import ExamGrade as Verdict
from ragassay.records import ExamGrader as Way

GradeKind = Literal["question", "nugget", "direct"]

DIRECT = "direct"
"""Kind of a direct grade, and id of the only item of such a grade."""

BEFORE_CLASSES = "QuestionPromptWithChoices"
"""Prompt class of grades without `prompt_info`, because they are older than this field."""


@dataclass(frozen=True)
class PassageGrade:
    """Grade of a passage by one grader.

    Attributes:
        model: Name of the grading model. May be empty.
        prompt_class: Name of the prompt class. May be empty.
        correct: Ids of the items that the passage covers, without duplicates.
        wrong: Ids of the items that the passage does not cover, without duplicates.
        ratings: Highest rating of each item, or None if the grader assigns no ratings.
        unscored: Ids of items without a grade.
        answers: Extracted answer, or the model's reply, for each item.
    """

    kind: GradeKind
    model: str = ""
    prompt_class: str = ""
    correct: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    ratings: Mapping[str, int] | None = None
    unscored: tuple[str, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)

    def check_cover(self, min_rating: int | None = None) -> dict[str, bool | None]:
        """Return whether the passage covers each item, or None for unscored items.

        Args:
            min_rating: Lowest rating that covers an item, or None to use correctness.

        Returns:
            Verdict on each item (empty if `min_rating` is set and there are no ratings).
        """
        if min_rating is None:
            verdicts = dict.fromkeys(self.wrong, False) | dict.fromkeys(self.correct, True)
        elif self.ratings is None:
            return {}
        else:
            verdicts = {item: rating >= min_rating for item, rating in self.ratings.items()}
        return verdicts | dict.fromkeys(self.unscored, None)

    def list_verdicts(self, min_rating: int | None, place: str) -> dict[str, bool | None]:
        """Return the result of `check_cover`, but raise an error if ratings are needed and missing.

        Args:
            min_rating: See `check_cover`.
            place: Label of the passage for the error message.

        Raises:
            InputError: `min_rating` is set and there are no ratings.
        """
        if min_rating is not None:
            self.require_ratings(place)
        return self.check_cover(min_rating)

    def require_ratings(self, place: str) -> Mapping[str, int]:
        """Return the ratings.

        Raises:
            InputError: The grade has no ratings.
        """
        if self.ratings is None:
            raise InputError(
                f"{place}: the grades produced by {self.model or 'this model'} with "
                f"{self.prompt_class or 'this prompt'} include no ratings; select a self-rated "
                "prompt class, or use correctness instead of ratings"
            )
        return self.ratings


@dataclass(frozen=True)
class GradeFilter:
    """Filter for grades. A field that is empty or None accepts all grades.

    If `prompt_class` is set, grades without a prompt class are rejected, which the original
    workbench accepts.

    Attributes:
        self_rated: Whether to accept only grades with (True) or without (False) ratings from 0 to
            5.
    """

    model: str = ""
    prompt_class: str = ""
    items: GradeKind | None = None
    self_rated: bool | None = None

    def accepts_grade(self, grade: ParagraphExamGrade | DirectGrade) -> bool:
        """Return whether the filter accepts a grade."""
        return (
            self.model in ("", grade.llm)
            and self.prompt_class in ("", get_prompt_class(grade))
            and self.items in (None, infer_grade_kind(grade))
            and self.self_rated in (None, is_self_rated(grade))
        )

    def __str__(self) -> str:
        rated = {None: "", True: "self-rated", False: "not self-rated"}[self.self_rated]
        parts = (self.items or "", rated, self.prompt_class, self.model and f"by {self.model}")
        return " ".join(part for part in parts if part) or "any"


def get_prompt_class(grade: ParagraphExamGrade | DirectGrade) -> str:
    """Return the prompt class of a grade, or an empty string if it is missing."""
    if grade.prompt_info is None:
        return BEFORE_CLASSES
    name = grade.prompt_info.get("prompt_class")
    return name if isinstance(name, str) else ""


def infer_grade_kind(grade: ParagraphExamGrade | DirectGrade) -> GradeKind:
    """Return the kind of a grade, inferred from its ratings or prompt class if not given."""
    if isinstance(grade, DirectGrade):
        return "direct"
    if grade.prompt_type in ("question", "nugget"):
        return "nugget" if grade.prompt_type == "nugget" else "question"
    has_nuggets = any(rating.nugget_id is not None for rating in grade.self_ratings or ())
    return "nugget" if has_nuggets or "Nugget" in get_prompt_class(grade) else "question"


def is_self_rated(grade: ParagraphExamGrade | DirectGrade) -> bool:
    """Return whether the items of a grade were rated, even if every rating failed."""
    info = grade.prompt_info or {}
    return grade.self_ratings is not None or info.get("is_self_rated") is True


def select_grades(paragraph: GradedParagraph, chosen: GradeFilter) -> tuple[PassageGrade, ...]:
    """Return the grades of a passage that a filter accepts, with direct grades last."""
    grades = (*(paragraph.exam_grades or ()), *(paragraph.grades or ()))
    return tuple(_parse_grade(grade) for grade in grades if chosen.accepts_grade(grade))


def find_grade(paragraph: GradedParagraph, chosen: GradeFilter) -> PassageGrade | None:
    """Return the first grade of a passage that a filter accepts, or None if it accepts none.

    As in the original workbench, further grades are ignored. Filter by model and prompt class to
    choose a grader.
    """
    grades = (*(paragraph.exam_grades or ()), *(paragraph.grades or ()))
    return next((_parse_grade(grade) for grade in grades if chosen.accepts_grade(grade)), None)


def _parse_grade(grade: ParagraphExamGrade | DirectGrade) -> PassageGrade:
    if isinstance(grade, DirectGrade):
        return _parse_direct(grade)
    ratings: dict[str, int] = {}
    for row in grade.self_ratings or ():
        item = row.question_id or row.nugget_id or ""
        ratings[item] = max(row.self_rating, ratings.get(item, row.self_rating))
    correct = dict.fromkeys(grade.correct_answered)
    wrong = [item for item in dict.fromkeys(grade.wrong_answered) if item not in correct]
    graded = {*correct, *wrong, *ratings}
    return PassageGrade(
        kind=infer_grade_kind(grade),
        model=grade.llm,
        prompt_class=get_prompt_class(grade),
        correct=tuple(correct),
        wrong=tuple(wrong),
        ratings=ratings if is_self_rated(grade) else None,
        unscored=tuple(item for item in grade.llm_response_errors or {} if item not in graded),
        answers=dict(grade.answers),
    )


def _parse_direct(grade: DirectGrade) -> PassageGrade:
    is_scored = grade.llm_response_error is None
    rating = grade.self_ratings if is_scored else None
    return PassageGrade(
        kind="direct",
        model=grade.llm,
        prompt_class=get_prompt_class(grade),
        correct=(DIRECT,) if is_scored and grade.correct_answered else (),
        wrong=(DIRECT,) if is_scored and not grade.correct_answered else (),
        ratings=({} if rating is None else {DIRECT: rating}) if is_self_rated(grade) else None,
        unscored=() if is_scored else (DIRECT,),
        answers={DIRECT: grade.answer},
    )


G = TypeVar("G", ParagraphExamGrade, DirectGrade)

PROMPT_CLASSES: Mapping[tuple[Way, ItemKind], str] = {
    ("rating", "question"): "QuestionSelfRatedUnanswerablePromptWithChoices",
    ("rating", "nugget"): "NuggetSelfRatedPrompt",
    ("extraction", "question"): "QuestionCompleteConciseUnanswerablePromptWithChoices",
    ("extraction", "nugget"): "NuggetExtractionPrompt",
}
WITH_KEY = "QuestionCompleteConcisePromptWithAnswerKey2"
"""Prompt class for extracting answers to questions with known answers."""

DIRECT_CLASSES: Mapping[DirectGrader, str] = {
    "fagb": "FagB",
    "fagb_few": "FagB_few",
    "sun": "Sun",
    "sun_few": "Sun_few",
    "helm": "HELM",
    "thomas": "Thomas",
}

LIKE_ORIGINAL = 1
"""Rating that the original workbench gives to unreadable grades, which it also marks as correct."""


def add_grades(
    paragraph: GradedParagraph,
    items: Sequence[ExamItem],
    grades: Iterable[Verdict],
    relevance: Iterable[RelevanceGrade],
    model: str,
    *,
    like_original: bool = False,
) -> GradedParagraph:
    """Add grades to a paragraph, and replace earlier grades of the same model and prompt class.

    Items without a grade are listed in `llm_response_errors`, and are neither correct nor wrong.

    Args:
        like_original: Whether to rate failed grades 1 and mark them as correct, as the original
            workbench does.
    """
    known = {item.id: item for item in items}
    groups: dict[tuple[str, ItemKind], list[Verdict]] = {}
    for grade in grades:
        item = known[grade.exam_item]
        groups.setdefault((_choose_prompt_class(grade, item), item.kind), []).append(grade)
    exams = [
        _build_exam_grade(list(map(_recover, group)) if like_original else group, *key, model)
        for key, group in groups.items()
    ]
    direct = [_build_direct_grade(grade, model, like_original) for grade in relevance]
    update = {
        "exam_grades": _replace_grades(paragraph.exam_grades or (), exams),
        "grades": _replace_grades(paragraph.grades or (), direct),
    }
    return paragraph.model_copy(update={k: v for k, v in update.items() if v})


def _replace_grades(earlier: Sequence[G], new: Sequence[G]) -> tuple[G, ...]:
    graders = {(grade.llm, get_prompt_class(grade)) for grade in new}
    kept = (grade for grade in earlier if (grade.llm, get_prompt_class(grade)) not in graders)
    return (*kept, *new)


def _choose_prompt_class(grade: Verdict, item: ExamItem) -> str:
    has_key = grade.grader == "extraction" and item.kind == "question" and item.answers
    return WITH_KEY if has_key else PROMPT_CLASSES[grade.grader, item.kind]


def _recover(grade: Verdict) -> Verdict:
    """Replace a failed grade with a correct one, as the original workbench does."""
    if grade.failure is None or grade.is_undecided:
        return grade
    rating = LIKE_ORIGINAL if grade.grader == "rating" else None
    return grade.model_copy(update={"failure": None, "rating": rating, "is_correct": True})


def _build_exam_grade(
    grades: Sequence[Verdict], name: str, kind: ItemKind, model: str
) -> ParagraphExamGrade:
    scored = [grade for grade in grades if grade.failure is None]
    correct = tuple(grade.exam_item for grade in scored if grade.is_correct)
    is_rated = grades[0].grader == "rating"
    ratings = [
        {f"{kind}_id": grade.exam_item, "self_rating": grade.rating}
        for grade in scored
        if grade.rating is not None
    ]
    errors = {
        grade.exam_item: {"failure_reason": _describe_failure(grade), "caught_exception": None}
        for grade in grades
        if grade.failure is not None
    }
    tentative_ratings = {
        grade.exam_item: grade.tentative_rating
        for grade in grades
        if grade.tentative_rating is not None
    }
    return ParagraphExamGrade.model_validate(
        {
            "correctAnswered": correct,
            "wrongAnswered": tuple(g.exam_item for g in scored if not g.is_correct),
            "answers": tuple((g.exam_item, _format_answer(g)) for g in scored),
            "llm": model,
            "llm_options": {},
            "exam_ratio": len(correct) / len(scored) if scored else 0.0,
            "prompt_info": _build_prompt_info(name, is_rated),
            "prompt_type": kind,
        }
        | ({"self_ratings": ratings} if is_rated else {})
        | ({"llm_response_errors": errors} if errors else {})
        | ({"tentative_ratings": tentative_ratings} if tentative_ratings else {})
    )


def _format_answer(grade: Verdict) -> str:
    return grade.answer or (str(grade.rating) if grade.rating is not None else "")


def _describe_failure(grade: Verdict) -> str:
    failure = grade.failure
    return ": ".join(filter(None, (failure.reason, failure.detail))) if failure else ""


def _build_direct_grade(grade: RelevanceGrade, model: str, like_original: bool) -> DirectGrade:
    is_recovered = like_original and grade.failure is not None and not grade.is_undecided
    fields: dict[str, object] = {
        "correctAnswered": bool(grade.is_relevant) or is_recovered,
        "self_ratings": LIKE_ORIGINAL if is_recovered else grade.rating,
        "answer": "" if grade.rating is None else str(grade.rating),
        "llm": model,
        "llm_options": {},
        "prompt_info": _build_prompt_info(DIRECT_CLASSES[grade.grader], True),
        "prompt_type": "direct_grading",
    }
    if grade.failure and not is_recovered:
        fields["llm_response_error"] = grade.failure.reason
    return DirectGrade.model_validate({k: v for k, v in fields.items() if v is not None})


def _build_prompt_info(name: str, is_rated: bool) -> dict[str, object]:
    return {
        "prompt_class": name,
        "prompt_style": "ragassay",
        "context_first": True,
        "check_unanswerable": True,
        "check_answer_key": name == WITH_KEY,
        "is_self_rated": is_rated,
    }

"""The grades of a graded file: choose and read them, and make them from verdicts."""

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
"""The kind of a direct grade, and the id of its only item."""

BEFORE_CLASSES = "QuestionPromptWithChoices"
"""The prompt class of a grade that has no `prompt_info`: the only one when none was written."""


@dataclass(frozen=True)
class PassageGrade:
    """One grader's grade of a passage, item by item.

    Attributes:
        model: The grading model; may be empty.
        prompt_class: May be empty.
        correct: Items that the passage covers, each once.
        wrong: Items that it does not cover, each once.
        ratings: Item to rating, the highest where it has several; None where nothing was rated.
        unscored: Items that were asked and have no grade.
        answers: Item to what was extracted or replied.
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
        """Return whether the passage covers each item; None for an unscored item.

        Args:
            min_rating: The least rating that covers an item; None takes what the file says is
                correct.

        Returns:
            Empty where a rating is asked for and nothing was rated.
        """
        if min_rating is None:
            found = dict.fromkeys(self.wrong, False) | dict.fromkeys(self.correct, True)
        elif self.ratings is None:
            return {}
        else:
            found = {item: rating >= min_rating for item, rating in self.ratings.items()}
        return found | dict.fromkeys(self.unscored, None)

    def verdicts(self, min_rating: int | None, place: str) -> dict[str, bool | None]:
        """Return what `covered` does, where the minimum makes sense.

        Args:
            min_rating: See `covered`.
            place: The passage, for the error.

        Raises:
            InputError: A minimum is given and nothing was rated.
        """
        if min_rating is not None:
            self.require_ratings(place)
        return self.check_cover(min_rating)

    def require_ratings(self, place: str) -> Mapping[str, int]:
        """Return the ratings.

        Raises:
            InputError: Nothing was rated.
        """
        if self.ratings is None:
            raise InputError(
                f"{place}: the grades of {self.prompt_class or 'this prompt'} by "
                f"{self.model or 'this model'} have no ratings: choose a self-rated class of "
                "prompts, or go by what is marked as correct"
            )
        return self.ratings


@dataclass(frozen=True)
class GradeFilter:
    """Says which grades count; an empty field allows all.

    The original also lets a grade pass whose `prompt_info` has no class, whatever is asked for;
    here the class must be equal.

    Attributes:
        items: What was graded by.
        self_rated: Whether items were rated from 0 to 5.
    """

    model: str = ""
    prompt_class: str = ""
    items: GradeKind | None = None
    self_rated: bool | None = None

    def accepts(self, grade: ParagraphExamGrade | DirectGrade) -> bool:
        """Return whether a grade counts."""
        return (
            self.model in ("", grade.llm)
            and self.prompt_class in ("", prompt_class_of(grade))
            and self.items in (None, kind_of(grade))
            and self.self_rated in (None, is_self_rated(grade))
        )

    def __str__(self) -> str:
        rated = {None: "", True: "self-rated", False: "not self-rated"}[self.self_rated]
        parts = (self.items or "", rated, self.prompt_class, self.model and f"by {self.model}")
        return " ".join(part for part in parts if part) or "any"


def prompt_class_of(grade: ParagraphExamGrade | DirectGrade) -> str:
    """Return the class of the prompt; empty where `prompt_info` does not have it."""
    if grade.prompt_info is None:
        return BEFORE_CLASSES
    name = grade.prompt_info.get("prompt_class")
    return name if isinstance(name, str) else ""


def kind_of(grade: ParagraphExamGrade | DirectGrade) -> GradeKind:
    """Return what a passage was graded by; where the file does not say, by what its ids are of."""
    if isinstance(grade, DirectGrade):
        return "direct"
    if grade.prompt_type in ("question", "nugget"):
        return "nugget" if grade.prompt_type == "nugget" else "question"
    has_nuggets = any(rating.nugget_id is not None for rating in grade.self_ratings or ())
    return "nugget" if has_nuggets or "Nugget" in prompt_class_of(grade) else "question"


def is_self_rated(grade: ParagraphExamGrade | DirectGrade) -> bool:
    """Return whether items were rated; also true where every rating failed."""
    info = grade.prompt_info or {}
    return grade.self_ratings is not None or info.get("is_self_rated") is True


def grades_of(paragraph: GradedParagraph, chosen: GradeFilter) -> tuple[PassageGrade, ...]:
    """Return the grades of a passage that a filter accepts: by items first, then direct ones."""
    every = (*(paragraph.exam_grades or ()), *(paragraph.grades or ()))
    return tuple(_passage_grade(grade) for grade in every if chosen.accepts(grade))


def grade_of(paragraph: GradedParagraph, chosen: GradeFilter) -> PassageGrade | None:
    """Return the first grade of a passage that a filter accepts; None where there is none.

    A passage may have several that do, as of several models; like the original, the first counts:
    choose by model and prompt class where that matters.
    """
    every = (*(paragraph.exam_grades or ()), *(paragraph.grades or ()))
    found = next((grade for grade in every if chosen.accepts(grade)), None)
    return None if found is None else _passage_grade(found)


def _passage_grade(grade: ParagraphExamGrade | DirectGrade) -> PassageGrade:
    if isinstance(grade, DirectGrade):
        return _direct(grade)
    ratings: dict[str, int] = {}
    for one in grade.self_ratings or ():
        item = one.question_id or one.nugget_id or ""
        ratings[item] = max(one.self_rating, ratings.get(item, one.self_rating))
    correct = dict.fromkeys(grade.correct_answered)
    wrong = [item for item in dict.fromkeys(grade.wrong_answered) if item not in correct]
    graded = {*correct, *wrong, *ratings}
    return PassageGrade(
        kind=kind_of(grade),
        model=grade.llm,
        prompt_class=prompt_class_of(grade),
        correct=tuple(correct),
        wrong=tuple(wrong),
        ratings=ratings if is_self_rated(grade) else None,
        unscored=tuple(x for x in grade.llm_response_errors or {} if x not in graded),
        answers=dict(grade.answers),
    )


def _direct(grade: DirectGrade) -> PassageGrade:
    known = grade.llm_response_error is None
    rating = grade.self_ratings if known else None
    return PassageGrade(
        kind="direct",
        model=grade.llm,
        prompt_class=prompt_class_of(grade),
        correct=(DIRECT,) if known and grade.correct_answered else (),
        wrong=(DIRECT,) if known and not grade.correct_answered else (),
        ratings=({} if rating is None else {DIRECT: rating}) if is_self_rated(grade) else None,
        unscored=() if known else (DIRECT,),
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


def add_grades(
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
        "exam_grades": _replace_grades(paragraph.exam_grades or (), exams),
        "grades": _replace_grades(paragraph.grades or (), direct),
    }
    return paragraph.model_copy(update={k: v for k, v in update.items() if v})


def _replace_grades(earlier: Sequence[G], new: Sequence[G]) -> tuple[G, ...]:
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


def _exam_grade(
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
        grade.exam_item: {"failure_reason": _reason(grade), "caught_exception": None}
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
            "answers": tuple((g.exam_item, _text(g)) for g in scored),
            "llm": model,
            "llm_options": {},
            "exam_ratio": len(correct) / len(scored) if scored else 0.0,
            "prompt_info": _info(name, is_rated),
            "prompt_type": kind,
        }
        | ({"self_ratings": ratings} if is_rated else {})
        | ({"llm_response_errors": errors} if errors else {})
        | ({"tentative_ratings": tentative_ratings} if tentative_ratings else {})
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

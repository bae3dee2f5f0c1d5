"""Choose grades of a graded file, and read what they say of each item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ragassay.errors import InputError
from ragassay.formats.workbench.paragraphs import DirectGrade, ExamGrade, GradedParagraph

GradeKind = Literal["question", "nugget", "direct"]

DIRECT = "direct"
"""The kind of a direct grade, and the id of its only item."""

BEFORE_CLASSES = "QuestionPromptWithChoices"
"""The prompt class of a grade that has no `prompt_info`: the only one when none was written."""


@dataclass(frozen=True)
class PassageGrade:
    """One grader's grade of a passage, item by item.

    Attributes:
        kind: What the passage was graded by.
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

    def covered(self, min_rating: int | None = None) -> dict[str, bool | None]:
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
        return self.covered(min_rating)

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
        model: The grading model.
        prompt_class: The class of the grading prompt.
        items: What was graded by.
        self_rated: Whether items were rated from 0 to 5.
    """

    model: str = ""
    prompt_class: str = ""
    items: GradeKind | None = None
    self_rated: bool | None = None

    def accepts(self, grade: ExamGrade | DirectGrade) -> bool:
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


def prompt_class_of(grade: ExamGrade | DirectGrade) -> str:
    """Return the class of the prompt; empty where `prompt_info` does not have it."""
    if grade.prompt_info is None:
        return BEFORE_CLASSES
    name = grade.prompt_info.get("prompt_class")
    return name if isinstance(name, str) else ""


def kind_of(grade: ExamGrade | DirectGrade) -> GradeKind:
    """Return what a passage was graded by; where the file does not say, by what its ids are of."""
    if isinstance(grade, DirectGrade):
        return "direct"
    if grade.prompt_type in ("question", "nugget"):
        return "nugget" if grade.prompt_type == "nugget" else "question"
    has_nuggets = any(rating.nugget_id is not None for rating in grade.self_ratings or ())
    return "nugget" if has_nuggets or "Nugget" in prompt_class_of(grade) else "question"


def is_self_rated(grade: ExamGrade | DirectGrade) -> bool:
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


def _passage_grade(grade: ExamGrade | DirectGrade) -> PassageGrade:
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

"""Grades of a passage for test bank items or for the query (Dietz 2024)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import define_renamed_field
from ragassay.records.verdicts import WeighedVerdict

ExamGrader = Literal["rating", "extraction"]
"""Method of grading an item: a rating from 0 to 5, or an extracted answer."""

DirectGrader = Literal["fagb", "fagb_few", "sun", "sun_few", "helm", "thomas"]
"""Method of grading the relevance of a passage without a test bank."""

GradeWay = Literal[ExamGrader, DirectGrader]
"""Any grading method."""

MOST_EXAM_RATING = 5


class ExamGrade(WeighedVerdict):
    """Grade of a passage for one test bank item (Dietz 2024, section 3.2).

    Attributes:
        rating: Rating, from 0 to 5, of how well the passage covers the item, or None if unscored,
            or if answers are extracted.
        score: Expected rating over the rating tokens, 0 to 5, or the rating itself.
        answer: Extracted text (empty if no text was extracted).
        is_correct: Whether the passage covers the item: the rating is at least 1, the extracted
            answer is a known answer, or any answer was extracted and no answers are known. None if
            unscored.
    """

    item_fields = ("grader", "exam_item")

    evaluator: str = "exam_grade"
    exam_item: str
    grader: ExamGrader = "rating"
    rating: int | None = Field(default=None, ge=0, le=MOST_EXAM_RATING)
    score: float | None = Field(default=None, ge=0, le=MOST_EXAM_RATING)
    answer: str = ""
    is_correct: bool | None = None
    tentative_rating: int | None = define_renamed_field(
        "tentative_rating", "leaning_rating", default=None, ge=0, le=MOST_EXAM_RATING
    )

    @property
    def scale(self) -> tuple[int, int]:
        """Lowest and highest rating."""
        return 0, MOST_EXAM_RATING

    @property
    def value(self) -> float | str | None:
        """See `VerdictBase`."""
        if self.grader == "rating":
            return self.score
        return None if self.is_correct is None else ("no", "yes")[self.is_correct]

    @property
    def choice(self) -> int | str | None:
        """See `VerdictBase`."""
        return self.rating if self.grader == "rating" else self.value  # type: ignore[return-value]

    @property
    def choices(self) -> tuple[int, ...] | tuple[str, ...]:
        """See `VerdictBase`."""
        return tuple(range(MOST_EXAM_RATING + 1)) if self.grader == "rating" else ("yes", "no")


class RelevanceGrade(WeighedVerdict):
    """Relevance grade of a passage for its query, without a test bank (Dietz 2024, section 3.5)."""

    item_fields, labels = ("grader",), ("yes", "no")

    evaluator: str = "relevance_grade"
    grader: DirectGrader
    rating: int | None = Field(default=None, ge=0)
    is_relevant: bool | None = None

    @property
    def value(self) -> str | None:
        """See `VerdictBase`."""
        return None if self.is_relevant is None else ("no", "yes")[self.is_relevant]

"""Test banks' items, and grades of a passage by them or by its query (Dietz 2024)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import renamed_field
from ragassay.records.verdicts import WeighedVerdict

ExamGrader = Literal["rating", "extraction"]
"""How an item is graded: rated from 0 to 5, or by what was extracted for it."""

DirectGrader = Literal["fagb", "fagb_few", "sun", "sun_few", "helm", "thomas"]
"""How the relevance of a passage to its query is asked for, without a test bank."""

GradeWay = Literal[ExamGrader, DirectGrader]
"""How a passage is graded."""

MOST_EXAM_RATING = 5


class ExamGrade(WeighedVerdict):
    """A grade of a passage by one item of a test bank (Dietz 2024, section 3.2).

    Attributes:
        rating: How well the passage covers the item, 0 to 5; None where unscored, or extracted.
        score: The expectation over the rating tokens, 0 to 5; the rating where not given.
        answer: The text that was extracted for the item; empty where there is none.
        is_correct: Whether the passage covers the item: a rating of 1 or more, an answer that is
            one of the known ones, or any answer where none are known; None where unscored.
    """

    item_fields = ("grader", "exam_item")

    evaluator: str = "exam_grade"
    exam_item: str
    grader: ExamGrader = "rating"
    rating: int | None = Field(default=None, ge=0, le=MOST_EXAM_RATING)
    score: float | None = Field(default=None, ge=0, le=MOST_EXAM_RATING)
    answer: str = ""
    is_correct: bool | None = None
    tentative_rating: int | None = renamed_field(
        "tentative_rating", "leaning_rating", default=None, ge=0, le=MOST_EXAM_RATING
    )

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest rating."""
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
    """A grade of a passage's relevance to its query, without a test bank (Dietz 2024, 3.5)."""

    item_fields, labels = ("grader",), ("yes", "no")

    evaluator: str = "relevance_grade"
    grader: DirectGrader
    rating: int | None = Field(default=None, ge=0)
    is_relevant: bool | None = None

    @property
    def value(self) -> str | None:
        """See `VerdictBase`."""
        return None if self.is_relevant is None else ("no", "yes")[self.is_relevant]

"""Scores of one passage by its grades (Dietz 2024, sections 3.2, 3.5 and 4.5)."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.metrics.scoring import SHARE_SCALE, mean_score
from ragassay.records import MOST_EXAM_RATING, ExamGrade, ExamGrader, RelevanceGrade, Score

COVERED_FROM = 4
"""Least rating at which a passage counts as covering an item, where nothing else is chosen."""


def exam_scores(grades: Sequence[ExamGrade], judge: str) -> dict[str, Score]:
    """Return what the grades of a passage by its bank's items come to; empty without grades.

    `exam.cover` is the share of items rated 4 or more (the paper's threshold), `exam.rating` the
    mean rating, 0 to 5, `exam.answered` the share of items that something was extracted for, and
    that it answers rightly where answers are known.
    """
    rated, extracted = _of(grades, "rating"), _of(grades, "extraction")
    scores: dict[str, Score] = {}
    if rated:
        covered = [None if g.rating is None else float(g.rating >= COVERED_FROM) for g in rated]
        scores["exam.cover"] = mean_score(covered, SHARE_SCALE, judge)
        scale = (0.0, float(MOST_EXAM_RATING))
        scores["exam.rating"] = mean_score([grade.score for grade in rated], scale, judge)
    if extracted:
        found = [None if g.is_correct is None else float(g.is_correct) for g in extracted]
        scores["exam.answered"] = mean_score(found, SHARE_SCALE, judge)
    return scores


def relevance_scores(grades: Sequence[RelevanceGrade], judge: str) -> dict[str, Score]:
    """Return whether a passage is relevant, by each direct grader: 1, 0, or unscored."""
    return {
        f"relevance.{grade.grader}": mean_score(
            [None if grade.is_relevant is None else float(grade.is_relevant)], SHARE_SCALE, judge
        )
        for grade in grades
    }


def _of(grades: Sequence[ExamGrade], grader: ExamGrader) -> list[ExamGrade]:
    return [grade for grade in grades if grade.grader == grader]

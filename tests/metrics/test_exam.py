"""Scores of a passage by its grades, worked by hand."""

from __future__ import annotations

from ragassay.metrics.papers.retrieval import score_exam_grades, score_relevance_grades
from ragassay.records import ExamGrade, Failure, RelevanceGrade

LOST = Failure(reason="timeout")


def rated(item: str, rating: int | None) -> ExamGrade:
    if rating is None:
        return ExamGrade(exam_item=item, failure=LOST)
    return ExamGrade(exam_item=item, rating=rating, score=rating, is_correct=rating > 0)


def test_a_passage_without_grades_has_no_scores():
    assert score_exam_grades([], "judge") == {} and score_relevance_grades([], "judge") == {}


def test_cover_and_mean_rating_leave_out_what_is_unscored_and_bound_it():
    found = score_exam_grades(
        [rated("a", 5), rated("b", 3), rated("c", 4), rated("d", None)], "judge"
    )
    # Covered: a and c of three; with d 2 of 4 at worst, 3 of 4 at best.
    cover = found["exam.cover"]
    assert (cover.value, cover.n, cover.n_unscored) == (0.6667, 3, 1)
    assert (cover.worst, cover.best) == (0.5, 0.75)
    # (5 + 3 + 4) / 3 = 4; with d 12 / 4 at worst, 17 / 4 at best.
    mean = found["exam.rating"]
    assert (mean.value, mean.worst, mean.best, mean.scale) == (4.0, 3.0, 4.25, (0.0, 5.0))
    assert found.keys() == {"exam.cover", "exam.rating"}


def test_one_grade_has_no_interval_and_none_no_value():
    found = score_exam_grades([rated("a", None)], "judge")
    assert found["exam.cover"].value is None
    assert (found["exam.cover"].worst, found["exam.cover"].best) == (0.0, 1.0)
    assert score_exam_grades([rated("a", 4)], "judge")["exam.cover"].low is None


def test_answers_count_apart_from_ratings():
    grades = [
        ExamGrade(exam_item="a", grader="extraction", answer="x", is_correct=True),
        ExamGrade(exam_item="b", grader="extraction", is_correct=False),
    ]
    assert score_exam_grades(grades, "judge")["exam.answered"].value == 0.5
    assert "exam.cover" not in score_exam_grades(grades, "judge")


def test_relevance_is_a_score_a_grader():
    found = score_relevance_grades(
        [
            RelevanceGrade(grader="sun", rating=1, is_relevant=True),
            RelevanceGrade(grader="thomas", failure=LOST),
        ],
        "judge",
    )
    assert found["relevance.sun"].value == 1.0
    assert (found["relevance.thomas"].value, found["relevance.thomas"].n_unscored) == (None, 1)

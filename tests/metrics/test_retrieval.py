"""Measures of a search, of a ranking's subtopics, and of a passage by its grades."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.metrics.papers.retrieval import (
    MEASURES,
    alpha_ndcg,
    score_exam_grades,
    score_relevance_grades,
    score_retrieval,
)
from ragassay.records import ExamGrade, Failure, RelevanceGrade

QRELS = {"q1": {"a": 1, "b": 1, "c": 0}, "q2": {"x": 1}, "q3": {"z": 0}}


def test_worked_by_hand() -> None:
    run = {"q1": {"n": 4.0, "a": 3.0, "c": 2.0, "b": 1.0}, "q2": {"x": 9.0}}
    found = score_retrieval(QRELS, run, skips_empty=True)
    # q1: relevant at ranks 2 and 4. DCG = 1/log2(3) + 1/log2(5); ideal = 1 + 1/log2(3).
    ndcg = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert found["nDCG@10"].value == pytest.approx((ndcg + 1) / 2)
    assert found["RR"].value == pytest.approx((1 / 2 + 1) / 2)
    # AP of q1 = (1/2 + 2/4) / 2.
    assert found["AP"].value == pytest.approx((0.5 + 1) / 2)
    assert found["R@100"].value == 1.0
    # q3 has no relevant document and is left out.
    assert {score.n for score in found.values()} == {2}


def test_a_query_without_a_relevant_document_is_zero_as_in_trec_eval() -> None:
    run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"x": 1.0}, "q3": {"z": 1.0}}
    found = score_retrieval(QRELS, run)
    assert {(round(s.value or 0, 4), s.n) for s in found.values()} == {(0.6667, 3)}
    # The program that ir_measures calls for trec_eval says the same.
    import ir_measures

    wanted = ir_measures.calc_aggregate([ir_measures.AP], QRELS, run)
    assert found["AP"].value == pytest.approx(wanted[ir_measures.AP])


def test_a_query_that_found_nothing_counts_as_zero() -> None:
    found = score_retrieval(QRELS, {"q2": {"x": 1.0}}, skips_empty=True)
    assert {name: found[name].value for name in MEASURES} == dict.fromkeys(MEASURES, 0.5)


def test_an_empty_run_is_zero_and_no_query_is_none() -> None:
    assert {s.value for s in score_retrieval(QRELS, {}).values()} == {0.0}
    none = score_retrieval({"q": {"a": 0}}, {}, skips_empty=True)
    assert {s.value for s in none.values()} == {None}


@given(
    st.dictionaries(
        st.sampled_from(["q1", "q2"]),
        st.dictionaries(st.sampled_from("abcx"), st.floats(-5, 5), min_size=1),
    )
)
def test_measures_stay_in_their_range_and_their_interval(run: dict[str, dict[str, float]]) -> None:
    for score in score_retrieval(QRELS, run).values():
        assert score.value is not None and 0 <= score.value <= 1
        assert score.low is not None and score.high is not None
        assert score.low <= score.value <= score.high


SUBTOPICS = {"a": {"1", "2"}, "b": {"1"}, "c": {"3"}, "d": set[str](), "e": {"2", "3"}}


def test_alpha_ndcg_worked_by_hand() -> None:
    # Of a, a again in part, nothing: gains 2, 1/2, 0. Ideal: a or e first (2), then the one of
    # them that is left (1 + 1/2), at rank 2.
    found = alpha_ndcg(["a", "b"], SUBTOPICS, k=2)
    log3 = math.log2(3)
    assert found == pytest.approx((2 + 0.5 / log3) / (2 + 1.5 / log3))


@pytest.mark.parametrize(
    ("k", "alpha", "expected"),
    [
        (3, 0.5, 0.472989002291613),
        (5, 0.5, 0.6827582739660242),
        (20, 0.5, 0.6827582739660243),
        (5, 0.2, 0.6988016629321394),
    ],
)
def test_alpha_ndcg_is_that_of_ndeval(k: int, alpha: float, expected: float) -> None:
    # pyndeval 0.0.8 by ir_measures 0.4.3 on the same ranking and subtopics.
    assert alpha_ndcg("xabced", SUBTOPICS, k, alpha) == pytest.approx(expected)


def test_nothing_to_find_is_undefined_and_nothing_found_is_zero() -> None:
    assert alpha_ndcg(["a"], {"a": ()}) is None
    assert alpha_ndcg([], SUBTOPICS) == 0.0
    assert alpha_ndcg(["x", "d"], SUBTOPICS) == 0.0


@given(st.permutations("abcdex"), st.sampled_from([0.0, 0.3, 1.0]))
def test_alpha_ndcg_agrees_with_brute_force(ranking: list[str], alpha: float) -> None:
    def dcg(order: list[str]) -> float:
        total = 0.0
        for i, name in enumerate(order):
            for topic in SUBTOPICS.get(name, ()):
                times = sum(topic in SUBTOPICS.get(above, ()) for above in order[:i])
                total += (1 - alpha) ** times / math.log2(i + 2)
        return total

    # a and e cover all three and repeat one; of the rest the gains are equal.
    ideal = max(dcg(list("eacbd")), dcg(list("eabcd")), dcg(list("ecabd")), dcg(list("ebcad")))
    found = alpha_ndcg(ranking, SUBTOPICS, alpha=alpha)
    assert found is not None and found <= 1 + 1e-9
    if alpha < 1:
        assert found == pytest.approx(dcg(ranking) / ideal)


LOST = Failure(reason="timeout")


def rated(item: str, rating: int | None) -> ExamGrade:
    if rating is None:
        return ExamGrade(exam_item=item, failure=LOST)
    return ExamGrade(exam_item=item, rating=rating, score=rating, is_correct=rating > 0)


def test_a_passage_without_grades_has_no_scores():
    assert score_exam_grades([], "judge") == {} and score_relevance_grades([], "judge") == {}


def test_cover_and_mean_rating_leave_out_what_is_unscored_and_bound_it():
    grades = [rated("a", 5), rated("b", 3), rated("c", 4), rated("d", None)]
    found = score_exam_grades(grades, "judge")
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
    grades = [
        RelevanceGrade(grader="sun", rating=1, is_relevant=True),
        RelevanceGrade(grader="thomas", failure=LOST),
    ]
    found = score_relevance_grades(grades, "judge")
    assert found["relevance.sun"].value == 1.0
    assert (found["relevance.thomas"].value, found["relevance.thomas"].n_unscored) == (None, 1)

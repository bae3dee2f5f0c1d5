"""Measures of a search."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.metrics.papers.retrieval import MEASURES, score_retrieval

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

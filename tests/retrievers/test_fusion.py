from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.retrievers.evidence import reciprocal_rank_fusion

RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=4)


def test_a_value_worked_by_hand():
    # a: 1/61 + 1/62 = 0.016393 + 0.016129 = 0.032522; b: 1/62 + 1/61, the same; c: 1/63 = 0.015873
    found = reciprocal_rank_fusion([["a", "b", "c"], ["b", "a"]])
    assert [d for d, _ in found] == ["a", "b", "c"]
    assert [s for _, s in found] == pytest.approx([0.032522, 0.032522, 0.015873], abs=1e-6)


@given(RANKINGS, st.integers(0, 100))
def test_every_id_has_the_sum_of_its_reciprocal_ranks(rankings, k):
    found = reciprocal_rank_fusion(rankings, k)
    expected = {
        d: sum(1 / (k + ranking.index(d) + 1) for ranking in rankings if d in ranking)
        for ranking in rankings
        for d in ranking
    }
    assert dict(found) == pytest.approx(expected)
    assert [s for _, s in found] == sorted((s for _, s in found), reverse=True)
    assert len(found) == len(expected)


@pytest.mark.parametrize(
    ("rankings", "order"),
    [
        ([], ""),
        ([[], []], ""),
        ([["c", "a", "b"]], "cab"),
        # Ties keep the order of their first appearance.
        ([["z", "y"], ["y", "z"]], "zy"),
        ([["b"], ["a"]], "ba"),
    ],
)
def test_one_ranking_and_ties_keep_their_order(rankings, order):
    assert [d for d, _ in reciprocal_rank_fusion(rankings)] == list(order)


def test_an_id_twice_in_a_ranking_counts_once_at_its_best():
    assert dict(reciprocal_rank_fusion([["a", "a", "b"]], k=0)) == {"a": 1.0, "b": 0.5}


def test_a_negative_k_is_refused():
    with pytest.raises(ValueError, match="k must be at least 0"):
        reciprocal_rank_fusion([["a"]], k=-1)

"""alpha-nDCG."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.metrics.papers.retrieval import alpha_ndcg

SUBTOPICS = {"a": {"1", "2"}, "b": {"1"}, "c": {"3"}, "d": set[str](), "e": {"2", "3"}}


def test_worked_by_hand() -> None:
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
def test_ndeval_gives_the_same(k: int, alpha: float, expected: float) -> None:
    # pyndeval 0.0.8 by ir_measures 0.4.3 on the same ranking and subtopics.
    assert alpha_ndcg("xabced", SUBTOPICS, k, alpha) == pytest.approx(expected)


def test_nothing_to_find_is_undefined_and_nothing_found_is_zero() -> None:
    assert alpha_ndcg(["a"], {"a": ()}) is None
    assert alpha_ndcg([], SUBTOPICS) == 0.0
    assert alpha_ndcg(["x", "d"], SUBTOPICS) == 0.0


@given(st.permutations("abcdex"), st.sampled_from([0.0, 0.3, 1.0]))
def test_brute_force(ranking: list[str], alpha: float) -> None:
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

"""Optimal transport between the words of texts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.studies.text_similarity import (
    compute_rarity_weights,
    inverse_document_frequencies,
    mover_score,
    transport_distance,
)


def cloud(*angles: float) -> np.ndarray:
    return np.array([[math.cos(a), math.sin(a)] for a in angles])


angles = st.lists(st.floats(0, 6.28), min_size=1, max_size=5)


def test_a_distance_by_hand_and_by_weights():
    # From one word to two: half goes to itself, half a quarter turn away, over sqrt(2).
    both = cloud(0), cloud(0, math.pi / 2)
    assert transport_distance(*both) == pytest.approx(math.sqrt(2) / 2)
    far = transport_distance(*both, None, np.array([0.25, 0.75]))
    assert far == pytest.approx(0.75 * math.sqrt(2))


@given(angles.flatmap(lambda a: st.tuples(st.just(a), st.permutations(a))))
def test_the_order_of_words_does_not_count(both):
    first, second = both
    # A cosine that ends a hair below 1 is a distance of 1e-8.
    assert transport_distance(cloud(*first), cloud(*second)) == pytest.approx(0, abs=1e-6)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(*[st.lists(st.floats(0, 6.28), min_size=n,
    max_size=n)] * 2)))  # fmt: skip
def test_even_clouds_are_matched_one_to_one_at_the_least_cost(both):
    first, second = (cloud(*side) for side in both)
    costs = [
        np.mean([np.linalg.norm(x - second[i]) for x, i in zip(first, order, strict=True)])
        for order in itertools.permutations(range(len(second)))
    ]
    assert transport_distance(first, second) == pytest.approx(min(costs), abs=1e-6)


@given(angles, angles)
def test_uneven_clouds_cost_what_the_linear_programme_says(one, two):
    from scipy.optimize import linprog

    first, second = cloud(*one), cloud(*two)
    n, m = len(first), len(second)
    costs = np.linalg.norm(first[:, None] - second[None], axis=-1)
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    even = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    found = linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=even)
    assert transport_distance(first, second) == pytest.approx(found.fun, abs=1e-6)


def test_an_empty_cloud_has_no_distance():
    assert transport_distance(np.zeros((0, 2)), cloud(0)) is None
    assert transport_distance(cloud(0), np.zeros((0, 2))) is None
    assert mover_score(None) is None


def test_rare_tokens_weigh_more():
    # Of 3 documents: token 7 in all, 8 in one. log(4/4) = 0 and log(4/2).
    found = inverse_document_frequencies([[7, 8, 8], [7], [7, 7]])
    assert found == {7: 0.0, 8: pytest.approx(math.log(2))}
    assert compute_rarity_weights([7, 8, 8], found).tolist() == [0, 0.5, 0.5]


def test_tokens_that_are_everywhere_weigh_alike():
    found = inverse_document_frequencies([[1, 2], [2, 1]])
    assert compute_rarity_weights([1, 2], found).tolist() == [0.5, 0.5]
    assert compute_rarity_weights([], found).tolist() == []
    assert inverse_document_frequencies([]) == {}


def test_mover_score_turns_a_distance_into_a_similarity():
    assert mover_score(0.0) == 1.0
    assert mover_score(2.0) == pytest.approx(1 / 3)

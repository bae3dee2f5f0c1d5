"""Paired permutation tests and Holm's correction."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.metrics.stats.leaderboard import apply_holm, run_paired_tests


def by_force(differences: list[float]) -> float:
    """Share of all sign flips whose mean is at least as far from zero."""
    observed = abs(sum(differences))
    flips = list(itertools.product((1, -1), repeat=len(differences)))
    sums = [sum(s * d for s, d in zip(signs, differences, strict=True)) for signs in flips]
    return sum(abs(total) >= observed - 1e-12 for total in sums) / len(flips)


def p_value_of(differences):
    first = {str(question): difference for question, difference in enumerate(differences)}
    (test,) = run_paired_tests({"a": first, "b": dict.fromkeys(first, 0.0)})
    return test.p_value


def test_p_value_worked_by_hand():
    # Of 8 sign flips of 1, 2, 3 only +++ (6) and --- (-6) are as far from 0: 2 / 8.
    assert p_value_of([1.0, 2.0, 3.0]) == 0.25
    # Of 1, 2, -3 (sum 0) every flip is as far: 1.
    assert p_value_of([1.0, 2.0, -3.0]) == 1.0


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
@settings(max_examples=30)
def test_p_value_agrees_with_all_sign_flips(differences):
    values = [d / 4 for d in differences]
    assert p_value_of(values) == pytest.approx(by_force(values))


def test_many_questions_are_sampled_close_to_the_exact_value(monkeypatch):
    differences = [random.Random(i).gauss(0.3, 1) for i in range(12)]
    exact = p_value_of(differences)
    monkeypatch.setattr("ragassay.metrics.stats.leaderboard.N_PERMUTATIONS", 2000)
    sampled = p_value_of(differences)
    assert exact == pytest.approx(by_force(differences))
    assert sampled == pytest.approx(exact, abs=0.03)
    assert sampled == p_value_of(differences)


def test_nothing_and_one_question():
    assert p_value_of([]) is None
    assert p_value_of([3.0]) == 1.0
    assert p_value_of([0.0, 0.0, 0.0]) == 1.0


def test_holm_worked_by_hand():
    # Sorted .01, .03, .04: times 3, 2, 1 gives .03, .06, .04; the last may not fall below .06.
    assert apply_holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    # Wikipedia's example: .01, .04, .03, .005 at m = 4: .005*4, .01*3, .03*2, .04*1 -> max.
    assert apply_holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert apply_holm([0.5, 0.9]) == (1.0, 1.0)


def test_holm_leaves_out_tests_that_could_not_be_made():
    assert apply_holm([None, 0.02, None]) == (None, 0.02, None)
    assert apply_holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_the_raw_value_and_bonferroni(p_values):
    for raw, corrected in zip(p_values, apply_holm(p_values), strict=True):
        assert corrected is not None
        assert raw <= corrected <= min(1.0, raw * len(p_values)) + 1e-12


def test_pairs_are_tested_on_shared_questions():
    systems = {
        "a": {"q1": 1.0, "q2": 0.5, "q3": 0.75},
        "b": {"q1": 0.5, "q2": 0.25, "q4": 0.0},
        "c": {"q9": 1.0},
    }
    one, two, three = run_paired_tests(systems)
    # q1 and q2: differences .5 and .25, mean .375; of 4 flips ++ and -- are as far: .5.
    assert (one.first, one.second, one.n_questions) == ("a", "b", 2)
    assert (one.difference, one.p_value, one.p_holm, one.is_exact) == (0.375, 0.5, 0.5, True)
    assert (one.low, one.high) == (0.25, 0.5)
    assert (two.p_value, two.p_holm, two.difference, two.n_questions) == (None, None, None, 0)
    assert not two.is_significant
    assert three.p_value is None


def test_pairs_tested_together_are_as_tested_alone():
    draw = random.Random(1)
    systems = {name: {str(q): draw.random() for q in range(9)} for name in "abcd"}
    for test in run_paired_tests(systems):
        first, second = systems[test.first], systems[test.second]
        alone = p_value_of([first[q] - second[q] for q in sorted(first)])
        assert test.p_value == pytest.approx(alone)


def test_clear_difference_is_significant():
    systems = {
        "good": {str(q): 0.8 + q / 100 for q in range(8)},
        "bad": {str(q): 0.2 for q in range(8)},
    }
    (test,) = run_paired_tests(systems)
    # All 8 differences point one way: p = 2 / 2**8.
    assert test.p_value == 2 / 256
    assert test.is_significant


def test_one_system_has_no_pair():
    assert run_paired_tests({"a": {"q": 1.0}}) == ()
    assert run_paired_tests({}) == ()

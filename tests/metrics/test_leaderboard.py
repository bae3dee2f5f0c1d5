"""Ranks and ties, paired permutation tests and Holm's correction."""

from __future__ import annotations

import itertools
import random

import pytest
from answers import answer
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.metrics.stats.leaderboard import (
    Leaderboard,
    apply_holm,
    rank_systems,
    run_paired_tests,
)
from ragassay.records import Evaluation, Score

KEY = "nuggets.recall"


def system(values: list[float | None], key: str = KEY) -> list[Evaluation]:
    """One answer a question; None is unscored."""
    return [
        answer(f"r{i}", topic=f"q{i}").model_copy(
            update={"scores": {key: Score(value=v, n=int(v is not None), n_unscored=v is None)}}
        )
        for i, v in enumerate(values)
    ]


def ranks(board: Leaderboard) -> dict[str, tuple[int | None, int | None, int | None]]:
    return {row.system: (row.rank, row.rank_low, row.rank_high) for row in board.rows}


def test_clear_differences_give_ranks_of_their_own():
    # 10 questions, every difference of the same sign: p = 2/1024, times 3 is below .05.
    means = {"low": 0.1, "high": 0.9, "mid": 0.5}
    board = rank_systems({name: system([mean] * 10) for name, mean in means.items()}, KEY)
    assert [row.system for row in board.rows] == ["high", "mid", "low"]
    assert ranks(board) == {"high": (1, 1, 1), "mid": (2, 2, 2), "low": (3, 3, 3)}
    assert all(row.ties == () for row in board.rows)
    assert (board.n_questions, board.n_shared) == (10, 10)


def test_what_cannot_be_told_apart_is_tied():
    # With 3 questions no p-value is below 2/8: all three may have any rank.
    means = {"a": 0.9, "b": 0.5, "c": 0.1}
    board = rank_systems({name: system([mean] * 3) for name, mean in means.items()}, KEY)
    assert ranks(board) == {"a": (1, 1, 3), "b": (2, 1, 3), "c": (3, 1, 3)}
    assert board.rows[0].ties == ("b", "c")


def test_equal_means_share_a_rank():
    values = {"b": [0.5, 0.7], "a": [0.7, 0.5], "c": [0.1, 0.1]}
    board = rank_systems({name: system(own) for name, own in values.items()}, KEY)
    assert [(row.system, row.rank) for row in board.rows] == [("a", 1), ("b", 1), ("c", 3)]


def test_ties_are_not_transitive():
    # top beats bottom on all ten questions; middle's differences to either have mixed signs.
    values = {"top": [0.6] * 10, "middle": [0.9, 0.1] * 5, "bottom": [0.4] * 10}
    board = rank_systems({name: system(own) for name, own in values.items()}, KEY)
    assert ranks(board) == {"top": (1, 1, 2), "middle": (2, 1, 3), "bottom": (3, 2, 3)}
    assert board.rows[1].ties == ("top", "bottom")


def test_less_is_better_turns_the_order():
    key = "citations.contradict"
    board = rank_systems({"a": system([0.9] * 9, key), "b": system([0.1] * 9, key)}, key)
    assert board.lower_is_better
    assert ranks(board) == {"b": (1, 1, 1), "a": (2, 2, 2)}


def test_unscored_questions_are_counted_and_systems_without_a_mean_stand_last():
    board = rank_systems({"a": system([None, None]), "b": system([0.5, None])}, KEY)
    first, last = board.rows
    assert (first.system, first.score.n, first.score.n_unscored, first.n_answers) == ("b", 1, 1, 2)
    assert (first.score.worst, first.score.best) == (0.25, 0.75)
    assert (last.rank, last.rank_low, last.rank_high, last.score.value) == (None, None, None, None)
    assert board.tests == ()


def test_missing_questions_are_said():
    board = rank_systems({"a": system([0.5, 0.5, 0.5]), "b": system([0.5])}, KEY)
    assert (board.n_questions, board.n_shared) == (3, 1)
    assert board.tests[0].n_questions == 1


def test_several_answers_to_a_question_are_averaged_first():
    twice = [*system([1.0]), *system([0.0]), *system([0.5, 1.0])[1:]]
    board = rank_systems({"a": twice}, KEY)
    (row,) = board.rows
    # Question 0: (1 + 0) / 2; question 1: 1.
    assert (row.score.value, row.score.n, row.n_answers) == (0.75, 2, 3)


def test_no_system_and_no_score():
    assert rank_systems({}, KEY).rows == ()
    board = rank_systems({"a": [], "b": system([0.5])}, KEY)
    assert ranks(board) == {"b": (1, 1, 1), "a": (None, None, None)}
    assert rank_systems({"a": []}, KEY).n_shared == 0


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
    good = {str(q): 0.8 + q / 100 for q in range(8)}
    (test,) = run_paired_tests({"good": good, "bad": dict.fromkeys(good, 0.2)})
    # All 8 differences point one way: p = 2 / 2**8.
    assert test.p_value == 2 / 256
    assert test.is_significant


def test_one_system_has_no_pair():
    assert run_paired_tests({"a": {"q": 1.0}}) == ()
    assert run_paired_tests({}) == ()

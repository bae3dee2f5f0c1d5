"""Agreement of graders with each other."""

from __future__ import annotations

import itertools

import pytest
from graded import RATED, extracted, passage, query, rated

from ragassay.workbench.agreement import GraderAgreement, compare_graders
from ragassay.workbench.grades import GradeFilter


def graded_by_two() -> GraderAgreement:
    """Two models rate four items of two passages; one rating of the second failed."""
    first = ({"a": 5, "b": 0}, {"a": 1, "b": 0})
    second = ({"a": 4, "b": 0}, {"a": 0})
    passages = [
        passage(f"p{i}", rated(one, model="m"), rated(two, ["b"] * i, model="n"))
        for i, (one, two) in enumerate(zip(first, second, strict=True))
    ]
    return compare_graders((query("q", *passages),), GradeFilter())


def test_a_pair_worked_by_hand() -> None:
    pair, over_all = graded_by_two().pairs
    assert (pair.kind, pair.first, pair.second) == ("question", f"{RATED} by m", f"{RATED} by n")
    # Covered: (yes, yes), (no, no), (yes, no), and one failed. Observed 2/3; expected
    # (2 * 1 + 1 * 2) / 9 = 4/9; kappa (6 - 4) / (9 - 4) = 2/5.
    kappa = pair.covered.kappa
    assert kappa.value == pytest.approx(0.4)
    assert (kappa.n, kappa.n_unscored) == (3, 1)
    assert pair.ratings is not None and pair.ratings.quadratic_kappa is not None
    assert pair.ratings.quadratic_kappa.n == 3
    assert (over_all.kind, over_all.first, over_all.second) == ("all", "m", "n")
    assert over_all.covered.kappa.value == kappa.value


def test_alpha_worked_by_hand() -> None:
    found = graded_by_two()
    # Pairs of labels, both ways: 2 yes-yes, 2 no-no, 2 yes-no of 6 labels, 3 of each.
    # Observed disagreement 2/6; expected 2 * 3 * 3 / (6 * 5) = 18/30. Alpha = 1 - 10/18.
    assert found.alpha["question"].value == pytest.approx(1 - (2 / 6) / (18 / 30))
    assert (found.alpha["question"].n, found.alpha["question"].n_unscored) == (3, 1)
    assert set(found.rating_alpha) == {"question"}


def test_kinds_are_kept_apart_and_counted_together() -> None:
    one = passage(
        "p",
        rated({"a": 5, "b": 0}),
        extracted({"a": "x", "b": "y"}, ["b"]),
        rated({"n": 1}, prompt="NuggetSelfRated", kind="nugget"),
        rated({"n": 1, "o": 0}, prompt="NuggetOther", kind="nugget"),
    )
    found = compare_graders((query("q", one),), GradeFilter())
    assert [pair.kind for pair in found.pairs] == ["question", "nugget"]
    # The extraction has no ratings; o was asked of one grader only.
    assert [pair.ratings is None for pair in found.pairs] == [True, False]
    assert found.pairs[1].covered.kappa.n == 1
    assert set(found.alpha) == {"question", "nugget", "all"}
    assert found.alpha["all"].n == 3


def test_a_minimum_rating_counts_where_there_are_ratings() -> None:
    one = passage("p", rated({"a": 3, "b": 5}), extracted({"a": "x", "b": "y"}))
    pair = compare_graders((query("q", one),), GradeFilter(), 4).pairs[0]
    assert pair.covered.confusion == ((0, 1), (0, 1))


def test_what_failed_for_both_is_unscored() -> None:
    one = passage("p", rated({"a": 3}, ["b"], model="m"), rated({"a": 3}, ["b"], model="n"))
    pair = compare_graders((query("q", one),), GradeFilter()).pairs[0]
    assert (pair.covered.kappa.n, pair.covered.kappa.n_unscored) == (1, 1)
    assert pair.covered.kappa.value is None
    one = passage("p", rated({}, ["b"], model="m"), rated({}, ["b"], model="n"))
    pair = compare_graders((query("q", one),), GradeFilter()).pairs[0]
    assert (pair.covered.accuracy.value, pair.covered.accuracy.n_unscored) == (None, 1)
    assert pair.ratings is None


def test_one_grader_agrees_with_nobody() -> None:
    found = compare_graders((query("q", passage("p", rated({"a": 3}))),), GradeFilter())
    assert (found.pairs, found.alpha, found.rating_alpha) == ((), {}, {})


def test_the_order_of_graders_does_not_matter_to_kappa() -> None:
    grades = [rated({"a": 4, "b": 0, "c": 2}, ["d"], model="m"), rated({"a": 0, "b": 0, "d": 1},
              ["c"], model="n")]  # fmt: skip
    kappas = [
        compare_graders((query("q", passage("p", *order)),), GradeFilter()).pairs[0].covered.kappa
        for order in itertools.permutations(grades)
    ]
    assert kappas[0].value == kappas[1].value
    assert kappas[0].n_unscored == kappas[1].n_unscored == 2

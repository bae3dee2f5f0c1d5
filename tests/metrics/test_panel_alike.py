"""How alike a panel's judges are, with people's labels and without."""

from __future__ import annotations

import random

import pytest
from answers import answer
from lazy import LazyModule

from ragassay.metrics.stats.joint_judgments import merge_judgments
from ragassay.metrics.stats.panel_agreement import (
    collect_lone_ratings,
    correlate_errors,
    correlate_pair_errors,
    estimate_effective_judges,
    measure_pair_agreement,
    measure_panel_agreement,
)
from ragassay.records import Evaluation, Failure, Judgment, PanelPair, Score

scipy_stats = LazyModule("scipy.stats")

LOST = Failure(reason="timeout")


def rated(rating: int | None, judge: str, first: Judgment | None = None) -> Judgment:
    score = None if rating is None else float(rating)
    failure = LOST if rating is None else None
    return Judgment(
        rubric="cohesion", judge=judge, rating=rating, score=score, failure=failure, first=first
    )


def panels(*rows: tuple[int | None, ...]) -> list[Evaluation]:
    """An answer a row, with a rating of each judge."""
    return [
        answer(
            f"r{n}",
            f"t{n}",
            judgments=(merge_judgments([rated(r, j) for r, j in zip(row, "abc", strict=False)]),),
        )
        for n, row in enumerate(rows)
    ]


def test_judges_that_always_agree_count_as_one_and_unrelated_ones_as_two():
    (alike,) = measure_pair_agreement(collect_lone_ratings(panels((1, 1), (3, 3), (5, 5), (2, 2))))
    assert (alike.first, alike.second, alike.alike.value, alike.alike.n) == ("a", "b", 1.0, 4)
    assert estimate_effective_judges([alike]) == 1.0
    found = measure_panel_agreement(panels((1, 5), (5, 1), (1, 5), (5, 1)))
    assert found is not None
    assert found.n_effective == 2.0, "disagreement is not worth more than independence"


def test_ratings_given_alone_are_compared_and_lost_ones_left_out():
    deliberate = merge_judgments([rated(4, "a", rated(1, "a")), rated(4, "b", rated(5, "b"))])
    evaluations = [answer("r", "t", judgments=(deliberate,)), *panels((3, None), (2, 2))]
    alone = collect_lone_ratings(evaluations)
    assert [one.rating for one in alone["a"].values()] == [1, 3, 2]
    assert [one.rating for one in alone["b"].values()] == [5, 2]
    assert measure_pair_agreement(alone)[0].alike.n == 2


def test_a_panel_without_a_common_rating_has_no_figure():
    found = measure_panel_agreement(panels((3, None), (None, 2)))
    assert found is not None
    assert found.n_effective is None
    assert measure_pair_agreement({}) == () and estimate_effective_judges([]) is None


def test_three_judges_count_by_their_mean():
    # n / (1 + (n - 1) r) = 3 / (1 + 2 * (.9 + .3 + .3) / 3) = 1.5
    pairs = [
        PanelPair(first=one, second=two, alike=Score(value=value, n=9))
        for one, two, value in (("a", "b", 0.9), ("a", "c", 0.3), ("b", "c", 0.3))
    ]
    assert estimate_effective_judges(pairs) == pytest.approx(1.5)


def test_errors_are_differences_from_peoples_ratings():
    # People say 3, 3, 3, 4. Errors of a: 1, -1, 0, 1; of b: 1, -1, 0, 1; of c: -1, 1, 0, -1.
    evaluations = panels((4, 4, 2), (2, 2, 4), (3, 3, 3), (5, 5, 3), (1, 5, 1))
    truth = {(f"r{n}", "cohesion"): value for n, value in enumerate((3.0, 3.0, 3.0, 4.0))}
    found = {
        (p.first, p.second): p
        for p in correlate_pair_errors(collect_lone_ratings(evaluations), truth)
    }
    assert all(pair.is_of_errors and pair.alike.n == 4 for pair in found.values())
    assert found["a", "b"].alike.value == pytest.approx(1.0)
    assert found["a", "c"].alike.value == pytest.approx(-1.0)


def test_the_correlation_is_pearsons():
    draw = random.Random(3)
    first = [draw.gauss(0, 1) for _ in range(40)]
    second = [x + draw.gauss(0, 1) for x in first]
    found = correlate_errors(first, second, [str(n) for n in range(40)])
    assert found.value == pytest.approx(scipy_stats.pearsonr(first, second)[0], abs=1e-6)
    assert found.low is not None and found.high is not None and found.value is not None
    assert -1 <= found.low < found.value < found.high <= 1


@pytest.mark.parametrize(
    ("first", "second"), [([], []), ([1.0], [0.0]), ([1.0, 1.0, 1.0], [0.0, 1.0, 2.0])]
)
def test_without_a_spread_there_is_no_correlation(first, second):
    found = correlate_errors(first, second, [str(n) for n in range(len(first))])
    assert (found.value, found.low, found.n) == (None, None, len(first))

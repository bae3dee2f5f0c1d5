"""Rank correlations."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.metrics.stats.correlation import (
    correlate_scores,
    correlate_systems,
    kendall_tau,
    spearman_rho,
    tau_ap,
    tau_ap_b,
)
from ragassay.metrics.stats.intervals import N_SLOW_DRAWS, SEED

scipy_stats = LazyModule("scipy.stats")

Values = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8)
Values = Values.map(lambda pairs: tuple(map(list, zip(*pairs, strict=True))))


def test_worked_by_hand():
    # Ranks 1 2 3 4 and 2 1 4 3: d = 1, 1, 1, 1; rho = 1 - 6 * 4 / (4 * 15) = .6.
    # Of 6 pairs 4 agree and 2 disagree: tau = 2 / 6.
    assert spearman_rho([1, 2, 3, 4], [2, 1, 4, 3]) == pytest.approx(0.6)
    assert kendall_tau([1, 2, 3, 4], [2, 1, 4, 3]) == pytest.approx(1 / 3)
    # Tied: x 1 1 2, y 1 2 3. Pairs: one tied in x, two agree; tau-b = 2 / sqrt(2 * 3).
    assert kendall_tau([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / 6**0.5)


@given(Values)
@settings(max_examples=50)
def test_agree_with_scipy(values):
    x, y = values
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert spearman_rho(x, y) is None
        assert kendall_tau(x, y) is None
        return
    assert kendall_tau(x, y) == pytest.approx(scipy_stats.kendalltau(x, y)[0])
    assert spearman_rho(x, y) == pytest.approx(scipy_stats.spearmanr(x, y)[0])


@pytest.mark.parametrize(
    ("first", "second"), [([], []), ([1.0], [2.0]), ([1, 1, 1], [1, 2, 3]), ([1, 2], [3, 3])]
)
def test_constant_or_short_rankings_are_undefined(first, second):
    found = correlate_scores(first, second)
    assert (found.spearman.value, found.kendall.value) == (None, None)
    assert (found.spearman.low, found.kendall.high) == (None, None)


def test_missing_scores_are_left_out_and_counted():
    found = correlate_scores([1, None, 3, 4], [2, 5, None, 9])
    assert (found.spearman.value, found.spearman.n, found.spearman.n_unscored) == (1.0, 2, 2)


def test_lengths_must_be_equal():
    with pytest.raises(InputError, match="2 scores"):
        correlate_scores([1, 2], [1])


def test_identical_rankings_are_sure():
    found = correlate_scores(list(range(9)), list(range(9)))
    assert (found.spearman.value, found.spearman.low, found.spearman.high) == (1.0, 1.0, 1.0)


def test_clusters_are_drawn_whole():
    # Two questions, in one of which the scores agree and in the other not: the interval is wide.
    one = correlate_scores([1, 2, 3, 1, 2, 3], [1, 2, 3, 3, 2, 1], ["a"] * 3 + ["b"] * 3)
    assert (one.kendall.low, one.kendall.high) == pytest.approx((-1.0, 1.0))


def test_systems_are_ranked_by_means_over_shared_questions():
    # a: (1 + 0) / 2 and (0 + 1) / 2; b: 1 and 1 over q1 only; c is known to one side only.
    first = {"a": {"q1": 1.0, "q2": 0.0}, "b": {"q1": 1.0, "q2": 0.0}, "c": {"q1": 0.0}}
    second = {"a": {"q1": 0.0, "q2": 1.0}, "b": {"q1": 1.0}}
    found = correlate_systems(first, second)
    assert (found.spearman.value, found.spearman.n, found.n_questions) == (1.0, 2, 2)
    assert found.spearman.n_unscored == 1


def test_a_constant_ranking_and_none_are_undefined_without_a_warning():
    first = {name: {"q1": 0.0, "q2": 0.0} for name in "abc"}
    second = {"a": {"q1": 1.0, "q2": 0.5}, "b": {"q1": 0.2, "q2": 0.1}, "c": {"q1": 0, "q2": 0}}
    for found, n in ((correlate_systems(first, second), 3), (correlate_systems({}, {}), 0)):
        assert (found.spearman.value, found.kendall.value) == (None, None)
        assert found.spearman.n == n
    assert found.n_questions == 0


def test_interval_resamples_questions():
    draw = random.Random(3)
    noisy, other = (
        {f"s{i}": {f"q{j}": i / 10 + draw.gauss(0, 0.3) for j in range(12)} for i in range(8)}
        for _ in range(2)
    )
    found = correlate_systems(noisy, other)
    assert found.kendall.value is not None
    assert found.kendall.low is not None and found.kendall.high is not None
    assert found.kendall.low <= found.kendall.value <= found.kendall.high <= 1
    assert found.kendall.low < found.kendall.high
    first, second = ({s: {"q": v["q0"]} for s, v in side.items()} for side in (noisy, other))
    one_question = correlate_systems(first, second)
    assert one_question.kendall.value is not None
    assert one_question.kendall.low is None


@pytest.mark.parametrize("n_systems", [2, 7])
def test_draws_of_systems_are_correlated_as_scipy_does(n_systems):
    # Few values make ties; few questions make draws in which a system has none.
    draw = np.random.default_rng(n_systems)
    systems, questions = [f"s{i}" for i in range(n_systems)], [f"q{i}" for i in range(4)]
    first, second = (
        {s: {q: float(draw.integers(3)) for q in questions[i % 3 :]} for i, s in enumerate(systems)}
        for _ in range(2)
    )
    found = correlate_systems(first, second)

    def drawn(picks):
        means = [
            [np.mean([scores[s][q] for q in picks if q in scores[s]] or [np.nan]) for s in systems]
            for scores in (first, second)
        ]
        return [row[~np.isnan(row)] for row in np.round(means, 12)]

    rng = np.random.default_rng(SEED)
    counts = rng.multinomial(4, np.full(4, 1 / 4), size=N_SLOW_DRAWS)
    samples = [
        drawn([q for q, n in zip(questions, row, strict=True) for _ in range(n)]) for row in counts
    ]
    for score, coefficient in ((found.spearman, spearman_rho), (found.kendall, kendall_tau)):
        values = [value for x, y in samples if (value := coefficient(x, y)) is not None]
        assert (score.low, score.high) == pytest.approx(np.quantile(values, [0.025, 0.975]))


def ap_correlation(estimated: list[int], truth: list[int]) -> float | None:
    """Yilmaz et al. 2008, walked item by item; ties as Urbano and Marrero 2017 treat them."""
    parts = []
    for i, score in enumerate(estimated):
        above = [j for j, other in enumerate(estimated) if other > score]
        if above:
            parts.append(sum(truth[j] > truth[i] for j in above) / len(above))
    return 2 * sum(parts) / len(parts) - 1 if parts else None


def test_ap_correlation_worked_by_hand():
    # Of ranks 2, 3, 4: 0 of 1, 2 of 2, 3 of 3 above are right: 2/3 * (0 + 1 + 1) - 1 = 1/3.
    assert tau_ap([4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(1 / 3)
    # A swap at the bottom costs less: 1 of 1, 2 of 2, 2 of 3: 2/3 * (1 + 1 + 2/3) - 1 = 7/9.
    assert tau_ap([4, 3, 2, 1], [4, 3, 1, 2]) == pytest.approx(7 / 9)
    assert kendall_tau([4, 3, 2, 1], [3, 4, 2, 1]) == kendall_tau([4, 3, 2, 1], [4, 3, 1, 2])
    # Two tied at the top of the estimate have none above: only 1 of 2 and 2 of 3 count.
    assert tau_ap([4, 4, 2, 1], [4, 1, 2, 0]) == pytest.approx(2 / 2 * (1 / 2 + 3 / 3) - 1)
    # It is directed: the truth's tie is a mistake, the estimate's is not.
    assert (tau_ap([2, 1, 1], [3, 2, 1]), tau_ap([3, 2, 1], [2, 1, 1])) == (1.0, 0.5)
    assert tau_ap_b([3, 2, 1], [2, 1, 1]) == 0.75


def test_ap_correlation_agrees_with_that_of_trec_autojudge():
    # The tests of `tauap_b` in auto-judge-evaluate: 10 systems, the first or last two swapped.
    rising = list(range(10))
    assert tau_ap_b(rising, [*rising[:8], 9, 8]) == pytest.approx(0.7777777777)
    assert tau_ap_b(rising, [1, 0, *rising[2:]]) == pytest.approx(0.9753086)
    assert (tau_ap_b(rising, rising), tau_ap_b(rising, [-one for one in rising])) == (1.0, -1.0)


@given(Values)
@settings(max_examples=50)
def test_ap_correlation_agrees_with_brute_force(values):
    x, y = values
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert tau_ap(x, y) is None and tau_ap_b(x, y) is None
        return
    there, back = ap_correlation(x, y), ap_correlation(y, x)
    assert there is not None and back is not None
    assert tau_ap(x, y) == pytest.approx(there)
    assert tau_ap_b(x, y) == pytest.approx((there + back) / 2)
    assert tau_ap_b(x, y) == tau_ap_b(y, x)


def test_ap_correlation_of_systems_has_an_interval_and_of_answers_is_not_given():
    rng = random.Random(1)
    first = {f"s{i}": {f"q{j}": i + rng.random() for j in range(6)} for i in range(5)}
    second = {s: {q: v + rng.random() for q, v in row.items()} for s, row in first.items()}
    found = correlate_systems(first, second).tau_ap
    assert found is not None and found.value is not None and found.n == 5
    assert found.low is not None and found.high is not None
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert correlate_scores([1, 2, 3], [1, 3, 2]).tau_ap is None
    ranked = correlate_scores([1, 2, 3], [1, 3, 2], are_systems=True).tau_ap
    assert ranked is not None and ranked.value == tau_ap_b([1, 2, 3], [1, 3, 2])

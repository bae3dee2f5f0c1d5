"""Intervals of shares, means, ratios, ratings and F1, and the bootstrap over questions."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from ragassay.metrics.stats import intervals
from ragassay.metrics.stats.intervals import (
    bootstrap_interval,
    compute_f1_interval,
    compute_mean_interval,
    compute_rating_interval,
    compute_ratio_interval,
    compute_share_interval,
    f1_score,
    sum_by_cluster,
)


@pytest.mark.parametrize(("n_hits", "n"), [(8, 10), (0, 7), (7, 7), (1, 1), (130, 1000)])
def test_share_is_that_of_scipy(n_hits: int, n: int):
    wanted = binomtest(n_hits, n).proportion_ci(0.95, method="wilson")
    assert compute_share_interval(n_hits, n) == pytest.approx((wanted.low, wanted.high), abs=1e-9)


def test_share_worked_by_hand():
    # centre = (p + z2/2n) / (1 + z2/n); half = z sqrt(p(1-p)/n + z2/4n2) / (1 + z2/n)
    # z = 1.96: centre 0.9921/1.3841 = 0.7167, half 0.3137/1.3841 = 0.2266.
    assert compute_share_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_share_of_nothing_has_none():
    assert compute_share_interval(0, 0) is None


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_share_lies_in_its_interval(pair: tuple[int, int]):
    found = compute_share_interval(*pair)
    assert found is not None
    assert -1e-12 <= found[0] <= pair[0] / pair[1] + 1e-12
    assert pair[0] / pair[1] - 1e-12 <= found[1] <= 1 + 1e-12


def share_of_more(values, clusters):
    return compute_ratio_interval(values, [1.0 + value for value in values], clusters)


@pytest.mark.parametrize("interval", [compute_mean_interval, share_of_more])
def test_means_and_ratios_need_clusters_in_any_order(interval, monkeypatch):
    values, clusters = [0.1, 0.4, 0.9, 0.2, 0.7], ["c", "a", "b", "a", "c"]
    found = interval(values, clusters)
    order = [4, 2, 0, 3, 1]
    assert interval([values[i] for i in order], [clusters[i] for i in order]) == found
    assert interval(values, ["q"] * 5) is None
    assert interval([], []) is None
    # Drawing in parts changes nothing.
    monkeypatch.setattr(intervals, "MOST_PICKS", 10)
    assert interval(values, clusters) == pytest.approx(found, abs=1e-12)


def test_mean_of_equal_values_is_sure():
    assert compute_mean_interval([0.3] * 5) == pytest.approx((0.3, 0.3))


def test_mean_agrees_with_every_resample_of_three():
    # All 27 equally likely resamples of 0, 0, 1: the mean is 0 in 8, 1/3 in 12, 2/3 in 6, 1 in 1.
    # 8/27 = .296 > .025 gives 0 below; 1/27 = .037 > .025 gives 1 above.
    assert compute_mean_interval([0.0, 0.0, 1.0]) == pytest.approx((0.0, 1.0))


def test_mean_agrees_with_the_normal_limit():
    values = [random.Random(n).random() for n in range(400)]
    found = compute_mean_interval(values)
    half = 1.96 * np.std(values) / math.sqrt(len(values))
    expected = (np.mean(values) - half, np.mean(values) + half)
    assert found == pytest.approx(expected, abs=0.003)


def test_clusters_are_drawn_whole():
    # Ten answers to one question and ten to another: two clusters, not twenty values. Every
    # resample has a mean of 0, .5 or 1, so the interval is all of it; alone they give .28 to .72.
    values, clusters = [0.0] * 10 + [1.0] * 10, ["a"] * 10 + ["b"] * 10
    alone = compute_mean_interval(values)
    assert compute_mean_interval(values, clusters) == (0.0, 1.0)
    assert alone is not None
    assert 0.2 < alone[0] < 0.4 < 0.6 < alone[1] < 0.8


def test_mean_needs_a_cluster_a_value():
    with pytest.raises(ValueError, match="zip"):
        compute_mean_interval([0.1, 0.2], ["a"])


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        ((1, 0, 0, 0, 0), (1, 1)),
        ((0, 0, 0, 0, 1), (5, 5)),
        # Below: .02 < .025 <= .12. Above: .97 < .975 <= 1.
        ((0.02, 0.10, 0.50, 0.35, 0.03), (2, 5)),
        # Ends exactly on the limits belong.
        ((0.025, 0, 0.95, 0, 0.025), (1, 3)),
        ((0.2, 0.2, 0.2, 0.2, 0.2), (1, 5)),
        # Rounded to six digits, it sums to a little less than 1.
        ((0.333333, 0.333333, 0.333333, 0, 0), (1, 3)),
    ],
)
def test_rating_interval_worked_by_hand(distribution, expected):
    assert compute_rating_interval(distribution) == expected


def test_rating_interval_counts_from_the_lowest_rating():
    assert compute_rating_interval((0.5, 0.5), 0) == (0, 1)
    assert compute_rating_interval((1.0, 0.0), 0) == (0, 0)


@given(st.lists(st.floats(0.001, 1), min_size=5, max_size=5))
def test_rating_interval_is_on_the_scale_and_holds_95_percent(weights: list[float]):
    distribution = [weight / sum(weights) for weight in weights]
    low, high = compute_rating_interval(distribution)
    assert 1 <= low <= high <= 5
    assert sum(distribution[int(low) - 1 : int(high)]) >= 0.95 - 1e-6


def test_f1_without_trials_has_none():
    assert compute_f1_interval((0, 0), (0, 3)) is None
    assert compute_f1_interval((0, 3), (0, 0)) is None


@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_f1_lies_in_its_interval(n: int, m: int, data: st.DataObject):
    hits = data.draw(st.integers(0, min(n, m)))
    found = compute_f1_interval((hits, n), (hits, m))
    value = f1_score(hits / n, hits / m)
    assert found is not None and value is not None
    assert 0 <= found[0] <= value <= found[1] <= 1


def test_f1_narrows_with_more_nuggets():
    few, many = compute_f1_interval((3, 4), (3, 4)), compute_f1_interval((300, 400), (300, 400))
    assert few is not None and many is not None
    assert many[1] - many[0] < (few[1] - few[0]) / 4


def test_sums_stand_by_name():
    found = sum_by_cluster(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), ["b", "a", "b"])
    assert found.tolist() == [[3.0, 4.0], [6.0, 8.0]]


def test_ratio_agrees_with_every_resample_of_three():
    # Questions with 0 of 1, 0 of 1 and 1 of 2 hits. Of 27 resamples 8 have no third question
    # (ratio 0, more than 2.5 %), one has only it (1/2, .037 of all): the ends are 0 and 1/2.
    found = compute_ratio_interval([0, 0, 1], [1, 1, 2], ["a", "b", "c"])
    assert found == pytest.approx((0.0, 0.5))


def test_ratio_of_ones_is_the_mean():
    values, clusters = [0.1, 0.4, 0.9, 0.2, 0.7, 0.3], list("aabbcd")
    assert compute_ratio_interval(values, [1.0] * 6, clusters) == pytest.approx(
        compute_mean_interval(values, clusters), abs=0.02
    )


def test_undefined_draws_are_left_out_and_mostly_undefined_has_none():
    def rarely(counts: np.ndarray) -> np.ndarray:
        return np.where(counts[:, 0] > 0, 0.25, np.nan)

    def mostly(counts: np.ndarray) -> np.ndarray:
        return np.where(counts[:, 0] > 1, 0.25, np.nan)

    # The first of ten is drawn at least once in 65 % of the draws, more than once in 26 %.
    assert bootstrap_interval(rarely, 10) == (0.25, 0.25)
    assert bootstrap_interval(mostly, 10) is None


def test_drawing_in_parts_keeps_the_number_of_draws(monkeypatch):
    monkeypatch.setattr(intervals, "MOST_PICKS", 10)
    sizes: list[int] = []

    def statistic(counts: np.ndarray) -> np.ndarray:
        sizes.append(len(counts))
        assert (counts.sum(axis=1) == 3).all()
        return counts[:, 0] / 3

    assert bootstrap_interval(statistic, 3, n_draws=100) is not None
    assert sum(sizes) == 100
    assert max(sizes) == 3

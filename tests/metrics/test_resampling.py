"""Bootstrap over questions."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.metrics.stats import intervals
from ragassay.metrics.stats.intervals import (
    bootstrap_interval,
    compute_mean_interval,
    compute_ratio_interval,
    sum_by_cluster,
)


def test_sums_stand_by_name():
    found = sum_by_cluster(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), ["b", "a", "b"])
    assert found.tolist() == [[3.0, 4.0], [6.0, 8.0]]


def test_ratio_agrees_with_every_resample_of_three():
    # Questions with 0 of 1, 0 of 1 and 1 of 2 hits. Of 27 resamples 8 have no third question
    # (ratio 0, more than 2.5 %), one has only it (1/2, .037 of all): the ends are 0 and 1/2.
    assert compute_ratio_interval([0, 0, 1], [1, 1, 2], ["a", "b", "c"]) == pytest.approx(
        (0.0, 0.5)
    )


def test_ratio_of_ones_is_the_mean():
    values, clusters = [0.1, 0.4, 0.9, 0.2, 0.7, 0.3], list("aabbcd")
    assert compute_ratio_interval(values, [1.0] * 6, clusters) == pytest.approx(
        compute_mean_interval(values, clusters), abs=0.02
    )


def test_one_cluster_has_none():
    assert compute_ratio_interval([1.0, 0.0], [1.0, 1.0], ["q", "q"]) is None
    assert compute_ratio_interval([], [], []) is None


def test_order_does_not_show():
    one = compute_ratio_interval([1, 0, 2], [2, 1, 3], ["a", "b", "c"])
    assert compute_ratio_interval([2, 1, 0], [3, 2, 1], ["c", "a", "b"]) == one


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

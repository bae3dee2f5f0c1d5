"""Means with what they rest on."""

from __future__ import annotations

import math

import pytest

from ragassay.metrics.stats.aggregates import build_clustered_score
from ragassay.metrics.stats.intervals import compute_mean_interval


def test_a_mean_with_its_bounds_by_hand():
    found = build_clustered_score([4.0, 5.0, 3.0, None], ["a", "a", "b", "c"], (1.0, 5.0), "judge")
    # 12/3; the missing one as a 1 or a 5: 13/4 and 17/4.
    assert (found.value, found.worst, found.best) == (4.0, 3.25, 4.25)
    assert (found.n, found.n_unscored, found.judge) == (3, 1, "judge")
    interval = compute_mean_interval([4.0, 5.0, 3.0], ["a", "a", "b"])
    assert interval is not None
    assert (found.low, found.high) == tuple(pytest.approx(end, abs=1e-4) for end in interval)


def test_where_lower_is_better_the_worst_is_high():
    found = build_clustered_score([1.0, None], ["a", "b"], (0.0, 2.0), lower_is_better=True)
    assert (found.worst, found.best) == (1.5, 0.5)


def test_a_scale_without_an_end_leaves_no_bound():
    found = build_clustered_score([1.0, None], ["a", "b"], (0.0, math.inf), lower_is_better=True)
    assert (found.worst, found.best) == (None, 0.5)


def test_nothing_unscored_leaves_the_mean_as_its_bounds():
    found = build_clustered_score([1.0, 3.0], ["a", "b"], scale=(0.0, math.inf))
    assert (found.value, found.worst, found.best) == (2.0, 2.0, 2.0)


def test_no_value_has_no_mean():
    found = build_clustered_score([None] * 2, ["a", "b"], (1.0, 5.0))
    assert (found.value, found.n, found.worst, found.best) == (None, 0, 1.0, 5.0)
    nothing = build_clustered_score([], [])
    assert (nothing.value, nothing.worst, nothing.low) == (None, None, None)


def test_one_question_has_no_interval():
    assert build_clustered_score([1.0, 2.0], ["a", "a"]).low is None

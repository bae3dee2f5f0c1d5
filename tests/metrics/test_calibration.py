"""Calibration."""

from __future__ import annotations

import random

import pytest
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.metrics.stats.calibration import measure_calibration

sklearn_metrics = LazyModule("sklearn.metrics")


def test_worked_by_hand():
    # (.9, right) and (.95, wrong) share the last bin: mean .925, half right: |.5 - .925| = .425.
    # (.3, wrong): |0 - .3| = .3. ECE = 2/3 * .425 + 1/3 * .3 = .3833.
    # Brier = (.1^2 + .95^2 + .3^2) / 3 = (.01 + .9025 + .09) / 3 = .3342. (.9 ends the ninth bin:
    # so two bins here: |1 - .9| = .1, |0 - .95| = .95, |0 - .3| = .3; ECE = 1.35 / 3 = .45.)
    found = measure_calibration([0.9, 0.95, 0.3], [True, False, False])
    assert found.error.value == pytest.approx(0.45)
    assert found.brier.value == pytest.approx(0.334167, abs=1e-6)
    coarse = measure_calibration([0.9, 0.95, 0.3], [True, False, False], n_bins=5)
    assert coarse.error.value == pytest.approx(0.383333, abs=1e-6)


def test_ends_of_bins_belong_below():
    found = measure_calibration([0.0, 0.1, 0.7, 1.0], [True] * 4)
    assert [part.n for part in found.bins] == [2, 0, 0, 0, 0, 0, 1, 0, 0, 1]
    assert (found.bins[6].low, found.bins[6].high) == (0.6, 0.7)
    assert found.bins[0].confidence == pytest.approx(0.05)
    assert found.bins[1].confidence is None
    assert found.bins[1].accuracy is None


def test_agrees_with_brute_force_and_scikit_learn():
    draw = random.Random(2)
    confidences = [draw.random() for _ in range(200)]
    right = [draw.random() < c**2 for c in confidences]
    found = measure_calibration(confidences, right, [str(i % 20) for i in range(200)])
    expected = 0.0
    for b in range(10):
        members = [i for i, c in enumerate(confidences) if b / 10 < c <= (b + 1) / 10]
        if members:
            gap = sum(right[i] for i in members) - sum(confidences[i] for i in members)
            expected += abs(gap) / 200
    assert found.error.value == pytest.approx(expected)
    assert found.brier.value == pytest.approx(sklearn_metrics.brier_score_loss(right, confidences))
    assert found.brier.low is not None and found.brier.high is not None
    assert found.brier.low < found.brier.value < found.brier.high
    assert found.error.low is not None


def test_missing_confidences_are_left_out_and_counted():
    found = measure_calibration([None, 0.5, None], [True, True, False])
    assert (found.error.value, found.error.n, found.error.n_unscored) == (0.5, 1, 2)
    assert (found.brier.n, found.brier.n_unscored) == (1, 2)


def test_nothing_has_no_value():
    for found in (measure_calibration([], []), measure_calibration([None], [True])):
        assert (found.error.value, found.brier.value, found.error.low) == (None, None, None)
        assert len(found.bins) == 10


def test_one_question_has_no_interval():
    found = measure_calibration([0.5, 0.6], [True, False], ["q", "q"])
    assert (found.error.low, found.brier.low) == (None, None)


def test_what_is_no_probability_is_refused():
    with pytest.raises(InputError, match=r"1\.5"):
        measure_calibration([1.5], [True])
    with pytest.raises(InputError, match="2 confidences"):
        measure_calibration([0.5, 0.5], [True])

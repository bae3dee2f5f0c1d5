"""Calibration, and thresholds that keep a risk."""

from __future__ import annotations

import functools
import random

import numpy as np
import pytest
from case_tables import each_case
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.metrics.stats.calibration import (
    N_STARTS,
    THRESHOLDS,
    explain_undecided,
    find_bound,
    find_risk_bound,
    measure_calibration,
)
from ragassay.records import Bound

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


scipy_stats = LazyModule("scipy.stats")


def bound(**given: object) -> Bound:
    fields = {"label": "contradicts", "threshold": 0.9, "risk": 0.2, "delta": 0.1, "n": 50}
    return Bound(**(fields | given))  # type: ignore[arg-type]


@functools.cache
def risk_at(threshold: float, right_at, n: int = 200_000) -> float:
    """The true risk of uniform confidences in [1/3, 1], by integration over a grid."""
    sure = np.linspace(1 / 3, 1, n)
    kept = sure >= threshold
    return float(1 - right_at(sure[kept]).mean())


@each_case(
    "right_at",
    [
        lambda c: c,
        lambda c: 0.6 + 0.35 * (c > 0.8),
        # Surest where it is most often wrong: no threshold may be found by luck too often.
        lambda c: np.where(c > 0.95, 0.5, 0.9),
        lambda c: np.full_like(c, 0.79),
        lambda c: np.full_like(c, 0.95),
    ],
    ids=["calibrated", "step", "overconfident", "just_below", "right"],
)
@each_case("n", [40, 300])
def test_the_risk_is_kept_but_for_delta_of_all_calibration_sets(right_at, n):
    risk, delta, rng = 0.2, 0.1, np.random.default_rng(7)
    n_sets, n_broken = 400, 0
    for _ in range(n_sets):
        sure = rng.uniform(1 / 3, 1, n)
        found = find_risk_bound("x", sure, rng.random(n) < right_at(sure), risk=risk, delta=delta)
        if found.threshold is not None:
            n_broken += risk_at(found.threshold, right_at) > risk
    # At most delta: more than this happens once in ten thousand tries.
    assert n_broken <= scipy_stats.binom.ppf(0.9999, n_sets, delta)


def test_verdicts_on_one_question_count_as_one_draw():
    """Ten copies of each verdict: taken for independent, they would break the risk too often."""
    rng, n_sets, n_broken, n_naive = np.random.default_rng(3), 300, 0, 0
    for _ in range(n_sets):
        sure = rng.uniform(0.9, 1, 30).repeat(10)
        right = (rng.random(30) < 0.75).repeat(10)
        questions = [str(q) for q in range(30) for _ in range(10)]
        found = find_risk_bound("x", sure, right, risk=0.2, clusters=questions)
        assert found.n == 30
        n_broken += found.threshold is not None
        n_naive += find_risk_bound("x", sure, right, risk=0.2).threshold is not None
    assert n_broken <= scipy_stats.binom.ppf(0.9999, n_sets, 0.1)
    assert n_naive > 0.2 * n_sets


def test_the_threshold_is_the_least_that_passes_by_hand():
    # 40 right ones at .95, 20 wrong ones at .5. P(Bin(40, .1) = 0) = .9^40 = .0148 <= .1 / 4. All
    # thresholds from .95 down to just above .5 admit the same 40; from .4988 on 20 wrong ones come
    # in.
    sure, right = [0.95] * 40 + [0.5] * 20, [True] * 40 + [False] * 20
    found = find_risk_bound("x", sure, right, risk=0.1, data="made up")
    assert found.threshold == min(t for t in THRESHOLDS if t > 0.5)
    assert (found.n, found.coverage, found.precision) == (60, pytest.approx(2 / 3, abs=1e-4), 1.0)
    assert found.data == "made up"
    # It takes 36: .9^35 = .02503 > .1 / 4.
    assert 0.9**35 > 0.1 / N_STARTS >= 0.9**36
    assert find_risk_bound("x", sure[5:], right[5:], risk=0.1).threshold is None
    assert find_risk_bound("x", sure[4:], right[4:], risk=0.1).threshold is not None


def test_where_nothing_keeps_the_risk_there_is_no_threshold():
    for sure, right in (([], []), ([0.9] * 300, [False] * 300), ([0.99], [True])):
        found = find_risk_bound("x", sure, right, risk=0.2)
        assert (found.threshold, found.precision, found.coverage) == (None, None, 0.0)
        assert not found.admits(1.0)
    with pytest.raises(InputError):
        find_risk_bound("x", [0.9], [], risk=0.2)


def test_the_same_data_give_the_same_threshold():
    rng = np.random.default_rng(1)
    sure, questions = rng.uniform(0.3, 1, 400), [str(n // 3) for n in range(400)]
    right = rng.random(400) < sure
    found = [find_risk_bound("x", sure, right, risk=0.2, clusters=questions) for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].n == 134


def test_a_bound_admits_from_its_threshold_up():
    assert bound().admits(0.9) and not bound().admits(0.8999) and not bound().admits(None)
    assert not bound(threshold=None).admits(1.0)


def test_bounds_are_found_by_label_and_level():
    verdict, finding = bound(), bound(level="finding", threshold=0.97)
    assert find_bound((verdict, finding), "contradicts", "finding") is finding
    assert find_bound((verdict, finding), "contradicts", "verdict") is verdict
    assert find_bound((verdict, finding), "supports", "verdict") is None


def test_a_kind_without_a_bound_of_its_own_has_that_of_its_label():
    every, number = bound(), bound(kind="number", threshold=0.65)
    assert find_bound((every, number), "contradicts", "verdict", "number") is number
    assert find_bound((every, number), "contradicts", "verdict", "words") is every
    assert find_bound((number,), "contradicts", "verdict", "words") is None


def test_a_bound_with_a_least_cosine_asks_for_both():
    close = bound(least_cosine=0.75)
    assert close.admits(0.9, 0.75)
    assert not close.admits(0.9, 0.7499) and not close.admits(0.8999, 0.99)
    # Without a measured cosine nothing is close.
    assert not close.admits(0.99)
    assert explain_undecided(close, "supports", 0.9, 0.75) is None
    found = explain_undecided(close, "supports", 0.91, 0.6)
    assert found is not None and found.detail == (
        'the tentative label "supports" has confidence 0.91, but the closest sentence has a cosine '
        "of 0.60 with the claim, below the threshold of 0.75"
    )
    # Too unsure as well: the confidence is the first reason.
    found = explain_undecided(close, "supports", 0.5, 0.6)
    assert found is not None and found.detail.endswith("below the threshold of 0.90")


def test_precision_comes_with_wilsons_interval():
    sure, right = [0.95] * 40 + [0.5] * 20, [True] * 39 + [False] + [False] * 20
    found = find_risk_bound("x", sure, right, risk=0.2)
    assert (found.n_measured, found.precision) == (40, 0.975)
    # (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), by hand.
    assert (found.low, found.high) == pytest.approx((0.8712, 0.9956), abs=5e-4)


MEASURED = {"precision": 0.8567, "n_measured": 321, "data": "ExpertQA (dev)"}


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({}, ", below the threshold of 0.90"),
        (MEASURED, ", below the threshold of 0.90 (86 % of 321 correct on ExpertQA (dev))"),
        ({"threshold": None}, ", but such verdicts are not reliable at any threshold"),
        (
            {"threshold": None, "precision": 0.41, "n_measured": 29},
            ", but such verdicts are not reliable at any threshold (41 % of 29 correct)",
        ),
        (
            {"threshold": None, "is_tested": False, "precision": 0.6667, "n_measured": 3},
            ", but too few such verdicts were measured to set a threshold (67 % of 3 correct)",
        ),
    ],
)
def test_what_is_not_decided_says_why_and_what_was_measured(given, detail):
    assert explain_undecided(bound(), "contradicts", 0.95) is None
    found = explain_undecided(bound(**given), "not_relevant", 0.712)
    assert found is not None and found.reason == "undecided"
    assert found.detail == f'the tentative label "not relevant" has confidence 0.71{detail}'

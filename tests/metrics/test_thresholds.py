"""Thresholds of shares: found on labelled claims, and decided by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.metrics.papers.verifier_scores import (
    Thresholds,
    find_best_threshold,
    find_best_thresholds,
    reweight_shares,
)

sklearn_metrics = LazyModule("sklearn.metrics")

SHARES = st.lists(st.integers(0, 20), min_size=2, max_size=12)

HALVES = Thresholds(supports=0.5, contradicts=0.5)


def test_by_hand():
    # At .9: one of two found, F1 2/3. At .6 two and a wrong one, 4/5. At .5 the same, less.
    threshold, f1 = find_best_threshold([0.9, 0.7, 0.6, 0.5], [True, False, True, False])
    assert (threshold, f1) == (pytest.approx(0.55), pytest.approx(0.8))


@given(SHARES, st.randoms(use_true_random=False))
def test_no_threshold_is_better(numbers: list[int], random):
    scores = [n / 20 for n in numbers]
    truth = [random.random() < 0.6 for _ in scores]
    truth[0] = True
    threshold, f1 = find_best_threshold(scores, truth)
    assert f1 == pytest.approx(sklearn_metrics.f1_score(truth, [s >= threshold for s in scores]))
    for t in range(41):
        found = sum(is_true for is_true, s in zip(truth, scores, strict=True) if s >= t / 40)
        n_called = sum(s >= t / 40 for s in scores)
        assert f1 >= 2 * found / (n_called + sum(truth)) - 1e-12


def test_where_all_are_attributable_all_are_called_so():
    # BioACE, section 3.1: the best threshold tends to be as low as possible.
    threshold, f1 = find_best_threshold([0.9, 0.1], [True, True])
    assert threshold < 0.1 and f1 == 1


@given(st.floats(0, 1), st.integers(0, 100))
def test_two_labels_are_decided_at_the_threshold(share: float, step: int):
    threshold = step / 100
    found = reweight_shares(np.array([[share, 0.0, 1 - share]]), Thresholds(supports=threshold))[0]
    assert found.sum() == pytest.approx(1)
    assert found[1] == 0
    if abs(share - threshold) > 1e-9:
        assert (found.argmax() == 0) == (share > threshold)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7])
def test_a_share_at_its_threshold_supports(share: float):
    found = reweight_shares(np.array([[share, 0.0, 1 - share]]), Thresholds(supports=share))
    assert found.argmax() == 0


def test_without_a_threshold_the_largest_share_decides():
    shares = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    assert reweight_shares(shares, HALVES) == pytest.approx(shares)


def test_a_low_threshold_of_contradiction_finds_more_contradictions():
    shares = np.array([[0.3, 0.3, 0.4], [0.6, 0.1, 0.3]])
    low = Thresholds(supports=0.5, contradicts=0.4)
    assert reweight_shares(shares, low).argmax(axis=1).tolist() == [1, 0]


def test_what_gave_no_label_still_gives_none():
    assert np.isnan(reweight_shares(np.full((1, 3), np.nan), HALVES)).all()


@given(st.integers(0, 30))
def test_two_thresholds_are_at_least_as_good_as_none(seed: int):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=20)
    shares = rng.dirichlet([1, 0.4, 1], size=20)
    found, macro = find_best_thresholds(shares, truth.tolist())
    said = reweight_shares(shares, found).argmax(axis=1)
    assert macro == pytest.approx(sklearn_metrics.f1_score(truth, said, average="macro"))
    assert macro >= sklearn_metrics.f1_score(truth, shares.argmax(axis=1), average="macro") - 1e-12


def test_nothing_to_fit_is_an_error():
    with pytest.raises(InputError, match="at least one attributable claim"):
        find_best_threshold([0.5], [False])
    with pytest.raises(InputError, match="2 scores for 1 labels"):
        find_best_threshold([0.5, 0.6], [True])
    with pytest.raises(InputError):
        find_best_thresholds(np.zeros((0, 3)), [])

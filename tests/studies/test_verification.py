"""A verifier's labels against people's, with two and with three labels."""

from __future__ import annotations

import numpy as np
import pytest
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.metrics.stats.agreement import Average, compute_figures
from ragassay.studies.verifiers.claims import compare_labels

sklearn_metrics = LazyModule("sklearn.metrics")

TWO, THREE = ("supports", "not_attributable"), ("supports", "contradicts", "neutral")


def test_two_labels_by_hand():
    # Called supported: 3, of them 2 right; of the 4 supported 2 were found.
    truth = ["supports"] * 4 + ["not_attributable"] * 2
    said = ["supports", "supports", *["not_attributable"] * 3, "supports"]
    found = compare_labels(truth, said, TWO, [str(i) for i in range(6)])
    binary = found.averages[0]
    assert (binary.average, binary.precision.value, binary.recall.value) == (
        "binary",
        pytest.approx(2 / 3),
        0.5,
    )
    assert binary.f1.value == pytest.approx(4 / 7)
    assert binary.f1_of_means.value == pytest.approx(4 / 7)
    assert found.accuracy.value == 0.5 and found.auc is None
    assert [one.average for one in found.averages] == ["binary", "macro", "weighted"]


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_values_and_draws_are_those_of_the_reference(average: Average):
    """scikit-learn, over all claims and over each of many drawn tables."""
    rng = np.random.default_rng(3)
    truth, said = rng.integers(3, size=60), rng.integers(3, size=60)
    names = [[THREE[i] for i in row] for row in (truth, said)]
    shares = rng.random(60)
    found = compare_labels(*names, THREE, [str(i // 4) for i in range(60)], shares.tolist())
    one = next(one for one in found.averages if one.average == average)
    p, r, f, _ = sklearn_metrics.precision_recall_fscore_support(truth, said, average=average)
    assert (one.precision.value, one.recall.value, one.f1.value) == pytest.approx((p, r, f))
    assert one.f1_of_means.value == pytest.approx(2 * p * r / (p + r))
    assert found.accuracy.value == pytest.approx(sklearn_metrics.accuracy_score(truth, said))
    assert found.auc and found.auc.value == pytest.approx(
        sklearn_metrics.roc_auc_score(truth == 0, shares)
    )
    for score in (one.precision, one.recall, one.f1, found.accuracy):
        assert score.low is not None and score.high is not None and score.value is not None
        assert score.low <= score.value <= score.high and score.n == 60
    for _ in range(20):
        drawn = rng.integers(60, size=60)
        table = np.zeros((1, 3, 3))
        np.add.at(table[0], (truth[drawn], said[drawn]), 1)
        wanted = sklearn_metrics.precision_recall_fscore_support(
            truth[drawn], said[drawn], labels=[0, 1, 2], average=average, zero_division=0
        )
        got = compute_figures(table, average)
        assert [float(got[name][0]) for name in ("precision", "recall", "f1")] == pytest.approx(
            [float(value) for value in wanted[:3]]
        )


def test_what_has_no_label_is_left_out_and_counted():
    found = compare_labels(["supports"] * 3, ["supports", None, "neutral"], THREE, ["a", "b", "c"])
    assert (found.accuracy.value, found.accuracy.n, found.accuracy.n_unscored) == (0.5, 2, 1)
    nothing = compare_labels(["supports"], [None], THREE, ["a"])
    assert (nothing.accuracy.value, nothing.accuracy.n_unscored) == (None, 1)


def test_a_label_that_is_none_of_them_is_named():
    with pytest.raises(InputError, match="'maybe' is not one of the labels"):
        compare_labels(["maybe"], ["supports"], TWO, ["a"])
    with pytest.raises(InputError, match="2 human labels, 1 judge labels"):
        compare_labels(["supports"] * 2, ["supports"], TWO, ["a"])

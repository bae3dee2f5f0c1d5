"""Separation of evidence from other passages, and agreement of labels with people's."""

from __future__ import annotations

import numpy as np
import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.metrics.stats.agreement import Average, compute_figures
from ragassay.studies.verifiers.claims import compare_labels
from ragassay.studies.verifiers.sentences import measure_separation
from ragassay.studies.verifiers.support import supported_share

PAIRS = {"q1": [(0.9, 0.2), (0.4, 0.5)], "q2": [(0.8, 0.1)]}


def test_separation_by_hand():
    # q1: .9 > .2 and .4 < .5, so accuracy 1/2. Of the four pairs (positive, negative) .9 beats
    # both and .4 beats .2 alone, so AUC 3/4. q2: one sentence, .8 > .1: both 1.
    found = measure_separation(PAIRS)
    assert found is not None
    assert found.accuracy == pytest.approx((0.5 + 1) / 2)
    assert found.auc == pytest.approx((0.75 + 1) / 2)
    assert found.positive == pytest.approx((0.65 + 0.8) / 2)
    assert found.negative == pytest.approx((0.35 + 0.1) / 2)
    assert found.n_questions == 2
    assert found.questions["q1"].accuracy == 0.5 and found.questions["q2"].n_sentences == 1
    score = found.compute_figure_score("accuracy")
    assert (score.value, score.n, score.low, score.high) == (0.75, 2, 0.5, 1.0)
    # Of the nine pairs .9 and .8 win all, .4 beats .2 and .1: 8 of 9.
    assert found.pooled_auc == pytest.approx(8 / 9)


@each_case(
    ("scores", "figures"),
    [
        # Each question counts once, whatever its number of sentences.
        ({"q1": [(1.0, 0.0)] * 9, "q2": [(0.0, 1.0)]}, (0.5, 0.5, 2)),
        # A tie is no success, and half an area.
        ({"q": [(0.5, 0.5)]}, (0.0, 0.5, 1)),
        # A question without a sentence is not counted.
        ({"q1": [(0.9, 0.1)], "q2": []}, (1.0, 1.0, 1)),
        ({}, None),
        ({"q": []}, None),
    ],
)
def test_separation_of_many_tied_and_missing_sentences(scores, figures):
    found = measure_separation(scores)
    assert (found and (found.accuracy, found.auc, found.n_questions)) == figures


def test_a_sentence_is_borne_out_by_any_document_that_counts():
    # Two of three at all documents; at the first one of three.
    scores = [[0.2, 0.9], [0.6], [0.1, 0.2]]
    questions = ["q1", "q1", "q2"]
    assert supported_share(scores, 0.5, questions).value == pytest.approx(2 / 3)
    assert supported_share(scores, 0.5, questions, k=1).value == pytest.approx(1 / 3)


def test_a_sentence_without_a_document_is_unscored_and_bounds_the_share():
    score = supported_share([[0.9], None, []], 0.5, ["q1", "q2", "q3"])
    assert (score.value, score.n, score.n_unscored) == (1, 1, 2)
    assert (score.worst, score.best) == (pytest.approx(1 / 3), 1)


def test_a_document_without_a_score_leaves_open_what_no_other_bears_out():
    score = supported_share([[None, 0.9], [None, 0.1]], 0.5, ["q1", "q2"])
    assert (score.value, score.n, score.n_unscored) == (1, 1, 1)


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=8), min_size=1, max_size=8))
def test_more_documents_never_bear_out_fewer_sentences(scores: list[list[float]]):
    names = [str(i) for i in range(len(scores))]
    curve = [supported_share(scores, 0.5, names, k).value or 0 for k in range(1, 9)]
    assert curve == sorted(curve)


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

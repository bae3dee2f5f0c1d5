"""SummaC and AlignScore from scores of sentences, and the thresholds of shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.metrics.papers.verifier_scores import (
    PERCENTILE_BINS,
    Thresholds,
    align_score,
    find_best_threshold,
    find_best_thresholds,
    reweight_shares,
    split_chunks,
    summac_conv,
    summac_zs,
)

ENTAILED = np.array([[0.9, 0.1], [0.3, 0.6]])
DENIED = np.array([[0.0, 0.2], [0.5, 0.1]])


def test_summac_zs_by_hand():
    # First sentence: .9 - .5, second .6 - .2; both .4.
    assert summac_zs(ENTAILED, DENIED) == pytest.approx(0.4)


def test_summac_conv_by_hand():
    # All weights on the bin from .37 to .9: the first sentence has none of it (.9 opens the next
    # one, .3 is below), the second one (.6). Rows 0 and 2, mean 1; logits 0 and 3.
    weights = {
        "mlp.weight": np.zeros((1, 23)),
        "mlp.bias": np.zeros(1),
        "layer_final.weight": np.array([[0.0, 0, 0], [1, 1, 1]]),
        "layer_final.bias": np.zeros(2),
    }
    weights["mlp.weight"][0, PERCENTILE_BINS.index(0.37)] = 2
    assert summac_conv(ENTAILED, weights) == pytest.approx(1 / (1 + np.exp(-3)))


@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 9))
def test_summac_conv_is_what_its_program_computes(n_document: int, n_text: int, seed: int):
    """Modelled on the steps of the published program, in its own order, sentence by sentence."""
    rng = np.random.default_rng(seed)
    image = rng.random((n_document, n_text))
    shapes = {"mlp.weight": (1, 23), "mlp.bias": 1, "layer_final.weight": (2, 3)}
    weights = {k: rng.normal(size=s) for k, s in shapes.items()} | {"layer_final.bias": np.ones(2)}
    rows = []
    for column in range(min(n_text, 10)):
        counts = [0] * 23
        for value in image[:, column]:
            place = max(i for i, edge in enumerate(PERCENTILE_BINS[:-1]) if value >= edge)
            counts[place] += 1
        rows.append(float(np.dot(counts, weights["mlp.weight"][0])) + weights["mlp.bias"][0])
    mean = sum(rows) / len(rows)
    one, two = (sum(weights["layer_final.weight"][i]) * mean + 1 for i in (0, 1))
    assert summac_conv(image, weights) == pytest.approx(1 / (1 + np.exp(one - two)))


def test_align_score_by_hand():
    # Best chunks .9 and .6.
    assert align_score(ENTAILED) == pytest.approx(0.75)


def test_nothing_scores_nothing():
    nothing = np.zeros((0, 2))
    assert summac_zs(nothing, nothing) == align_score(nothing) == 0


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(1, 60))
def test_chunks_keep_every_sentence_in_order(lengths: list[int], n_words: int):
    sentences = [" ".join([f"w{i}"] * n) for i, n in enumerate(lengths)]
    chunks = split_chunks(sentences, n_words)
    assert " ".join(chunks) == " ".join(sentences)
    n_chunks = sum(lengths) // n_words + 1
    assert len(chunks) == -(-len(sentences) // max(len(sentences) // n_chunks, 1))


def test_a_document_without_a_sentence_is_one_empty_chunk():
    assert split_chunks([]) == [""]


@pytest.mark.parametrize(
    ("shape", "by_maxima", "by_convolution"),
    [
        ((2, 1), -0.16, 0.47502079606056213),
        ((3, 2), 0.345, 0.48250719904899597),
        ((4, 12), 0.09666666666666664, 0.47651728987693787),
    ],
)
def test_scores_are_those_of_the_published_program(shape, by_maxima, by_convolution):
    """Computed by the package summac 0.0.4: `SummaCZS.image2score`, `SummaCConv.forward`."""
    places = np.arange(shape[0] * shape[1])
    entailed = (places * 37 % 101 / 100).reshape(shape)
    denied = (places * 53 % 97 / 100).reshape(shape)
    weights = {
        "mlp.weight": np.arange(-11, 12)[None] / 10,
        "mlp.bias": np.array([0.5]),
        "layer_final.weight": np.array([[0.1, 0.2, 0.3], [0.3, -0.4, 0.5]]),
        "layer_final.bias": np.array([0.2, -0.1]),
    }
    assert summac_zs(entailed, denied) == pytest.approx(by_maxima)
    assert summac_conv(entailed, weights) == pytest.approx(by_convolution, abs=1e-6)


sklearn_metrics = LazyModule("sklearn.metrics")

SHARES = st.lists(st.integers(0, 20), min_size=2, max_size=12)

HALVES = Thresholds(supports=0.5, contradicts=0.5)


def test_a_threshold_by_hand():
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

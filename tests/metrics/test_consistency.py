"""SummaC and AlignScore, from scores of sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.metrics.papers.verifier_scores import (
    PERCENTILE_BINS,
    align_score,
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
def test_scores_are_those_of_the_published_program(
    shape: tuple[int, int], by_maxima: float, by_convolution: float
):
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

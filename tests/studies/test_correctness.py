"""How well a score tells evidence from other passages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.studies.verifiers.sentences import measure_separation
from ragassay.studies.verifiers.support import supported_share


def test_by_hand():
    # q1: .9 > .2 and .4 < .5, so accuracy 1/2. Of the four pairs (positive, negative) .9 beats
    # both and .4 beats .2 alone, so AUC 3/4. q2: one sentence, .8 > .1: both 1.
    found = measure_separation({"q1": [(0.9, 0.2), (0.4, 0.5)], "q2": [(0.8, 0.1)]})
    assert found is not None
    assert found.accuracy == pytest.approx((0.5 + 1) / 2)
    assert found.auc == pytest.approx((0.75 + 1) / 2)
    assert found.positive == pytest.approx((0.65 + 0.8) / 2)
    assert found.negative == pytest.approx((0.35 + 0.1) / 2)
    assert found.n_questions == 2


def test_each_question_counts_once_whatever_its_number_of_sentences():
    many = [(1.0, 0.0)] * 9
    found = measure_separation({"q1": many, "q2": [(0.0, 1.0)]})
    assert found is not None
    assert found.accuracy == 0.5


def test_a_tie_is_no_success_and_half_an_area():
    found = measure_separation({"q": [(0.5, 0.5)]})
    assert found is not None
    assert (found.accuracy, found.auc) == (0.0, 0.5)


@pytest.mark.parametrize("scores", [{}, {"q": []}])
def test_nothing_gives_none(scores: dict[str, list[tuple[float, float]]]):
    assert measure_separation(scores) is None


def test_a_question_without_a_sentence_is_not_counted():
    found = measure_separation({"q1": [(0.9, 0.1)], "q2": []})
    assert found is not None
    assert found.n_questions == 1


def test_means_come_with_their_questions_and_intervals():
    pairs = {"q1": [(0.9, 0.2), (0.4, 0.5)], "q2": [(0.8, 0.1)]}
    found = measure_separation(pairs)
    assert found is not None
    assert found.questions["q1"].accuracy == 0.5 and found.questions["q2"].n_sentences == 1
    score = found.compute_figure_score("accuracy")
    assert (score.value, score.n, score.low, score.high) == (0.75, 2, 0.5, 1.0)
    # Of the nine pairs .9 and .8 win all, .4 beats .2 and .1: 8 of 9.
    assert found.pooled_auc == pytest.approx(8 / 9)


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

"""How well a score tells evidence from other passages."""

from __future__ import annotations

import pytest

from ragassay.metrics.correctness import separation


def test_by_hand():
    # q1: .9 > .2 and .4 < .5, so accuracy 1/2. Of the four pairs (positive, negative) .9 beats
    # both and .4 beats .2 alone, so AUC 3/4. q2: one sentence, .8 > .1: both 1.
    found = separation({"q1": [(0.9, 0.2), (0.4, 0.5)], "q2": [(0.8, 0.1)]})
    assert found is not None
    assert found.accuracy == pytest.approx((0.5 + 1) / 2)
    assert found.auc == pytest.approx((0.75 + 1) / 2)
    assert found.positive == pytest.approx((0.65 + 0.8) / 2)
    assert found.negative == pytest.approx((0.35 + 0.1) / 2)
    assert found.n_questions == 2


def test_each_question_counts_once_whatever_its_number_of_sentences():
    many = [(1.0, 0.0)] * 9
    found = separation({"q1": many, "q2": [(0.0, 1.0)]})
    assert found is not None
    assert found.accuracy == 0.5


def test_a_tie_is_no_success_and_half_an_area():
    found = separation({"q": [(0.5, 0.5)]})
    assert found is not None
    assert (found.accuracy, found.auc) == (0.0, 0.5)


@pytest.mark.parametrize("scores", [{}, {"q": []}])
def test_nothing_gives_none(scores: dict[str, list[tuple[float, float]]]):
    assert separation(scores) is None


def test_a_question_without_a_sentence_is_not_counted():
    found = separation({"q1": [(0.9, 0.1)], "q2": []})
    assert found is not None
    assert found.n_questions == 1

"""Fitting of the models that turn signals into ratings."""

from __future__ import annotations

import numpy as np
import pytest

from training.signal_rating import (
    LEAST_WEIGHT,
    fit_order,
    fit_rubric,
    fit_sentences,
)


def test_order_is_learned_from_how_sentences_open():
    answers = [[{"length": 1.0}] * 3 for _ in range(30)]
    vectors = [np.zeros((3, 2), np.float32) for _ in answers]
    openings = [[["first"], ["then"], ["overall"]] for _ in answers]
    model = fit_order(answers, vectors, openings)
    place = model.compute_logits(answers[0], vectors[0], openings[0])
    assert list(np.argsort(place)) == [0, 1, 2]


def test_rare_openers_are_not_learned():
    answers = [[{}, {}] for _ in range(10)]
    vectors = [np.zeros((2, 2), np.float32) for _ in answers]
    openings = [[["the"], ["rare" if n == 0 else "so"]] for n in range(10)]
    assert set(fit_order(answers, vectors, openings).openers) == {"the", "so"}


def test_labelled_sentences_are_told_by_their_measures():
    rng = np.random.default_rng(0)
    rows = [
        {"support": float(v)} for v in np.r_[rng.normal(0.1, 0.1, 50), rng.normal(0.7, 0.1, 50)]
    ]
    labels = [True] * 50 + [False] * 50
    model = fit_sentences(rows, labels, ("support",))
    found = model.compute_logits(rows) > 0
    assert (found == np.array(labels)).mean() > 0.95
    assert model.weights[0] < 0


@pytest.fixture
def damaged() -> tuple[list[dict[str, float]], list[int], list[tuple[int, int, float]]]:
    """Whole answers rated 5, subtly perturbed ones 2 and plainly perturbed ones 1."""
    rng = np.random.default_rng(1)
    centres, ratings = (0.7, 0.4, 0.1), (5, 2, 1)
    rows = [
        {"support": float(rng.normal(centre, 0.08)), "noise": float(rng.normal())}
        for centre in centres
        for _ in range(40)
    ]
    pairs = [(i, k * 40 + i, 1.0) for k in (1, 2) for i in range(40)]
    return rows, [rating for rating in ratings for _ in range(40)], pairs


def test_ratings_follow_the_damage(damaged):
    rows, ratings, pairs = damaged
    better = {"support": True, "noise": True}
    rater = fit_rubric(rows, ratings, [1.0] * len(rows), better, pairs)
    scores = [sum(k * p for k, p in enumerate(rater.predict_distribution(row), 1)) for row in rows]
    means = [float(np.mean(scores[start : start + 40])) for start in (0, 40, 80)]
    assert means[0] > 4 and 1.5 < means[1] < 3 and means[2] < 1.5
    assert rater.weights[0] > 10 * rater.weights[1] >= 10 * LEAST_WEIGHT
    assert list(rater.thresholds) == sorted(rater.thresholds)


def test_a_sign_that_is_given_is_kept_even_against_the_data(damaged):
    rows, ratings, _ = damaged
    rater = fit_rubric(rows, ratings, [1.0] * len(rows), {"support": False})
    assert rater.weights == (-LEAST_WEIGHT,)


def test_a_signal_that_is_often_missing_counts_as_its_mean(damaged):
    rows, ratings, pairs = damaged
    gappy = [row if n % 2 else {"noise": row["noise"]} for n, row in enumerate(rows)]
    rater = fit_rubric(gappy, ratings, [1.0] * len(rows), {"support": True}, pairs)
    assert rater.predict_distribution({}) == pytest.approx(
        rater.predict_distribution({"support": rater.means[0]})
    )

"""Fitting of the models that turn signals into ratings, to perturbed answers."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.errors import InputError
from ragassay.evaluators.build_run import build_run
from ragassay.models.fitted_raters import SignalRater
from ragassay.optimizers.finetuning.judge_replies import DESIRED, is_held_out
from ragassay.prompts import load_rubrics
from ragassay.settings import load_settings
from training.rating import fit_rater
from training.rating_examples import examples_of
from training.signal_rating import LEAST_WEIGHT, fit_order, fit_rubric, fit_sentences


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
    rows = [{"support": float(v)} for mean in (0.1, 0.7) for v in rng.normal(mean, 0.1, 50)]
    labels = [True] * 50 + [False] * 50
    model = fit_sentences(rows, labels, ("support",))
    found = model.compute_logits(rows) > 0
    assert (found == np.array(labels)).mean() > 0.95
    assert model.weights[0] < 0


@pytest.fixture
def damaged() -> tuple[list[dict[str, float]], list[int], list[tuple[int, int, float]]]:
    """Whole answers rated 5, subtly perturbed ones 2 and plainly perturbed ones 1."""
    rng = np.random.default_rng(1)
    rows = [
        {"support": float(rng.normal(centre, 0.08)), "noise": float(rng.normal())}
        for centre in np.repeat((0.7, 0.4, 0.1), 40)
    ]
    pairs = [(i, k * 40 + i, 1.0) for k in (1, 2) for i in range(40)]
    return rows, np.repeat((5, 2, 1), 40).tolist(), pairs


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
    at_mean = rater.predict_distribution({"support": rater.means[0]})
    assert rater.predict_distribution({}) == pytest.approx(at_mean)


@pytest.mark.integration
def test_a_rater_comes_of_damaged_answers_to_questions_that_are_not_held_out(answers):
    told: list[str] = []
    run = build_run(load_settings(only=("rubrics",), signals=True))
    examples = list(examples_of([answers], run, say=told.append))
    originals = {example.original for example in examples}
    assert originals and not any(is_held_out(name.split("/")[0]) for name in originals)
    assert len(told) == len(originals) < 10
    whole = [e for e in examples if e.kind == "unperturbed"]
    assert all(e.ratings == dict.fromkeys(load_rubrics(), 5) for e in whole)
    redundant = [e for e in examples if e.attack == "redundant"]
    assert len(redundant) == len(whole)
    assert all(e.ratings == {"conciseness": DESIRED["rubric", "subtle"]} for e in redundant)
    # Of the file's own damage only the redundant answers are looked at.
    assert not any("match was lost" in str(e) for e in examples)

    rater = fit_rater(examples, "made up")
    assert set(rater.rubrics) == set(load_rubrics())
    assert SignalRater.model_validate_json(rater.model_dump_json()) == rater
    assert fit_rater(examples, "made up").digest == rater.digest


def test_there_is_no_rater_of_nothing():
    with pytest.raises(InputError, match="held out"):
        fit_rater([], "nothing")

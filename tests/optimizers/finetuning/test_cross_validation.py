"""Folds by question, figures of each fold and of all, and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.errors import InputError
from ragassay.optimizers.finetuning.labelled_pairs import LabelledPair
from ragassay.optimizers.finetuning.pair_classifiers import HeldOut, assign_folds, cross_validate

LABELS = ("correct", "incorrect")


def pairs_of(n: int) -> list[LabelledPair]:
    """One pair of each label for each of n questions."""
    return [LabelledPair(f"s{i}", str(j), j, f"q{i}") for i in range(n) for j in range(2)]


def test_a_question_is_in_one_fold_and_every_fold_has_both_labels():
    pairs = pairs_of(20)
    folds = assign_folds(pairs, 5, seed=1)
    for name in {pair.group for pair in pairs}:
        assert len({f for f, pair in zip(folds, pairs, strict=True) if pair.group == name}) == 1
    for fold in range(5):
        own = [pair.label for f, pair in zip(folds, pairs, strict=True) if f == fold]
        assert len(own) == 8 and sum(own) == 4
    assert list(folds) == list(assign_folds(pairs, 5, seed=1))
    assert list(folds) != list(assign_folds(pairs, 5, seed=2))


@pytest.mark.parametrize(
    "pairs", [[], pairs_of(1), [LabelledPair("s", "p", 0, f"q{i}") for i in range(9)]]
)
def test_too_few_questions_are_refused(pairs):
    with pytest.raises(InputError, match="two labels with at least two questions each"):
        assign_folds(pairs, 5, seed=0)


def test_few_questions_make_fewer_folds():
    assert set(assign_folds(pairs_of(3), 5, seed=0)) == {0, 1, 2}


def test_no_pair_is_predicted_by_what_saw_its_question():
    pairs, fits = pairs_of(10), list[str]()

    def fit(learnt, name):
        fits.append(name)
        known = {pair.group for pair in learnt}

        def predict(held):
            assert not known & {pair.group for pair in held}
            return np.array([[0.9, 0.1] if pair.passage == "0" else [0.2, 0.8] for pair in held])

        return predict

    held = cross_validate(pairs, LABELS, fit, n_folds=5, seed=0)
    assert fits == [f"fold-{n}" for n in range(1, 6)]
    assert held.measure_fold().accuracy.value == 1
    figures = held.build_figures("t", "d.jsonl", "ragassay ...")
    assert [(f.data, f.metric) for f in figures[:8]] == [
        ("d.jsonl, 5 held-out folds", name)
        for name in (
            *("accuracy", "macro precision", "macro recall", "macro-F1"),
            *("weighted precision", "weighted recall", "weighted-F1", "AUC"),
        )
    ]
    by_fold = figures[8:]
    assert [f.data for f in by_fold] == [f"d.jsonl, fold {n} of 5" for n in range(1, 6)]
    assert all(f.value == 1 and f.low is not None and f.n == 4 for f in by_fold)


def test_a_bound_is_of_the_confidence_in_a_label_on_held_out_pairs():
    # 100 questions: "correct" is right at .9, and wrong at .6; "incorrect" is never said.
    pairs = [LabelledPair(f"s{i}", "", i % 2, f"q{i}") for i in range(200)]
    shares = np.array([[0.9, 0.1] if pair.label == 0 else [0.6, 0.4] for pair in pairs])
    held = HeldOut(tuple(pairs), LABELS, np.arange(200) % 5, shares)
    correct, incorrect = held.find_bounds("d.jsonl")
    assert correct.label == "correct" and correct.threshold is not None
    assert 0.6 < correct.threshold <= 0.9 and correct.precision == 1
    assert correct.data == "d.jsonl, 5 held-out folds" and correct.n == 200
    assert incorrect.threshold is None and incorrect.n == 0

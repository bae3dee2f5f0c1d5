"""Classifiers of natural language inference, and what is remembered of them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from tiny_verifiers import tiny_inference

from ragassay.errors import SettingsError
from ragassay.models.entailment import (
    CONTRADICTS,
    NEUTRAL,
    SUPPORTS,
    CachedEntailment,
    NliModel,
    map_entailment_columns,
)

PAIRS = [("Alpha lowers pressure.", "Alpha lowered pressure in a trial."), ("Beta.", "Gamma.")]


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        (("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), (CONTRADICTS, NEUTRAL, SUPPORTS)),
        (("entailment", "not_entailment"), (SUPPORTS, NEUTRAL)),
        (("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), (SUPPORTS, CONTRADICTS, NEUTRAL)),
    ],
)
def test_labels_are_told_by_their_names(labels, columns):
    assert map_entailment_columns(dict(enumerate(labels))) == dict(enumerate(columns))


@pytest.mark.parametrize("labels", [("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), ("no", "entailed")])
def test_a_classifier_of_the_hub_gives_probabilities(tmp_path, labels):
    found = NliModel(tiny_inference(tmp_path, labels)).predict_probabilities(PAIRS)
    assert found.shape == (2, 3)
    assert found.sum(axis=1) == pytest.approx([1, 1])


def test_a_classifier_of_something_else_is_refused_by_its_labels(tmp_path):
    with pytest.raises(SettingsError, match="happy, sad"):
        NliModel(tiny_inference(tmp_path, ("happy", "sad")))


def test_a_remembered_model_is_asked_once_about_a_pair_while_it_is_kept():
    class Counting:
        name, digest = "counting", ""
        asked: ClassVar[list[str]] = []

        def predict_probabilities(self, pairs):
            self.asked.extend(claim for claim, _ in pairs)
            return np.array([[len(claim), 0.0, 0.0] for claim, _ in pairs])

    model = CachedEntailment(Counting(), n_kept=2)
    found = model.predict_probabilities([("a", "x"), ("bb", "x"), ("a", "x")])
    assert found[:, 0].tolist() == [1, 2, 1]
    assert model.predict_probabilities([("bb", "x"), ("ccc", "x")])[:, 0].tolist() == [2, 3]
    assert Counting.asked == ["a", "bb", "ccc"]
    # Two are kept: the first was forgotten.
    assert model.predict_probabilities([("a", "x")])[:, 0].tolist() == [1]
    assert Counting.asked == ["a", "bb", "ccc", "a"]
    assert model.predict_probabilities([]).shape == (0, 3)

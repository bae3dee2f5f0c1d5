"""What is remembered of a model that compares a claim with a passage."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ragassay.models.entailment import Remembered


def test_a_remembered_model_is_asked_once_about_a_pair_while_it_is_kept():
    class Counting:
        name, digest = "counting", ""
        asked: ClassVar[list[str]] = []

        def probabilities(self, pairs):
            self.asked.extend(claim for claim, _ in pairs)
            return np.array([[len(claim), 0.0, 0.0] for claim, _ in pairs])

    model = Remembered(Counting(), n_kept=2)
    found = model.probabilities([("a", "x"), ("bb", "x"), ("a", "x")])
    assert found[:, 0].tolist() == [1, 2, 1]
    assert model.probabilities([("bb", "x"), ("ccc", "x")])[:, 0].tolist() == [2, 3]
    assert Counting.asked == ["a", "bb", "ccc"]
    # Two are kept: the first was forgotten.
    assert model.probabilities([("a", "x")])[:, 0].tolist() == [1]
    assert Counting.asked == ["a", "bb", "ccc", "a"]
    assert model.probabilities([]).shape == (0, 3)

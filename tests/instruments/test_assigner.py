"""Assignments of gold nuggets without a language model."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.instruments.assigner import EncoderAssigner
from ragassay.records import AnswerSentence, Assignment, Case

BOUNDS: dict[Assignment, float] = {"support": 0.8, "not_support": 0.6}
TEXTS = ("Alpha lowers pressure.", "Cough is common.")
CASE = Case(
    record_id="r",
    question="q",
    answer="Alpha lowers pressure [1]. Cough is common [2].",
    sentences=tuple(
        AnswerSentence(index=n, text=text, start=0, end=9) for n, text in enumerate(TEXTS, 1)
    ),
)


class Fixed:
    name, digest = "fixed", "d"

    def __init__(self, *shares: float) -> None:
        self.shares, self.asked = shares, []

    def probabilities(self, pairs):
        self.asked += pairs
        return np.array([self.shares for _ in pairs])


@pytest.mark.parametrize(
    ("shares", "assignment"),
    [((0.8, 0.1, 0.1), "support"), ((0.2, 0.2, 0.6), "not_support")],
)
def test_a_label_is_given_from_its_bound_up(shares: tuple[float, ...], assignment: Assignment):
    model = Fixed(*shares)
    found = EncoderAssigner(model, BOUNDS).assign(CASE, 3, "Alpha works.")
    assert (found.gold, found.assignment, found.failure) == (3, assignment, None)
    assert found.confidence == max(shares) and found.entropy_bits is not None
    assert model.asked == [("Alpha works.", " ".join(TEXTS))], "markers are left out"


@pytest.mark.parametrize(
    ("shares", "leaning"),
    [
        ((0.79, 0.11, 0.1), "support"),
        ((0.25, 0.2, 0.55), "not_support"),
        # No bound is known for it: no confidence is enough.
        ((0.0, 0.99, 0.01), "partial_support"),
    ],
)
def test_below_its_bound_it_is_undecided_and_says_where_it_leans(
    shares: tuple[float, ...], leaning: str
):
    found = EncoderAssigner(Fixed(*shares), BOUNDS).assign(CASE, 0, "Alpha works.")
    assert found.assignment is None and found.failure is not None
    assert (found.failure.reason, found.leaning) == ("undecided", leaning)
    assert f"{max(shares):.2f}" in found.failure.detail


def test_verdicts_depend_on_model_and_bounds():
    known = {EncoderAssigner(Fixed(1.0, 0.0, 0.0), b).identity for b in (BOUNDS, {}, {})}
    assert len(known) == 2

"""Pairs that the verifier on MiniLM learns from, and how they are labelled."""

from __future__ import annotations

import random

from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.optimizers.finetuning.pairs import Example
from training.correctness import CorrectnessPair
from training.pairs import pair_examples, rationale_examples


def test_correct_pairs_support_and_their_contradictions_contradict():
    pairs = [
        CorrectnessPair("Alpha is safe.", "Alpha was safe.", True, "q"),
        CorrectnessPair("Alpha is safe.", "Beta was safe.", False, "q"),
    ] * 20
    found = pair_examples(pairs, random.Random(0))
    labels = [example.label for example in found]
    assert (labels.count(SUPPORTS), labels.count(NEUTRAL)) == (20, 20)
    assert 10 <= labels.count(CONTRADICTS) <= 20
    assert {e.passage for e in found if e.label == CONTRADICTS} == {"Alpha was safe."}
    assert "Alpha is safe." not in {e.claim for e in found if e.label == CONTRADICTS}


def test_only_contradicted_claims_give_their_rationale():
    claims = [
        LabelledClaim("A.", "", ("One.", "Two."), (1,), CONTRADICTS, "g"),
        LabelledClaim("B.", "", ("One.", "Two."), (1,), SUPPORTS, "g"),
        LabelledClaim("C.", "", ("One.", "Two."), (), CONTRADICTS, "g"),
    ]
    assert rationale_examples(claims) == [Example("A.", "Two.", CONTRADICTS)]

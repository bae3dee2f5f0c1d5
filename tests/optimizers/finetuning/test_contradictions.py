"""Sentences and claims turned against what bore them out."""

from __future__ import annotations

import random

import pytest

from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.claims import LabelledClaim, contradict, reverse_label


@pytest.mark.parametrize(
    ("sentence", "possible"),
    [
        ("Alpha gave higher pressure.", {"Alpha gave lower pressure."}),
        ("Reduced intake helps.", {"Elevated intake helps."}),
        ("Alpha is safe.", {"Alpha is unsafe.", "Alpha is not safe."}),
        ("Alpha was not tested.", {"Alpha was tested."}),
        ("Alpha helped 40 people.", {f"Alpha helped {n} people." for n in (4, 20, 80, 120, 400)}),
        # A number that is part of a name is none.
        ("IL-6 and B12 rose.", {None}),
        ("Alpha helps.", {None}),
    ],
)
def test_a_sentence_is_turned_against_what_bore_it_out(sentence: str, possible: set[str | None]):
    found = {contradict(sentence, random.Random(seed)) for seed in range(40)}
    assert found == possible


def test_numbers_are_left_where_they_are_to_be():
    found = {
        contradict("Alpha was safe in 40 people.", random.Random(seed), numbers=False)
        for seed in range(20)
    }
    assert found == {"Alpha was unsafe in 40 people.", "Alpha was not safe in 40 people."}
    assert contradict("Alpha helped 40 people.", random.Random(0), numbers=False) is None


@pytest.mark.parametrize(
    ("text", "label", "turned"),
    [
        ("Alpha gave higher pressure.", SUPPORTS, ("Alpha gave lower pressure.", CONTRADICTS)),
        ("Alpha gave higher pressure.", CONTRADICTS, ("Alpha gave lower pressure.", SUPPORTS)),
        # That a document contradicts it does not yet mean that it says the negation.
        ("Alpha was tested.", CONTRADICTS, None),
        ("Alpha gave higher pressure.", NEUTRAL, None),
        ("Alpha helps.", SUPPORTS, None),
    ],
)
def test_a_claim_is_turned_over_with_its_label(
    text: str, label: int, turned: tuple[str, int] | None
):
    claim = LabelledClaim(text, "Title", ("One.",), (0,), label, "g")
    found = reverse_label(claim, random.Random(0))
    assert (found and (found.claim, found.label)) == turned
    assert found is None or (found.group, found.sentences, found.rationale) == (
        "g",
        ("One.",),
        (0,),
    )


def test_the_same_seed_gives_the_same_contradiction():
    sentence = "Alpha was safe and gave 3 times higher pressure in 40 people."
    assert contradict(sentence, random.Random(7)) == contradict(sentence, random.Random(7))

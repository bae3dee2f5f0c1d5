"""Pairs of claim and passage: which sentences are read, and how they are labelled."""

from __future__ import annotations

import random

from fakes import WordEmbedder

from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.claims import NOT_RELEVANT, LabelledClaim
from ragassay.optimizers.correctness import CorrectnessPair
from ragassay.optimizers.pairs import (
    Example,
    claim_examples,
    pair_examples,
    rationale_examples,
)


def test_sentences_that_people_marked_are_read_first_where_that_is_wanted():
    sentences = tuple(f"{word} rose." for word in ("Iron", "Zinc", "Alpha", "Gold", "Lead", "Tin"))
    claim = LabelledClaim("Alpha rose.", "", sentences, (5,), SUPPORTS, "g")
    plain, marked = (claim_examples([claim], WordEmbedder(), marked=m)[0] for m in (False, True))
    assert "Alpha rose." in plain.passage and "Tin rose." not in plain.passage
    assert "Alpha rose." in marked.passage and "Tin rose." in marked.passage


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


def test_of_a_long_abstract_the_closest_sentences_are_shown_with_its_title():
    sentences = tuple(f"{word} rose." for word in ("Iron", "Zinc", "Alpha", "Gold", "Lead"))
    claim = LabelledClaim("Alpha rose.", "Metals", sentences, (), SUPPORTS, "g")
    (found,) = claim_examples([claim], WordEmbedder())
    assert found.passage.startswith("Metals. ")
    assert "Alpha rose." in found.passage
    assert found.passage.count("rose.") == 4


def test_only_contradicted_claims_give_their_rationale():
    claims = [
        LabelledClaim("A.", "", ("One.", "Two."), (1,), CONTRADICTS, "g"),
        LabelledClaim("B.", "", ("One.", "Two."), (1,), SUPPORTS, "g"),
        LabelledClaim("C.", "", ("One.", "Two."), (), CONTRADICTS, "g"),
    ]
    assert rationale_examples(claims) == [Example("A.", "Two.", CONTRADICTS)]


def test_a_claim_beside_a_document_of_another_subject_is_neutral():
    claim = LabelledClaim("Alpha rose.", "", ("Gold fell.",), (), NOT_RELEVANT, "g")
    assert claim_examples([claim], WordEmbedder()) == [
        Example("Alpha rose.", "Gold fell.", NEUTRAL)
    ]

"""Pairs of claim and passage: which sentences are read, and how they are labelled."""

from __future__ import annotations

from fakes import WordEmbedder

from ragassay.models.entailment import NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.claims import NOT_RELEVANT, LabelledClaim
from ragassay.optimizers.finetuning.pairs import Example, claim_examples


def test_sentences_that_people_marked_are_read_first_where_that_is_wanted():
    sentences = tuple(f"{word} rose." for word in ("Iron", "Zinc", "Alpha", "Gold", "Lead", "Tin"))
    claim = LabelledClaim("Alpha rose.", "", sentences, (5,), SUPPORTS, "g")
    plain, marked = (claim_examples([claim], WordEmbedder(), marked=m)[0] for m in (False, True))
    assert "Alpha rose." in plain.passage and "Tin rose." not in plain.passage
    assert "Alpha rose." in marked.passage and "Tin rose." in marked.passage


def test_of_a_long_abstract_the_closest_sentences_are_shown_with_its_title():
    sentences = tuple(f"{word} rose." for word in ("Iron", "Zinc", "Alpha", "Gold", "Lead"))
    claim = LabelledClaim("Alpha rose.", "Metals", sentences, (), SUPPORTS, "g")
    (found,) = claim_examples([claim], WordEmbedder())
    assert found.passage.startswith("Metals. ")
    assert "Alpha rose." in found.passage
    assert found.passage.count("rose.") == 4


def test_a_claim_beside_a_document_of_another_subject_is_neutral():
    claim = LabelledClaim("Alpha rose.", "", ("Gold fell.",), (), NOT_RELEVANT, "g")
    assert claim_examples([claim], WordEmbedder()) == [
        Example("Alpha rose.", "Gold fell.", NEUTRAL)
    ]

"""Pairs of claim and passage: which sentences are read, and how they are labelled."""

from __future__ import annotations

from ragassay.models.entailment import NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.claims import (
    NOT_RELEVANT,
    Example,
    LabelledClaim,
    build_claim_examples,
)


def long(*words: str) -> tuple[str, ...]:
    """Sentences of which two or three are read."""
    return tuple(f"{word} rose{' and rose' * 55}." for word in words)


def test_of_a_long_document_sentences_that_people_marked_are_read_before_others():
    sentences = long("Iron", "Zinc", "Alpha", "Gold", "Lead", "Tin")
    claim = LabelledClaim("Alpha rose.", "", sentences, (5,), SUPPORTS, "g")
    (found,) = build_claim_examples([claim])
    assert "Tin rose" in found.passage
    assert "Alpha rose" in found.passage and found.passage.count("\n") == 2


def test_all_of_an_abstract_that_fits_is_read_below_its_title():
    sentences = tuple(f"{word} rose." for word in ("Iron", "Zinc", "Alpha", "Gold", "Lead"))
    claim = LabelledClaim("Alpha rose.", "Metals", sentences, (), SUPPORTS, "g")
    (found,) = build_claim_examples([claim])
    assert found.passage == "\n".join(["Metals.", *sentences])


def test_a_claim_beside_a_document_of_another_subject_is_neutral():
    claim = LabelledClaim("Alpha rose.", "", ("Gold fell.",), (), NOT_RELEVANT, "g")
    assert build_claim_examples([claim]) == [Example("Alpha rose.", "\nGold fell.", NEUTRAL)]

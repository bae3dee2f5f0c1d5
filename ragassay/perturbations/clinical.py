"""Attacks that change a few words, or a citation, in a way that would matter to a patient."""

from __future__ import annotations

from collections.abc import Callable

from ragassay.perturbations.answer import CutAnswer
from ragassay.perturbations.attack import Apply, Attack, Damage, Material, rubrics
from ragassay.perturbations.citations import cite_retracted, move_citation
from ragassay.perturbations.negation import turn_negation
from ragassay.perturbations.numbers import change_number
from ragassay.perturbations.swaps import (
    Change,
    remove_hedge,
    swap_drug,
    swap_population,
    turn_direction,
)


def _one_sentence(change: Change) -> Apply:
    """Make one change in one sentence, the first of a drawn order that it fits."""
    return _by_record(lambda material: change)


def _by_record(change_for: Callable[[Material], Change]) -> Apply:
    def apply(answer: CutAnswer, material: Material) -> Damage | None:
        change = change_for(material)
        for place in material.rng.sample(answer.places, len(answer.places)):
            piece = answer.pieces[place]
            text = change(piece.text, material.rng)
            if text and text != piece.text and any(c.isalnum() for c in text):
                return Damage(answer.with_piece(place, piece.changed(text)))
        return None

    return apply


def _drug_change(material: Material) -> Change:
    return swap_drug(f"{source.title} {source.text}" for source in material.record.sources)


_TARGETS = (*rubrics("correctness"), "evidence.support", "citations.support")

RETRACTED = Attack(
    "retracted",
    "clinical",
    "subtle",
    ("findings.retracted_citation", "citations.support"),
    cite_retracted,
)
"""Needs PMIDs of retracted articles."""

CLINICAL: tuple[Attack, ...] = (
    Attack("number", "clinical", "subtle", _TARGETS, _one_sentence(change_number)),
    Attack("negation", "clinical", "subtle", _TARGETS, _one_sentence(turn_negation)),
    Attack("comparator", "clinical", "subtle", _TARGETS, _one_sentence(turn_direction)),
    Attack("population", "clinical", "subtle", _TARGETS, _one_sentence(swap_population)),
    Attack("drug", "clinical", "subtle", _TARGETS, _by_record(_drug_change)),
    Attack("hedge", "clinical", "subtle", _TARGETS, _one_sentence(remove_hedge)),
    Attack(
        "citation",
        "clinical",
        "subtle",
        (*rubrics("correctness"), "citations.support"),
        move_citation,
    ),
    RETRACTED,
)

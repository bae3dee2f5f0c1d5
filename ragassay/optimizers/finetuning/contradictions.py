"""Sentences turned into others that what bore them out speaks against.

Sets of claims hold few contradictions, and a verifier that saw few takes shared words for support.
Each change is one that a careless or dishonest answer makes: the direction is turned over, a
negation is put in or taken out, a number is changed.
"""

from __future__ import annotations

import random
from dataclasses import replace

from ragassay.models.entailment import CONTRADICTS, SUPPORTS
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.perturbations.negation import turn_negation
from ragassay.perturbations.numbers import change_number
from ragassay.perturbations.swaps import Change, turn_direction

NUMBERS = 0.1
"""Share of the supported claims whose number may be what is changed: a verifier that saw many such
takes any sentence full of figures for a contradiction."""


def contradict(sentence: str, rng: random.Random, *, numbers: bool = True) -> str | None:
    """One change that turns a sentence against what bore it out.

    Args:
        sentence: Any.
        rng: Draws the change, the turn of a direction twice as often as any other.
        numbers: Whether a number may be changed.

    Returns:
        None where no change applies.

    Example:
        >>> contradict("Drug A, then.", random.Random(0)) is None
        True
        >>> contradict("Drug A gave higher pressure.", random.Random(0))
        'Drug A gave lower pressure.'
    """
    changes: list[Change] = [turn_direction, turn_direction, turn_negation]
    if numbers:
        changes.append(change_number)
    found = [changed for change in changes if (changed := change(sentence, rng))]
    return rng.choice(found) if found else None


def contrary(claim: LabelledClaim, rng: random.Random) -> LabelledClaim | None:
    """A labelled claim turned over; of what a document contradicts, no more than its direction.

    Where a document says other than the claim, a negation of the claim is not yet what it says.

    Returns:
        None of a neutral claim, and where no change applies.
    """
    if claim.label == SUPPORTS:
        numbers = rng.random() < NUMBERS
        text, label = contradict(claim.claim, rng, numbers=numbers), CONTRADICTS
    elif claim.label == CONTRADICTS:
        text, label = turn_direction(claim.claim, rng), SUPPORTS
    else:
        return None
    return replace(claim, claim=text, label=label) if text else None

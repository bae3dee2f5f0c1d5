"""Turn sentences into ones that their evidence contradicts.

Sets of claims contain few contradictions, and a verifier that saw few takes shared words for
support. Each change is one that a careless or dishonest answer makes: a reversed direction, an
added or removed negation, a changed number.
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
"""Share of the supported claims whose number may be changed: with more such examples a verifier
takes any sentence full of figures for a contradiction."""


def contradict(sentence: str, rng: random.Random, *, numbers: bool = True) -> str | None:
    """Make one change after which a sentence's evidence contradicts it.

    Args:
        sentence: The sentence.
        rng: Draws the change; a reversed direction is twice as likely as any other.
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
    """Reverse a labelled claim; of a contradicted one, only its direction.

    If a document contradicts a claim, it does not necessarily state the claim's negation.

    Returns:
        None for a neutral claim, or if no change applies.
    """
    if claim.label == SUPPORTS:
        numbers = rng.random() < NUMBERS
        text, label = contradict(claim.claim, rng, numbers=numbers), CONTRADICTS
    elif claim.label == CONTRADICTS:
        text, label = turn_direction(claim.claim, rng), SUPPORTS
    else:
        return None
    return replace(claim, claim=text, label=label) if text else None

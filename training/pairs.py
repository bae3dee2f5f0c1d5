"""Pairs for the verifier on MiniLM, besides labelled claims."""

from __future__ import annotations

import random
from collections.abc import Iterable

from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.optimizers.finetuning.contradictions import contradict
from ragassay.optimizers.finetuning.pairs import Example
from training.correctness import CorrectnessPair

CONTRADICTED = 0.8
"""Share of correct pairs that are also turned into a contradiction."""


def pair_examples(pairs: Iterable[CorrectnessPair], rng: random.Random) -> list[Example]:
    """Label pairs: correct ones support, others are neutral; contradict some correct ones."""
    found: list[Example] = []
    for pair in pairs:
        label = SUPPORTS if pair.correct else NEUTRAL
        found.append(Example(pair.sentence, pair.passage, label))
        if pair.correct and rng.random() < CONTRADICTED:
            changed = contradict(pair.sentence, rng)
            if changed:
                found.append(Example(changed, pair.passage, CONTRADICTS))
    return found


def rationale_examples(claims: Iterable[LabelledClaim]) -> list[Example]:
    """Pair contradicted claims with only the sentences that contradict them."""
    return [
        Example(c.claim, " ".join(c.sentences[i] for i in c.rationale), CONTRADICTS)
        for c in claims
        if c.label == CONTRADICTS and c.rationale
    ]

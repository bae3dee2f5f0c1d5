"""Pairs of a claim and a passage, with what the passage says of the claim.

What a cross-encoder learns from, and is measured on.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from ragassay.models.entailment import CONTRADICTS, N_SENTENCES, NEUTRAL, SUPPORTS, titled
from ragassay.optimizers.claims import NOT_RELEVANT, LabelledClaim
from ragassay.optimizers.contradictions import contradict
from ragassay.optimizers.correctness import CorrectnessPair
from ragassay.retrievers.closest import closest_text
from ragassay.retrievers.rerank import TextEncoder

CONTRADICTED = 0.8
"""Share of correct pairs of which a contradiction is made as well."""


@dataclass(frozen=True)
class Example:
    """A claim, a passage, and `SUPPORTS`, `CONTRADICTS` or `NEUTRAL`."""

    claim: str
    passage: str
    label: int


def claim_examples(
    claims: Iterable[LabelledClaim], embedder: TextEncoder, *, marked: bool = False
) -> list[Example]:
    """Claims with their document's title and the sentences that are closest to them.

    Args:
        claims: Any; one beside a document of another subject is neutral.
        embedder: Tells which are closest.
        marked: Whether sentences that people marked as deciding the label come before others.
    """
    return [
        Example(
            c.claim,
            titled(c.title, _closest(c, embedder, marked)),
            NEUTRAL if c.label == NOT_RELEVANT else c.label,
        )
        for c in claims
    ]


def _closest(claim: LabelledClaim, embedder: TextEncoder, marked: bool) -> str:
    wanted = claim.rationale if marked else ()
    return closest_text(claim.claim, claim.sentences, embedder, N_SENTENCES, wanted)


def pair_examples(pairs: Iterable[CorrectnessPair], rng: random.Random) -> list[Example]:
    """Correct pairs as support, incorrect ones as neutral, and contradictions of the correct."""
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
    """Contradicted claims with the sentences that contradict them, and nothing else."""
    return [
        Example(c.claim, " ".join(c.sentences[i] for i in c.rationale), CONTRADICTS)
        for c in claims
        if c.label == CONTRADICTS and c.rationale
    ]

"""Pairs of a claim and a passage, with a label.

A cross-encoder is trained and measured on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragassay.models.entailment import NEUTRAL
from ragassay.optimizers.finetuning.claims import NOT_RELEVANT, LabelledClaim
from ragassay.text.reading import passage_of_sentences

NOT_CONTRADICTED = 3
"""The label of a pair that is supported or neutral, nobody knows which; for training alone."""


@dataclass(frozen=True)
class Example:
    """A claim, a passage, and `SUPPORTS`, `CONTRADICTS`, `NEUTRAL` or `NOT_CONTRADICTED`."""

    claim: str
    passage: str
    label: int


def claim_examples(claims: Iterable[LabelledClaim]) -> list[Example]:
    """Pair claims with what is read of their documents; `NOT_RELEVANT` becomes neutral.

    Sentences that people marked as decisive are read before others.
    """
    return [
        Example(
            c.claim,
            passage_of_sentences(c.claim, c.sentences, c.title, c.rationale),
            NEUTRAL if c.label == NOT_RELEVANT else c.label,
        )
        for c in claims
    ]

"""Pairs of a claim and a passage, with a label.

A cross-encoder is trained and measured on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragassay.models.entailment import N_SENTENCES, NEUTRAL, titled
from ragassay.optimizers.finetuning.claims import NOT_RELEVANT, LabelledClaim
from ragassay.retrievers.closest import closest_text
from ragassay.retrievers.rerank import TextEncoder


NOT_CONTRADICTED, UNLABELLED = 3, 4
"""Labels of a pair that is supported or neutral, nobody knows which; and of one that only a teacher
has seen."""


@dataclass(frozen=True)
class Example:
    """A claim and a passage.

    Attributes:
        claim: The claim.
        passage: The passage, as the verifier reads it.
        label: `SUPPORTS`, `CONTRADICTS`, `NEUTRAL`, or one of the two above.
        taught: Probabilities of the three labels by a larger verifier, the teacher (Hinton et al.
            2015); None without one.
    """

    claim: str
    passage: str
    label: int
    taught: tuple[float, float, float] | None = None


def claim_examples(
    claims: Iterable[LabelledClaim], embedder: TextEncoder, *, marked: bool = False
) -> list[Example]:
    """Pair claims with their document's title and the closest sentences.

    Args:
        claims: Labelled claims; `NOT_RELEVANT` becomes neutral.
        embedder: Finds the closest sentences.
        marked: Whether sentences that people marked as decisive come first.
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

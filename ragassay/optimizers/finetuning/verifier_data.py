"""What a citation verifier learns from: labelled claims, and what can be made of them.

Of a document the closest sentences are read, and with them those that people marked as deciding
the label. People's sets hold few contradictions, and a verifier that saw few takes shared words for
support. So, where people marked what decides, a supported claim is also learnt turned into its
contradiction, a contradicted one turned into what is supported. A verifier that writes also learns
some claims beside the document of another, which says nothing of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ragassay.agents.tuned_verifier import N_READ, TunedVerifier, passage_for
from ragassay.optimizers.finetuning.claims import (
    NOT_RELEVANT,
    WORDS,
    LabelledClaim,
    grouped,
    read_claims,
)
from ragassay.optimizers.finetuning.contradictions import contrary
from ragassay.optimizers.finetuning.examples import ChatExample, as_messages, as_reply
from ragassay.records import Rejection
from ragassay.retrievers.rerank import TextEncoder

FOREIGN = 0.1
"""Share of the claims that are also learnt beside the document of another."""

N_MARKED = N_READ - 1
"""Most sentences that are read because people marked them; the closest fill up the rest."""


def read_verifier_examples(
    paths: Sequence[Path], embedder: TextEncoder, *, seed: int = 0
) -> tuple[list[ChatExample], list[Rejection]]:
    """Examples of the claims of files, as `read_claims` reads them and `verifier_examples` makes.

    Raises:
        InputError: A file cannot be opened.
    """
    results = [read_claims(path) for path in paths]
    # Files may share claims and documents.
    claims = grouped([claim for claims, _ in results for claim in claims])
    rejections = [rejection for _, rejected in results for rejection in rejected]
    return verifier_examples(claims, embedder, seed=seed), rejections


def verifier_examples(
    claims: Sequence[LabelledClaim], embedder: TextEncoder, *, seed: int = 0
) -> list[ChatExample]:
    """Examples of claims, with what their document says of each and of its contrary.

    Args:
        claims: Those to learn from, without the groups that are held out.
        embedder: Chooses the sentences that are read.
        seed: Of what is made of them.

    Returns:
        In the order of the claims; those of a claim are of its group.
    """
    rng = random.Random(seed)
    found: list[ChatExample] = []
    for claim in claims:
        found.append(_example(claim, embedder))
        turned = contrary(claim, rng) if claim.rationale else None
        if turned:
            found.append(_example(turned, embedder, "turned"))
        other = rng.choice(claims)
        if other.group != claim.group and rng.random() < FOREIGN:
            beside = replace(other, claim=claim.claim, group=claim.group, label=NOT_RELEVANT)
            found.append(_example(replace(beside, rationale=()), embedder, "foreign"))
    return found


def _example(claim: LabelledClaim, embedder: TextEncoder, kind: str = "") -> ChatExample:
    marked = claim.rationale[:N_MARKED]
    read = passage_for(claim.claim, claim.title, claim.sentences, embedder, marked)
    word = WORDS[claim.label]
    return ChatExample(
        messages=as_messages(_VERIFIER.messages(claim.claim, read)),
        reply=as_reply({"label": word}),
        group=claim.group,
        kind=f"{word}, {kind}" if kind else word,
    )


_VERIFIER = TunedVerifier()

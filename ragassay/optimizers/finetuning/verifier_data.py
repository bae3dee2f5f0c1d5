"""A citation verifier's training data: labelled claims, and examples derived from them.

The verifier reads a document's closest sentences, and those that people marked as decisive. Sets of
claims contain few contradictions, and a verifier that saw few takes shared words for support. So,
where people marked the decisive sentences, a supported claim is also learnt as its contradiction,
and a contradicted one as a supported claim. A generative verifier also learns some claims with the
document of another claim, which is not relevant to them.
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
"""Share of the claims that are also paired with the document of another claim."""

N_MARKED = N_READ - 1
"""Most marked sentences to read; the closest ones fill up the rest."""


def read_verifier_examples(
    paths: Sequence[Path], embedder: TextEncoder, *, seed: int = 0
) -> tuple[list[ChatExample], list[Rejection]]:
    """Read the claims of files, and return examples of them.

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
    """Return examples of claims and of their contraries, with their documents.

    Args:
        claims: The training claims, without held-out groups.
        embedder: Chooses the sentences to read.
        seed: The seed of all draws.

    Returns:
        In the order of the claims, each in its claim's group.
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

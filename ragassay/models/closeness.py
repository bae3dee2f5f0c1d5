"""Measure how close a claim is to a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.text.bm25 import rank

if TYPE_CHECKING:
    from ragassay.models.embeddings import Embedder

N_NEAR = 12
"""Sentences of a text, by BM25, whose cosine with a claim is taken."""


def closest_cosine(claim: str, sentences: Sequence[str], embedder: Embedder) -> float:
    """Return the cosine of a claim with the closest sentence of a text, in [-1, 1].

    Args:
        claim: The claim.
        sentences: Of the text; the `N_NEAR` that BM25 ranks closest are embedded. 0 without one.
        embedder: Embeds claim and sentences.
    """
    near = [sentences[place] for place, _ in rank(claim, sentences)[:N_NEAR]] or sentences[:1]
    if not near:
        return 0.0
    vectors = embedder.encode([claim, *near])
    return float((vectors[1:] @ vectors[0]).max())

"""Select the sentences of a text that are closest to a claim."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ragassay.retrievers.rerank import TextEncoder


def closest_sentences(
    claim: str,
    sentences: Sequence[str],
    embedder: TextEncoder,
    n: int,
    wanted: Collection[int] = (),
) -> list[str]:
    """Return at most `n` sentences, those closest to a claim, in their order.

    Args:
        claim: The claim to compare with.
        sentences: May be empty.
        embedder: Provides the vectors for the cosine.
        n: At least 1.
        wanted: Positions of sentences to choose before others.
    """
    if len(sentences) <= n:
        return list(sentences)
    vectors = embedder.encode([claim, *sentences])
    order = sorted(
        range(len(sentences)), key=lambda i: (i not in wanted, -float(vectors[i + 1] @ vectors[0]))
    )
    return [sentences[i] for i in sorted(order[:n])]

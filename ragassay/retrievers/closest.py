"""The sentences of a text that are closest to a claim."""

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
    """At most `n` sentences, those closest to a claim, in their order.

    Args:
        claim: What they are compared with.
        sentences: May be empty.
        embedder: Measures the cosine.
        n: At least 1.
        wanted: Places of those that are chosen before others.
    """
    if len(sentences) <= n:
        return list(sentences)
    vectors = embedder.encode([claim, *sentences])
    order = sorted(
        range(len(sentences)), key=lambda i: (i not in wanted, -float(vectors[i + 1] @ vectors[0]))
    )
    return [sentences[i] for i in sorted(order[:n])]


def closest_text(
    claim: str,
    sentences: Sequence[str],
    embedder: TextEncoder,
    n: int,
    wanted: Collection[int] = (),
) -> str:
    """The sentences of `closest_sentences`, each on a line of its own.

    The shipped verifiers read them so, in training as in a run.
    """
    return "\n".join(closest_sentences(claim, sentences, embedder, n, wanted))

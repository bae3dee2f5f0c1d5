"""Say where in a text a sentence stands, as the model of following sentences reads it."""

from __future__ import annotations

from collections.abc import Sequence

START, END = "[start]", "[end]"
"""Marks before a text's question, where its start is in sight, and before its last sentence."""

N_BEFORE = 3
"""Most sentences that are read before a sentence."""


def following_pair(
    question: str, before: Sequence[str], sentence: str, *, is_last: bool
) -> tuple[str, str]:
    """Return a sentence and what stands before it, as claim and passage.

    Args:
        question: What the text answers, or its title.
        before: All sentences before it.
        sentence: The sentence.
        is_last: Whether no other follows.
    """
    seen = list(before[-N_BEFORE:])
    if len(before) < N_BEFORE:
        seen.insert(0, f"{START} {question}")
    return (f"{END} {sentence}" if is_last else sentence), " ".join(seen)


def following_pairs(question: str, sentences: Sequence[str]) -> list[tuple[str, str]]:
    """Return such a pair for each sentence of a text."""
    last = len(sentences) - 1
    return [
        following_pair(question, sentences[:i], sentence, is_last=i == last)
        for i, sentence in enumerate(sentences)
    ]

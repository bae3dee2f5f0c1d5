"""Cut a sentence into clauses. No model is called."""

from __future__ import annotations


def clauses_of(sentence: str) -> list[str]:
    """Return the clauses of a sentence, each as a sentence of its own."""
    return [sentence]

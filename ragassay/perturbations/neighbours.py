"""Supply sentences of the same domain, drugs and PMIDs from other answers."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ragassay.perturbations.answer import Piece, cut
from ragassay.records import Document, Record

_LEAST_WORDS = 6
"""A shorter sentence says too little to be out of place."""


class Neighbours:
    """The records of an audit, each seen from another. Look-ups are cached.

    Args:
        records: All of them.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = tuple(records)
        self._keys = [question_key(record) for record in records]
        self._pieces: dict[int, tuple[Piece, ...]] = {}

    def sentence(self, record: Record, rng: random.Random) -> Piece | None:
        """Return a sentence of an answer to another question; None where there is none."""
        numbers = self._of_other_questions(record)
        while numbers:
            pieces = self._long(numbers.pop(rng.randrange(len(numbers))))
            if pieces:
                return rng.choice(pieces)
        return None

    def documents(self, record: Record, rng: random.Random, n: int) -> list[Document]:
        """Return sources of up to n records with another question, in a drawn order."""
        others = self._of_other_questions(record)
        chosen = rng.sample(others, min(n, len(others)))
        return [document for other in chosen for document in self._records[other].sources]

    def _of_other_questions(self, record: Record) -> list[int]:
        own = question_key(record)
        return [i for i, key in enumerate(self._keys) if key != own]

    def _long(self, number: int) -> tuple[Piece, ...]:
        if number not in self._pieces:
            pieces = cut(self._records[number]).pieces
            self._pieces[number] = tuple(
                piece for piece in pieces if len(piece.words.split()) >= _LEAST_WORDS
            )
        return self._pieces[number]


def question_key(record: Record) -> str:
    """Return a key that answers to the same question share: the topic, else the question."""
    return record.topic or " ".join(record.question.lower().split())

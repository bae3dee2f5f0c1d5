"""The other answers: where sentences of the same domain, drugs and PMIDs come from."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ragassay.perturbations.answer import Piece, cut
from ragassay.records import Document, Record

_LEAST_WORDS = 6
"""A shorter sentence says too little to be out of place."""


class Neighbours:
    """The records of an audit, each seen from another. What is looked up is kept.

    Args:
        records: All of them.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = tuple(records)
        self._pieces: dict[int, tuple[Piece, ...]] = {}

    def of_other_questions(self, record: Record) -> list[Record]:
        """The records that answer another question, in order."""
        own = question_key(record)
        return [other for other in self._records if question_key(other) != own]

    def sentence(self, record: Record, rng: random.Random) -> Piece | None:
        """A sentence of an answer to another question; None where there is no such answer."""
        own = question_key(record)
        numbers = [i for i, other in enumerate(self._records) if question_key(other) != own]
        rng.shuffle(numbers)
        for number in numbers:
            pieces = self._long(number)
            if pieces:
                return rng.choice(pieces)
        return None

    def documents(self, record: Record, rng: random.Random, n: int) -> list[Document]:
        """Sources of up to n records with another question, in a drawn order."""
        others = self.of_other_questions(record)
        chosen = rng.sample(others, min(n, len(others)))
        return [document for other in chosen for document in other.sources]

    def _long(self, number: int) -> tuple[Piece, ...]:
        if number not in self._pieces:
            pieces = cut(self._records[number]).pieces
            self._pieces[number] = tuple(
                piece for piece in pieces if len(piece.words.split()) >= _LEAST_WORDS
            )
        return self._pieces[number]


def question_key(record: Record) -> str:
    """The same for answers to the same question: the topic, else the question's words."""
    return record.topic or " ".join(record.question.lower().split())

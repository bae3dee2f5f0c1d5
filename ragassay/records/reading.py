"""What a fine-tuned judge sees in an answer while it reads it, sentence by sentence."""

from __future__ import annotations

from typing import Literal, get_args

from ragassay.records.base import Frozen
from ragassay.records.verdicts import Usage

Mark = Literal["fine", "subject", "question", "chatty", "post", "again", "judge"]

MARKS: tuple[Mark, ...] = get_args(Mark)
"""What a sentence is: at its place, on another subject, on another question of the field, chatty,
a post of social media, a repetition, or text that talks to the judge."""

FINE: Mark = "fine"


class Reading(Frozen):
    """An answer as it was read.

    Attributes:
        marks: Of its sentences, in their order; of a very long answer those of the first ones.
        usage: What reading it took.
    """

    marks: tuple[Mark, ...]
    usage: Usage = Usage()

    @property
    def faults(self) -> dict[int, Mark]:
        """The sentences that are not fine, by their numbers, which count from 1."""
        return {n: mark for n, mark in enumerate(self.marks, 1) if mark != FINE}

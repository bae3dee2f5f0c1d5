"""A fine-tuned judge's marks for the sentences of an answer."""

from __future__ import annotations

from typing import Literal, get_args

from ragassay.records.base import Frozen
from ragassay.records.verdicts import Usage

Mark = Literal["fine", "subject", "question", "chatty", "post", "again", "judge"]

MARKS: tuple[Mark, ...] = get_args(Mark)
"""The kinds of sentences: fine, on another subject, on another question of the field, chatty, a
post of social media, a repetition, or text that addresses the judge."""

FINE: Mark = "fine"


class Reading(Frozen):
    """A fine-tuned judge's reading of an answer.

    Attributes:
        marks: One per sentence, in order; for a very long answer, the first sentences only.
        usage: Tokens and cost.
    """

    marks: tuple[Mark, ...]
    usage: Usage = Usage()

    @property
    def faults(self) -> dict[int, Mark]:
        """The sentences that are not fine, by their 1-based numbers."""
        return {n: mark for n, mark in enumerate(self.marks, 1) if mark != FINE}

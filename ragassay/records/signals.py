"""Signals of an answer, and the marks that a fine-tuned judge gives its sentences."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from ragassay.records.base import Frozen
from ragassay.records.verdicts import Usage


class SentenceSignals(Frozen):
    """Measurements of one sentence; cosines are MiniLM's, in [-1, 1].

    Attributes:
        sentence: 1-based.
        twin: Number of the most similar sentence of the answer; None for a single sentence.
        values: By the signal's name; signals that do not apply are left out.
    """

    sentence: int = Field(ge=1)
    twin: int | None = None
    values: dict[str, float] = Field(default_factory=dict)


class SourceGap(Frozen):
    """A sentence of a source that is relevant to the question but that the answer does not cover.

    Attributes:
        document: The source's id.
        text: The sentence.
        nearness: Its cosine with the closest sentence of the answer.
    """

    document: str
    text: str
    nearness: float


class Signals(Frozen):
    """Measurements of one answer.

    Attributes:
        values: For the whole answer, by the signal's name; signals that do not apply are left out.
        sentences: One per sentence.
        gaps: The sentences of sources that the answer covers least.
    """

    values: dict[str, float] = Field(default_factory=dict)
    sentences: tuple[SentenceSignals, ...] = ()
    gaps: tuple[SourceGap, ...] = ()


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

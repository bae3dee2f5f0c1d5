"""What was measured of an answer before a rubric was judged."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import Frozen


class SentenceSignals(Frozen):
    """Measurements of one sentence; cosines are MiniLM's, in [-1, 1].

    Attributes:
        sentence: 1-based.
        twin: Number of the sentence of the answer that is most similar to it; None for a single.
        values: By the signal's name; a signal that does not apply is left out.
    """

    sentence: int = Field(ge=1)
    twin: int | None = None
    values: dict[str, float] = Field(default_factory=dict)


class Signals(Frozen):
    """Measurements of one answer.

    Attributes:
        values: Of the answer as a whole, by the signal's name; one that does not apply is left out.
        sentences: Of each sentence.
    """

    values: dict[str, float] = Field(default_factory=dict)
    sentences: tuple[SentenceSignals, ...] = ()

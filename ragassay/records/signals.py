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


class SourceGap(Frozen):
    """A sentence of a source that speaks to the question and that no sentence of the answer covers.

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
        values: Of the answer as a whole, by the signal's name; one that does not apply is left out.
        sentences: Of each sentence.
        gaps: What of the sources the answer covers least.
    """

    values: dict[str, float] = Field(default_factory=dict)
    sentences: tuple[SentenceSignals, ...] = ()
    gaps: tuple[SourceGap, ...] = ()

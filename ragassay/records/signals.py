"""Measurements of an answer, made before its rubrics are judged."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import Frozen


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

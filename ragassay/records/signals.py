"""Measurements of an answer before its verdicts: signals, searches, marks of sentences."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from ragassay.records.base import EvidenceSide, Frozen, SearchEnd
from ragassay.records.verdicts import Failure, Usage


class SentenceSignals(Frozen):
    """Measurements of one sentence; cosines are MiniLM's, in [-1, 1].

    Attributes:
        twin: Number of the most similar sentence of the answer; None for a single sentence.
        values: By the signal's name; signals that do not apply are left out.
    """

    sentence: int = Field(ge=1)
    twin: int | None = None
    values: dict[str, float] = Field(default_factory=dict)


class SourceGap(Frozen):
    """A sentence of a source that is relevant to the question but that the answer does not cover.

    Attributes:
        nearness: Its cosine with the closest sentence of the answer.
    """

    document: str
    text: str
    nearness: float


class Signals(Frozen):
    """Measurements of one answer.

    Attributes:
        values: For the whole answer, by the signal's name; signals that do not apply are left out.
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
    """

    marks: tuple[Mark, ...]
    usage: Usage = Usage()

    @property
    def faults(self) -> dict[int, Mark]:
        """The sentences that are not fine, by their 1-based numbers."""
        return {n: mark for n, mark in enumerate(self.marks, 1) if mark != FINE}


class SearchQuery(Frozen):
    """A query to a corpus.

    Attributes:
        side: Whether it looks for evidence for the sentence or against it; None for an agent's
            query.
        round: The round of the search, 1-based.
        n_new: Those of them that no earlier query on the same answer found.
    """

    text: str
    side: EvidenceSide | None = None
    round: int = Field(ge=1)
    n_found: int = Field(default=0, ge=0)
    n_new: int = Field(default=0, ge=0)


class EvidenceSearch(Frozen):
    """The search for evidence on one sentence.

    Attributes:
        n_documents: Documents to choose passages from, including the answer's sources.
        n_withdrawn: Retracted articles that were found and left out.
        n_judgments: How often the judge said whether the passages are enough.
        failure: Why the model wrote no query, or the agent stopped early; other results stand.
        judgment_failure: Why the judge did not say, the last time, whether the passages are enough.
    """

    sentence: int = Field(ge=1)
    queries: tuple[SearchQuery, ...] = ()
    n_documents: int = Field(default=0, ge=0)
    n_withdrawn: int = Field(default=0, ge=0)
    end: SearchEnd
    n_judgments: int = Field(default=0, ge=0)
    usage: Usage = Usage()
    failure: Failure | None = None
    judgment_failure: Failure | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_unjudged_end(cls, raw: Any) -> Any:
        """Read what earlier versions called enough: passages above a cosine, which none judged."""
        if not isinstance(raw, dict) or raw.get("end") != "enough":
            return raw
        return raw if raw.get("n_judgments") else {**raw, "end": "closest_passages"}

"""Signals, evidence searches and sentence marks, which precede the verdicts on an answer."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from ragassay.records.base import EvidenceSide, Frozen, SearchEnd
from ragassay.records.verdicts import Failure, Usage


class SentenceSignals(Frozen):
    """Signals of one sentence. Cosines come from MiniLM and are in [-1, 1].

    Attributes:
        twin: Number of the most similar other sentence, or None if there is only one sentence.
        values: Values by signal name, without signals that do not apply to the sentence.
    """

    sentence: int = Field(ge=1)
    twin: int | None = None
    values: dict[str, float] = Field(default_factory=dict)


class SourceGap(Frozen):
    """Source sentence that is similar to the question but not covered by the answer.

    Attributes:
        nearness: Cosine similarity with the most similar sentence of the answer.
    """

    document: str
    text: str
    nearness: float


class Signals(Frozen):
    """Signals of one answer.

    Attributes:
        values: Values for the whole answer by signal name, without signals that do not apply.
    """

    values: dict[str, float] = Field(default_factory=dict)
    sentences: tuple[SentenceSignals, ...] = ()
    gaps: tuple[SourceGap, ...] = ()


Mark = Literal["fine", "subject", "question", "chatty", "post", "again", "judge"]

MARKS: tuple[Mark, ...] = get_args(Mark)
"""Marks of a sentence: no fault, different subject, different question in the same field, chatty,
social media post, repetition, or addressed to the judge."""

FINE: Mark = "fine"


class Reading(Frozen):
    """Marks that a fine-tuned judge gave to the sentences of an answer.

    Attributes:
        marks: One mark per sentence. For very long answers, only the first sentences are marked.
    """

    marks: tuple[Mark, ...]
    usage: Usage = Usage()

    @property
    def faults(self) -> dict[int, Mark]:
        """Marks of the sentences with a fault, keyed by 1-based sentence number."""
        return {n: mark for n, mark in enumerate(self.marks, 1) if mark != FINE}


class SearchQuery(Frozen):
    """Query sent to a corpus.

    Attributes:
        side: Whether the query looks for evidence for or against the sentence, or None for a query
            by an agent.
        round: 1-based search round.
        n_new: Number of documents that no earlier query for the same answer found.
    """

    text: str
    side: EvidenceSide | None = None
    round: int = Field(ge=1)
    n_found: int = Field(default=0, ge=0)
    n_new: int = Field(default=0, ge=0)


class EvidenceSearch(Frozen):
    """The search for evidence for and against one sentence.

    Attributes:
        n_documents: Number of candidate documents, including the sources of the answer.
        n_withdrawn: Number of retracted articles that were excluded.
        n_judgments: Number of times that the judge decided whether the passages are sufficient.
        failure: Reason why the model wrote no query, or why the agent stopped early. The passages
            that were found are still used.
        judgment_failure: Reason why the judge last failed to decide whether the passages are
            sufficient.
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
        """Replace the end "enough" of searches that earlier versions ran without a judge."""
        if not isinstance(raw, dict) or raw.get("end") != "enough":
            return raw
        return raw if raw.get("n_judgments") else {**raw, "end": "closest_passages"}

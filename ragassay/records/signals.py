"""Measurements of an answer before judging: signals, searches and sentence marks."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from ragassay.records.base import EvidenceSide, Frozen, SearchEnd
from ragassay.records.verdicts import Failure, Usage


class SentenceSignals(Frozen):
    """Signals of one sentence. Cosines come from MiniLM and are in [-1, 1].

    Attributes:
        twin: Number of the most similar other sentence. None if there is only one sentence.
        values: Values by signal name. Signals that do not apply are omitted.
    """

    sentence: int = Field(ge=1)
    twin: int | None = None
    values: dict[str, float] = Field(default_factory=dict)


class SourceGap(Frozen):
    """Relevant source sentence that the answer does not cover.

    Attributes:
        nearness: Cosine similarity to the most similar sentence in the answer.
    """

    document: str
    text: str
    nearness: float


class Signals(Frozen):
    """Signals of one answer.

    Attributes:
        values: Values for the whole answer by signal name. Signals that do not apply are omitted.
    """

    values: dict[str, float] = Field(default_factory=dict)
    sentences: tuple[SentenceSignals, ...] = ()
    gaps: tuple[SourceGap, ...] = ()


Mark = Literal["fine", "subject", "question", "chatty", "post", "again", "judge"]

MARKS: tuple[Mark, ...] = get_args(Mark)
"""Sentence marks: fine, different subject, different question in the same field, chatty, social
media post, repetition, or addressed to the judge."""

FINE: Mark = "fine"


class Reading(Frozen):
    """Sentence marks from a fine-tuned judge.

    Attributes:
        marks: One mark per sentence. For very long answers, only the first sentences are marked.
    """

    marks: tuple[Mark, ...]
    usage: Usage = Usage()

    @property
    def faults(self) -> dict[int, Mark]:
        """Marks of sentences that are not fine, by 1-based sentence number."""
        return {n: mark for n, mark in enumerate(self.marks, 1) if mark != FINE}


class SearchQuery(Frozen):
    """Query sent to a corpus.

    Attributes:
        side: Side that the query looks for. None for queries by an agent.
        round: 1-based search round.
        n_new: Number of hits that no earlier query for the same answer found.
    """

    text: str
    side: EvidenceSide | None = None
    round: int = Field(ge=1)
    n_found: int = Field(default=0, ge=0)
    n_new: int = Field(default=0, ge=0)


class EvidenceSearch(Frozen):
    """Evidence search for one sentence.

    Attributes:
        n_documents: Number of candidate documents, including the sources of the answer.
        n_withdrawn: Number of excluded retracted articles.
        n_judgments: Number of sufficiency decisions by the judge.
        failure: Reason why the model wrote no query or the agent stopped early. Other results
            remain valid.
        judgment_failure: Reason why the last sufficiency decision failed.
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
        """Convert the value "enough", which earlier versions also used without a judge."""
        if not isinstance(raw, dict) or raw.get("end") != "enough":
            return raw
        return raw if raw.get("n_judgments") else {**raw, "end": "closest_passages"}

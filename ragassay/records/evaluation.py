"""What comes out for one answer."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import Frozen
from ragassay.records.inputs import AnswerSentence, Document, Nugget
from ragassay.records.searches import EvidenceSearch
from ragassay.records.signals import Signals
from ragassay.records.verdicts import (
    CitationVerdict,
    DocumentFacts,
    EvidenceVerdict,
    Judgment,
    NuggetAssignment,
    NuggetMatch,
    SentenceCorrectness,
    SentenceLabel,
    Usage,
)


class Score(Frozen):
    """An aggregate that says what it rests on.

    Attributes:
        value: None where nothing was scored.
        n: How many verdicts it rests on.
        n_unscored: How many could not be had and were left out.
        low: Lower end of the 95 % interval; None where undefined.
        high: Upper end of the 95 % interval; None where undefined.
        worst: The value, had every unscored verdict come out worst.
        best: The value, had every unscored verdict come out best.
        scale: The range that the value lies in.
        judge: The model that gave the verdicts; empty where none was asked.
    """

    value: float | None
    n: int = Field(ge=0)
    n_unscored: int = Field(default=0, ge=0)
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    best: float | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    judge: str = ""


class Finding(Frozen):
    """Something that a reader must not miss and that no mean may hide.

    Attributes:
        kind: e.g. "inappropriate_sentence", "contradicted_citation", "invalid_citation",
            "sources_cut", "extractive_nugget", "unscored".
        message: One sentence for a person.
        sentence: 1-based, where it is about one.
    """

    kind: str
    message: str
    sentence: int | None = None


class Evaluation(Frozen):
    """Everything that was found out about one answer.

    `scores` is keyed "rubric.cohesion", "nuggets.recall", "sentences.required",
    "evidence.support", "citations.support" and so on, in a stable order.
    """

    record_id: str
    question: str
    answer: str
    system: str | None = None
    topic: str | None = None
    judge: str = ""
    fingerprint: str = ""
    sentences: tuple[AnswerSentence, ...] = ()
    sources: tuple[Document, ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    gold_nuggets: tuple[Nugget, ...] = ()
    matches: tuple[NuggetMatch, ...] = ()
    assignments: tuple[NuggetAssignment, ...] = ()
    signals: Signals | None = None
    judgments: tuple[Judgment, ...] = ()
    labels: tuple[SentenceLabel, ...] = ()
    evidence: tuple[EvidenceVerdict, ...] = ()
    searches: tuple[EvidenceSearch, ...] = ()
    correctness: tuple[SentenceCorrectness, ...] = ()
    citations: tuple[CitationVerdict, ...] = ()
    facts: tuple[DocumentFacts, ...] = ()
    scores: dict[str, Score] = Field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    usage: Usage = Usage()

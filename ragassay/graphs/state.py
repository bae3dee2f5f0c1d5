"""What flows along the edges of the evaluation graph."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from ragassay.records import (
    Case,
    CitationVerdict,
    Document,
    Evaluation,
    EvidenceSearch,
    EvidenceSide,
    EvidenceSpan,
    EvidenceVerdict,
    Finding,
    Judgment,
    NuggetAssignment,
    NuggetOrigin,
    Record,
    SentenceLabel,
    SentenceNuggets,
)

TaskKind = Literal["nuggetize", "judge_rubric", "label_sentence", "assign_nugget", "verify_claim"]


@dataclass(frozen=True)
class Found:
    """A passage that was found for a sentence.

    Attributes:
        sentence: 1-based.
        side: What was looked for.
        rank: Its place on that side, 1 for the best.
        passage: The passage.
    """

    sentence: int
    side: EvidenceSide
    rank: int
    passage: EvidenceSpan


@dataclass(frozen=True)
class Cited:
    """The passage of a cited document that is closest to the sentence that cites it.

    Attributes:
        sentence: 1-based.
        marker: The citation's.
        passage: The passage.
    """

    sentence: int
    marker: str
    passage: EvidenceSpan


@dataclass
class State:
    """The state of one evaluation. Lists grow from all branches and are put in order at the end.

    Attributes:
        record: What was handed in.
        case: The record cut into what the judges look at.
        found: Passages that were found for sentences, in the order of the sentences.
        cited: Passages of cited documents, in the order of the citations.
        searches: How evidence was looked for.
        notices: What is known against cited articles.
        nuggets, judgments, labels, assignments, evidence, citations: Verdicts.
        evaluation: The outcome.
    """

    record: Record
    case: Case | None = None
    found: tuple[Found, ...] = ()
    cited: tuple[Cited, ...] = ()
    searches: tuple[EvidenceSearch, ...] = ()
    notices: tuple[Finding, ...] = ()
    nuggets: Annotated[list[SentenceNuggets], operator.add] = field(default_factory=list)
    judgments: Annotated[list[Judgment], operator.add] = field(default_factory=list)
    labels: Annotated[list[SentenceLabel], operator.add] = field(default_factory=list)
    assignments: Annotated[list[NuggetAssignment], operator.add] = field(default_factory=list)
    evidence: Annotated[list[EvidenceVerdict], operator.add] = field(default_factory=list)
    citations: Annotated[list[CitationVerdict], operator.add] = field(default_factory=list)
    evaluation: Evaluation | None = None


@dataclass(frozen=True)
class Input:
    """What the graph is called with."""

    record: Record


@dataclass(frozen=True)
class Output:
    """What the graph returns."""

    evaluation: Evaluation


@dataclass(frozen=True)
class Task:
    """One verdict to be had; the payload of a `Send`.

    Attributes:
        kind: Which verdict; the node's name.
        case: The case.
        key: Hash of everything that the verdict depends on; the node cache's key.
        item: Number of the sentence or gold nugget (1-based), where it is about one.
        rubric: Name of the rubric, where it is about one.
        origin: Whose sentence is nuggetized.
        passage: What a claim is compared with.
        side: What the passage was found for; None where only a citation points to it.
        rank: Its place on that side.
        markers: The sentence's citations whose document the passage is the best one of.
    """

    kind: TaskKind
    case: Case
    key: str = ""
    item: int = 0
    rubric: str = ""
    origin: NuggetOrigin = "answer"
    passage: EvidenceSpan | None = None
    side: EvidenceSide | None = None
    rank: int = 1
    markers: tuple[str, ...] = ()


SERIALIZED_TYPES: tuple[type, ...] = (Found, Cited, State, Input, Output, Task, Document)
"""Types of ours that a checkpoint holds, beside the records."""

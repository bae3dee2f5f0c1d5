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
    EvidenceSpan,
    EvidenceVerdict,
    Finding,
    Judgment,
    NuggetOrigin,
    Record,
    SentenceLabel,
    SentenceNuggets,
)

TaskKind = Literal["nuggetize", "judge_rubric", "label_sentence", "verify_claim"]


@dataclass(frozen=True)
class Passages:
    """What was found for an answer.

    Attributes:
        claims: Per sentence, the best passage anywhere; None where nothing was found.
        cited: Per sentence and citation (1-based sentence, marker), the best passage of the
            cited document.
    """

    claims: tuple[EvidenceSpan | None, ...] = ()
    cited: dict[str, EvidenceSpan | None] = field(default_factory=dict)


def cited_key(sentence: int, marker: str) -> str:
    """Key of a citation in `Passages.cited`."""
    return f"{sentence}:{marker}"


@dataclass
class State:
    """The state of one evaluation. Lists grow from all branches and are put in order at the end.

    Attributes:
        record: What was handed in.
        case: The record cut into what the judges look at.
        passages: Evidence, once it was looked for.
        notices: What is known against cited articles.
        nuggets, judgments, labels, evidence, citations: Verdicts.
        evaluation: The outcome.
    """

    record: Record
    case: Case | None = None
    passages: Passages | None = None
    notices: tuple[Finding, ...] = ()
    nuggets: Annotated[list[SentenceNuggets], operator.add] = field(default_factory=list)
    judgments: Annotated[list[Judgment], operator.add] = field(default_factory=list)
    labels: Annotated[list[SentenceLabel], operator.add] = field(default_factory=list)
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
        item: Number of the sentence (1-based), where it is about one.
        rubric: Name of the rubric, where it is about one.
        origin: Whose sentence is nuggetized.
        passage: What a claim is compared with.
        is_best: Whether the passage is the best one found for the sentence anywhere.
        markers: The sentence's citations whose document the passage is the best one of.
    """

    kind: TaskKind
    case: Case
    key: str = ""
    item: int = 0
    rubric: str = ""
    origin: NuggetOrigin = "answer"
    passage: EvidenceSpan | None = None
    is_best: bool = False
    markers: tuple[str, ...] = ()


SERIALIZED_TYPES: tuple[type, ...] = (Passages, State, Input, Output, Task, Document)
"""Types of ours that a checkpoint holds, beside the records."""

"""What flows along the edges of the evaluation graph."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from ragassay.errors import InputError
from ragassay.metrics.uncertainty import Weighed
from ragassay.records import (
    Case,
    CitationVerdict,
    Document,
    DocumentFacts,
    Evaluation,
    EvidenceSearch,
    EvidenceSide,
    EvidenceSpan,
    EvidenceVerdict,
    Finding,
    Judgment,
    NuggetAssignment,
    NuggetOrigin,
    NuggetVerdict,
    Reading,
    Record,
    SentenceCorrectness,
    SentenceLabel,
    SentenceNuggets,
    Signals,
)

TaskKind = Literal[
    "nuggetize",
    "judge_rubric",
    "label_sentence",
    "assign_nugget",
    "verify_claim",
    "list_facts",
    "verify_nugget",
    "confer",
]


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
    """What of a cited document is compared with the sentence that cites it.

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
        signals: What was measured of the answer; None where nothing was.
        readings: What fine-tuned judges saw in the answer, by their seats in a panel; "" where
            there is none.
        correctness: Whether the passages bear the sentences out, by a model beside the judge.
        facts: Of the cited documents, where citations are checked nugget by nugget.
        nuggets, judgments, labels, assignments, evidence, citations, nugget_verdicts: Verdicts.
        evaluation: The outcome.
    """

    record: Record
    case: Case | None = None
    found: tuple[Found, ...] = ()
    cited: tuple[Cited, ...] = ()
    searches: tuple[EvidenceSearch, ...] = ()
    notices: tuple[Finding, ...] = ()
    signals: Signals | None = None
    readings: dict[str, Reading] = field(default_factory=dict)
    correctness: tuple[SentenceCorrectness, ...] = ()
    facts: Annotated[list[DocumentFacts], operator.add] = field(default_factory=list)
    nuggets: Annotated[list[SentenceNuggets], operator.add] = field(default_factory=list)
    judgments: Annotated[list[Judgment], operator.add] = field(default_factory=list)
    labels: Annotated[list[SentenceLabel], operator.add] = field(default_factory=list)
    assignments: Annotated[list[NuggetAssignment], operator.add] = field(default_factory=list)
    evidence: Annotated[list[EvidenceVerdict], operator.add] = field(default_factory=list)
    citations: Annotated[list[CitationVerdict], operator.add] = field(default_factory=list)
    nugget_verdicts: Annotated[list[NuggetVerdict], operator.add] = field(default_factory=list)
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
        passage: What a claim is compared with, or what facts are listed from.
        side: What the passage was found for; None where only a citation points to it.
        rank: Its place on that side.
        markers: The sentence's citations whose document the passage is the best one of.
        document: Id of the cited document that a nugget is compared with.
        nugget: The nugget.
        facts: The document's.
        judge: Who of a panel is asked; "" where there is none.
        others: What the panel's other judges said, where this one hears them.
        first: What it said before.
        signals: What was measured of the answer, where a rubric is judged with it.
        reading: What a fine-tuned judge saw in the answer; None where it reads it for this rubric.
        said: The first judge's verdicts, where it was not sure and a second one is asked.
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
    document: str = ""
    nugget: str = ""
    facts: tuple[str, ...] = ()
    judge: str = ""
    others: str = ""
    first: Judgment | None = None
    signals: Signals | None = None
    reading: Reading | None = None
    said: tuple[Weighed, ...] = ()

    @property
    def text(self) -> str:
        """The sentence, or the gold nugget, that it is about; empty where it is about neither."""
        if not self.item:
            return ""
        if self.kind == "assign_nugget":
            return self.case.gold[self.item - 1].text
        if self.origin == "reference":
            return self.case.reference_sentences[self.item - 1]
        return self.case.sentences[self.item - 1].text


def passage_of(task: Task) -> EvidenceSpan:
    """The passage of a task that has one.

    Raises:
        InputError: It has none: the node was called with another's task.
    """
    if task.passage is None:
        raise InputError(f"a task of {task.kind} without a passage")
    return task.passage


SERIALIZED_TYPES: tuple[type, ...] = (Found, Cited, State, Input, Output, Task, Document)
"""Types of ours that a checkpoint holds, beside the records."""

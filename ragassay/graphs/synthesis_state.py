"""The state of the synthesis graph."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated

from ragassay.records import Document, Failure, Usage

WORDS = 200
"""About how many words a synthesis has, as YESciEval's."""


@dataclass(frozen=True)
class SynthesisJob:
    """A question that a synthesis is to be written for: the input of the graph.

    Attributes:
        topic: The question's id.
        question: The question.
        sources: Its papers; at least one.
        words: About how many words the synthesis may have.
    """

    topic: str
    question: str
    sources: tuple[Document, ...]
    words: int = WORDS


@dataclass
class SynthesisState:
    """The state of one job: the job, and what came of it.

    Attributes:
        topic, question, sources, words: The job.
        text: The synthesis; empty until it is written, and where it could not be.
        failures: Failed calls.
        usage: The cost of all calls.
    """

    topic: str = ""
    question: str = ""
    sources: tuple[Document, ...] = ()
    words: int = WORDS
    text: str = ""
    failures: Annotated[list[Failure], operator.add] = field(default_factory=list)
    usage: Annotated[Usage, operator.add] = field(default_factory=Usage)


@dataclass(frozen=True)
class SynthesisText:
    """The output of the graph; see `SynthesisState`."""

    text: str
    failures: list[Failure]
    usage: Usage

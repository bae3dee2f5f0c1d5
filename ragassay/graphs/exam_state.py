"""The state of the exam graph."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from ragassay.records import Document, Failure, Usage


@dataclass(frozen=True)
class ExamJob:
    """A query, or a part of it, whose items are to be written: the input of the graph.

    Attributes:
        query: Its id.
        text: Its text, or the title that the facet belongs to.
        kind: What to write.
        facet: Id of the part; empty for the whole.
        facet_text: The part's heading; empty for the whole.
        sources: Texts to write from; empty to write from the query alone.
        wants_answers: Whether questions come with answers.
        number: Items to write.
    """

    query: str
    text: str
    kind: Literal["questions", "nuggets"]
    facet: str = ""
    facet_text: str = ""
    sources: tuple[Document, ...] = ()
    wants_answers: bool = False
    number: int = 10


@dataclass
class ExamState:
    """The state of one job: the job, and what came of it.

    Attributes:
        query, text, kind, facet, facet_text, sources, wants_answers, number: The job.
        texts: The items.
        answers: The answer to each; "" where none is known.
        n_unfounded: Answers that no source states.
        failures: Failed calls.
        usage: The cost of all calls.
    """

    query: str = ""
    text: str = ""
    kind: Literal["questions", "nuggets"] = "questions"
    facet: str = ""
    facet_text: str = ""
    sources: tuple[Document, ...] = ()
    wants_answers: bool = False
    number: int = 10
    texts: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    n_unfounded: int = 0
    failures: Annotated[list[Failure], operator.add] = field(default_factory=list)
    usage: Annotated[Usage, operator.add] = field(default_factory=Usage)


@dataclass(frozen=True)
class ExamItems:
    """The output of the graph; see `ExamState`."""

    texts: tuple[str, ...]
    answers: tuple[str, ...]
    n_unfounded: int
    failures: list[Failure]
    usage: Usage

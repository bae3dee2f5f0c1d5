"""The state of the nugget graph."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from ragassay.records import (
    Document,
    Failure,
    Importance,
    Nugget,
    Usage,
)

LeftOutReason = Literal["not_carried", "duplicate", "too_many"]
"""Why a fact is not on the list: no sentence supports it, it is a duplicate, or the list is full.
"""


@dataclass(frozen=True)
class NuggetJob:
    """A question whose nuggets are to be written: the input of the graph.

    Attributes:
        topic: The question's id.
        sources: The texts to write nuggets from: documents, an answer, or a reference.
        n_window: Number of sources to read at a time.
        accept_all: Whether to accept all nuggets instead of waiting for a person.
    """

    topic: str
    question: str
    sources: tuple[Document, ...]
    n_window: int = 10
    n_most: int = 20
    accept_all: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A fact that is not on the list, with the reason."""

    text: str
    reason: LeftOutReason


@dataclass(frozen=True)
class NuggetImportance:
    """A nugget's importance, by its position on the list; None if the call failed."""

    position: int
    importance: Importance | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class ImportanceTask:
    """The payload of a `Send`: one nugget whose importance to rate."""

    question: str
    facts: tuple[str, ...]
    position: int


@dataclass
class NuggetState:
    """The state of one question.

    Attributes:
        topic, question, sources, n_window, n_most, accept_all: The job.
        windows: The sources in groups, cut to fit into a prompt.
        n_read: Number of windows that were read or failed.
        facts: The last window's facts that are not on the list yet.
        listed: The running list.
        left_out: Facts that are not on it.
        importances: Importance of the nuggets on it.
        failures: Failed calls.
        usage: The cost of all calls.
        nuggets: The result.
    """

    topic: str = ""
    question: str = ""
    sources: tuple[Document, ...] = ()
    n_window: int = 10
    n_most: int = 20
    accept_all: bool = False
    windows: tuple[tuple[Document, ...], ...] = ()
    n_read: int = 0
    facts: tuple[Nugget, ...] = ()
    listed: tuple[Nugget, ...] = ()
    left_out: Annotated[list[LeftOut], operator.add] = field(default_factory=list)
    importances: Annotated[list[NuggetImportance], operator.add] = field(default_factory=list)
    failures: Annotated[list[Failure], operator.add] = field(default_factory=list)
    usage: Annotated[Usage, operator.add] = field(default_factory=Usage)
    nuggets: tuple[Nugget, ...] = ()


@dataclass(frozen=True)
class NuggetList:
    """The output of the graph.

    Attributes:
        nuggets: Vital ones first.
        left_out: Other facts, in the order of writing.
        failures: Failed calls.
        usage: The cost of all calls.
    """

    nuggets: tuple[Nugget, ...]
    left_out: list[LeftOut]
    failures: list[Failure]
    usage: Usage

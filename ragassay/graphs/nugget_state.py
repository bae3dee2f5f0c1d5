"""What flows along the edges of the nugget graph."""

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
"""Why a written fact is not on the list: no sentence carries it, it is there in other words, or
the list is full."""


@dataclass(frozen=True)
class NuggetJob:
    """A question whose nuggets are to be written; what the graph is called with.

    Attributes:
        topic: The question's id.
        question: The question.
        sources: What the nuggets are written from: documents, an answer, or a reference.
        n_window: How many sources are read at a time.
        n_most: How many nuggets there may be in the end.
        accept_all: Without it the graph waits for a person.
    """

    topic: str
    question: str
    sources: tuple[Document, ...]
    n_window: int = 10
    n_most: int = 20
    accept_all: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A fact that was written, and why it is not on the list."""

    text: str
    reason: LeftOutReason


@dataclass(frozen=True)
class Weighed:
    """A nugget's importance, by its position on the list; None where it could not be had."""

    position: int
    importance: Importance | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class WeighTask:
    """One nugget to be weighed; the payload of a `Send`."""

    question: str
    facts: tuple[str, ...]
    position: int


@dataclass
class NuggetState:
    """The state of one question.

    Attributes:
        topic, question, sources, n_window, n_most, accept_all: The job.
        windows: The sources, cut to what fits into a prompt, some at a time.
        n_read: How many windows were read, or given up.
        facts: What the last window gave and is not on the list yet.
        listed: The running list.
        left_out: Facts that are not on it.
        weighed: Importance of what is on it.
        failures: Calls that gave nothing.
        usage: What all calls cost.
        nuggets: The outcome.
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
    weighed: Annotated[list[Weighed], operator.add] = field(default_factory=list)
    failures: Annotated[list[Failure], operator.add] = field(default_factory=list)
    usage: Annotated[Usage, operator.add] = field(default_factory=Usage)
    nuggets: tuple[Nugget, ...] = ()


@dataclass(frozen=True)
class NuggetList:
    """What the graph returns.

    Attributes:
        nuggets: Vital ones first.
        left_out: Facts that were written and are not among them, in the order of writing.
        failures: Calls that gave nothing.
        usage: What all calls cost.
    """

    nuggets: tuple[Nugget, ...]
    left_out: list[LeftOut]
    failures: list[Failure]
    usage: Usage


SERIALIZED_TYPES: tuple[type, ...] = (
    NuggetJob,
    LeftOut,
    Weighed,
    WeighTask,
    NuggetState,
    NuggetList,
)
"""Types of ours that a checkpoint holds, beside the records."""

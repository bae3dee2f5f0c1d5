"""State of the nugget graph."""

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
"""Reason why a fact is not listed: no source states it, it is a duplicate, or the list is full."""


@dataclass(frozen=True)
class NuggetJob:
    """Input of the nugget graph: a question that needs nuggets.

    Attributes:
        sources: Texts to write nuggets from: documents, an answer or a reference.
        n_window: Number of sources per window.
        accept_all: Whether to accept all nuggets without a review.
    """

    topic: str
    question: str
    sources: tuple[Document, ...]
    n_window: int = 10
    n_most: int = 20
    accept_all: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A fact that is not on the final list, with the reason."""

    text: str
    reason: LeftOutReason


@dataclass(frozen=True)
class NuggetImportance:
    """Importance of the nugget at a position of the list, or None if the call failed."""

    position: int
    importance: Importance | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class ImportanceTask:
    """Payload of a `Send` that requests the importance of one nugget."""

    question: str
    facts: tuple[str, ...]
    position: int


@dataclass
class NuggetState:
    """State of the nugget graph for one question.

    Attributes:
        topic, question, sources, n_window, n_most, accept_all: See `NuggetJob`.
        windows: Groups of sources, truncated to fit into a prompt.
        n_read: Number of windows processed, including failed windows.
        facts: Facts from the last window, until they are merged into the list.
        listed: Nuggets collected from the windows so far.
        left_out: Facts that are not on the list, with the reasons.
        importances: Importance labels of the listed nuggets.
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
    """Output of the nugget graph.

    Attributes:
        nuggets: Nuggets, vital nuggets first.
        left_out: Facts that are not on the list, in the order in which they were written.
    """

    nuggets: tuple[Nugget, ...]
    left_out: list[LeftOut]
    failures: list[Failure]
    usage: Usage

"""What flows along the edges of the evidence graph."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from ragassay.evaluators.base import Cited, Found
from ragassay.records import (
    Document,
    EvidenceSearch,
    EvidenceSide,
    Failure,
    SearchQuery,
    Usage,
)


@dataclass(frozen=True)
class QueryTask:
    """Queries to be written, or a search to be made, for a sentence; the payload of a `Send`.

    Attributes:
        case: Id of the case.
        item: Number of the sentence (1-based).
        round: 1-based.
        tried: Queries on this sentence that were not enough.
        found: Titles of what they brought up, the best first.
        key: Hash of everything that the queries depend on; the node cache's key.
    """

    case: str
    item: int
    round: int = 1
    tried: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True)
class Draft:
    """The queries that the model wrote for a sentence.

    Attributes:
        sentence: 1-based.
        round: 1-based.
        query: Looks for what bears the sentence out.
        opposite: The sentence's opposite; looks for what speaks against it.
        usage: What it cost.
        failure: Why there are none.
    """

    sentence: int
    round: int
    query: str = ""
    opposite: str = ""
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None


@dataclass(frozen=True)
class Answered:
    """What a query brought up.

    Attributes:
        sentence: The sentence that it was asked for (1-based).
        query: The query.
        ids: Of the documents, best first, retracted ones left out.
        n_withdrawn: How many retracted ones were left out.
    """

    sentence: int
    query: SearchQuery
    ids: tuple[str, ...] = ()
    n_withdrawn: int = 0


@dataclass(frozen=True)
class Report:
    """What an agent that searched on its own came back with.

    Attributes:
        sentence: 1-based.
        cited: Ids of the documents that it says speak for the sentence, and against it.
        usage: What its turns cost.
        failure: Why it broke off.
    """

    sentence: int
    cited: dict[EvidenceSide, tuple[str, ...]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None


def merge_documents(
    known: Mapping[str, Document], found: Mapping[str, Document]
) -> dict[str, Document]:
    """All documents by id; the first of an id stays."""
    return {**found, **known}


@dataclass
class EvidenceState:
    """The state of the search for evidence on one answer; its sentences share what they find.

    Attributes:
        case: Id of the case.
        round: How many rounds were made.
        drafts: Queries that the model wrote.
        reports: What agents came back with.
        answered: What each query brought up.
        pool: All documents that were found, by id.
        found: The best passages for each sentence so far.
        cited: The best passages of cited documents.
        searches: How evidence was looked for.
    """

    case: str = ""
    round: int = 0
    drafts: Annotated[list[Draft], operator.add] = field(default_factory=list)
    reports: Annotated[list[Report], operator.add] = field(default_factory=list)
    answered: Annotated[list[Answered], operator.add] = field(default_factory=list)
    pool: Annotated[dict[str, Document], merge_documents] = field(default_factory=dict)
    found: tuple[Found, ...] = ()
    cited: tuple[Cited, ...] = ()
    searches: tuple[EvidenceSearch, ...] = ()


@dataclass(frozen=True)
class EvidenceInput:
    """What the evidence graph is called with."""

    case: str


@dataclass(frozen=True)
class EvidenceOutput:
    """What the evidence graph returns."""

    found: tuple[Found, ...]
    cited: tuple[Cited, ...]
    searches: tuple[EvidenceSearch, ...]


SERIALIZED_TYPES: tuple[type, ...] = (
    QueryTask,
    Draft,
    Answered,
    Report,
    EvidenceState,
    EvidenceInput,
    EvidenceOutput,
)
"""Types of ours that a checkpoint holds, beside the records."""

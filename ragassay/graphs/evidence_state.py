"""The state of the evidence graph."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from ragassay.evaluators.cases import Cited, Found
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
    """The payload of a `Send`: write queries, or search, for a sentence.

    Attributes:
        item: Number of the sentence (1-based).
        round: 1-based.
        tried: Earlier queries on this sentence that were not enough.
        found: Titles of their hits, the best first.
        key: Hash of everything that the queries depend on; their key in the store.
    """

    case: str
    item: int
    round: int = 1
    tried: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True)
class SufficiencyTask:
    """The payload of a `Send`: judge whether a sentence's passages are enough.

    Attributes:
        item: Number of the sentence (1-based).
        passages: The passages with their titles.
        key: Hash of everything that the judgment depends on; its key in the store.
    """

    case: str
    item: int
    passages: tuple[str, ...]
    key: str = ""


@dataclass(frozen=True)
class SufficiencyJudgment:
    """The judge's word on whether a sentence's passages are enough.

    Attributes:
        sentence: 1-based.
        key: The task's key: the same passages have the same one.
        is_enough: Whether they are; False where the judgment failed.
        usage: Tokens and cost.
        failure: Why there is no judgment.
    """

    sentence: int
    key: str
    is_enough: bool = False
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None


@dataclass(frozen=True)
class Draft:
    """The queries that the model wrote for a sentence.

    Attributes:
        sentence: 1-based.
        round: 1-based.
        query: Looks for evidence for the sentence.
        opposite: The sentence's opposite; looks for evidence against it.
        usage: Tokens and cost.
        failure: Why there are no queries.
    """

    sentence: int
    round: int
    query: str = ""
    opposite: str = ""
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None


@dataclass(frozen=True)
class Answered:
    """The hits of a query.

    Attributes:
        sentence: The query's sentence (1-based).
        ids: The documents' ids, best first, without retracted ones.
        n_withdrawn: Number of retracted ones.
    """

    sentence: int
    query: SearchQuery
    ids: tuple[str, ...] = ()
    n_withdrawn: int = 0


@dataclass(frozen=True)
class Report:
    """The result of an agent that searched on its own.

    Attributes:
        sentence: 1-based.
        cited: Ids of the documents that it names for the sentence, and against it.
        usage: The cost of its turns.
        failure: Why it stopped early.
    """

    sentence: int
    cited: dict[EvidenceSide, tuple[str, ...]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None


def merge_documents(
    known: Mapping[str, Document], found: Mapping[str, Document]
) -> dict[str, Document]:
    """Return all documents by id; the first one of an id stays."""
    return {**found, **known}


@dataclass
class EvidenceState:
    """The state of the search for evidence on one answer; its sentences share what they find.

    Attributes:
        round: Number of finished rounds.
        drafts: Queries that the model wrote.
        reports: The agents' results.
        judgments: What the judge said on the passages, in the order of the rounds.
        answered: The hits of each query.
        pool: All found documents, by id.
        found: The best passages for each sentence so far.
        cited: The best passages of cited documents.
    """

    case: str = ""
    round: int = 0
    drafts: Annotated[list[Draft], operator.add] = field(default_factory=list)
    reports: Annotated[list[Report], operator.add] = field(default_factory=list)
    judgments: Annotated[list[SufficiencyJudgment], operator.add] = field(default_factory=list)
    answered: Annotated[list[Answered], operator.add] = field(default_factory=list)
    pool: Annotated[dict[str, Document], merge_documents] = field(default_factory=dict)
    found: tuple[Found, ...] = ()
    cited: tuple[Cited, ...] = ()
    searches: tuple[EvidenceSearch, ...] = ()


@dataclass(frozen=True)
class EvidenceInput:
    """The input of the evidence graph."""

    case: str


@dataclass(frozen=True)
class EvidenceOutput:
    """The output of the evidence graph."""

    found: tuple[Found, ...]
    cited: tuple[Cited, ...]
    searches: tuple[EvidenceSearch, ...]

"""State of the evidence graph."""

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
    """Payload of a `Send` that requests queries or an agent search for a sentence.

    Attributes:
        item: 1-based sentence number.
        round: 1-based search round.
        tried: Earlier queries for this sentence.
        found: Titles of documents found by the earlier queries, best first.
        key: Key in the store: a hash of everything that the result depends on.
    """

    case: str
    item: int
    round: int = 1
    tried: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True)
class SufficiencyTask:
    """Payload of a `Send` that requests a judgment on whether passages are sufficient.

    Attributes:
        item: 1-based sentence number.
        passages: Texts of the passages, each after the title of its document.
        key: Key in the store: a hash of everything that the judgment depends on.
    """

    case: str
    item: int
    passages: tuple[str, ...]
    key: str = ""


@dataclass(frozen=True)
class SufficiencyJudgment:
    """Judgment on whether a sentence's passages are sufficient.

    Attributes:
        sentence: 1-based sentence number.
        key: Key of the `SufficiencyTask`, which depends on its passages.
        is_enough: Whether the passages are sufficient (False if the judgment failed).
    """

    sentence: int
    key: str
    is_enough: bool = False
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None


@dataclass(frozen=True)
class Draft:
    """Queries written by the model for a sentence.

    Attributes:
        sentence: 1-based sentence number.
        round: 1-based search round.
        query: Query for evidence for the sentence.
        opposite: Negated sentence, used as a query for counterevidence.
    """

    sentence: int
    round: int
    query: str = ""
    opposite: str = ""
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None


@dataclass(frozen=True)
class Answered:
    """Documents that a query found.

    Attributes:
        sentence: 1-based sentence number.
        ids: Ids of the documents, without retracted articles, best first.
        n_withdrawn: Number of retracted articles among the hits.
    """

    sentence: int
    query: SearchQuery
    ids: tuple[str, ...] = ()
    n_withdrawn: int = 0


@dataclass(frozen=True)
class Report:
    """Result of a search agent.

    Attributes:
        sentence: 1-based sentence number.
        cited: Ids of the documents that the agent cites for and against the sentence.
        failure: Reason why the agent stopped early.
    """

    sentence: int
    cited: dict[EvidenceSide, tuple[str, ...]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None


def merge_documents(
    known: Mapping[str, Document], found: Mapping[str, Document]
) -> dict[str, Document]:
    """Merge documents by id. If both mappings contain an id, the known document is kept."""
    return {**found, **known}


@dataclass
class EvidenceState:
    """State of the evidence search for one answer. All sentences share the documents in `pool`.

    Attributes:
        round: Number of finished search rounds.
        judgments: Judgments on whether passages are sufficient, in the order of the rounds.
        found: Best passages for each sentence so far.
        cited: Passages of cited documents that are compared with the citing sentences.
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
    """Input of the evidence graph."""

    case: str


@dataclass(frozen=True)
class EvidenceOutput:
    """Output of the evidence graph."""

    found: tuple[Found, ...]
    cited: tuple[Cited, ...]
    searches: tuple[EvidenceSearch, ...]

"""State of an answer's evaluation: the open case, its tasks, and retrieved passages."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ragassay.errors import FatalModelError
from ragassay.records import Case, EvidenceSide, EvidenceSpan, Reading, Record, Signals, VerdictBase


class VerdictKey(NamedTuple):
    """Key of a verdict among the verdicts of its case."""

    evaluator: str
    item: str


@dataclass(frozen=True)
class Task:
    """A question, identified by evaluator, item and case, as the payload of a `Send`."""

    evaluator: str
    item: str
    case: str = ""

    @property
    def key(self) -> VerdictKey:
        """Key of the verdict."""
        return VerdictKey(self.evaluator, self.item)


@dataclass(frozen=True)
class Found:
    """A passage retrieved for a sentence.

    Attributes:
        sentence: Index of the sentence, from 1.
        side: Whether the search was for evidence for or against the sentence.
        rank: Rank, from 1, among the passages found on the same side.
    """

    sentence: int
    side: EvidenceSide
    rank: int
    passage: EvidenceSpan


@dataclass(frozen=True)
class Cited:
    """Passage of a cited document, which is compared with the citing sentence.

    Attributes:
        sentence: Index of the sentence, from 1.
    """

    sentence: int
    marker: str
    passage: EvidenceSpan


@dataclass(frozen=True)
class OpenCase:
    """State of an answer during its evaluation. Each step of the graph creates a new instance.

    Attributes:
        id: Hash of everything that the evaluation depends on.
        record: Original record of the answer.
        case: Record split into sentences and sources.
        found: Passages retrieved for the sentences.
        signals: Signals of the answer, or None if they were not computed.
        readings: Sentence marks, keyed by the name of the fine-tuned judge.
    """

    id: str
    record: Record
    case: Case
    found: tuple[Found, ...] = ()
    cited: tuple[Cited, ...] = ()
    signals: Signals | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)
    verdicts: Mapping[VerdictKey, VerdictBase] = field(default_factory=dict)
    _items: dict[str, Mapping[str, Any]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def remember(self, name: str, find: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return an evaluator's items, which are computed on the first call and then cached."""
        if name not in self._items:
            self._items[name] = find()
        return self._items[name]

    @property
    def n_citations(self) -> int:
        """Number of citations that refer to a document."""
        return sum(bool(c.document) for s in self.case.sentences for c in s.citations)

    @functools.cached_property
    def context_sha256(self) -> str:
        """Hash of the context that every prompt of the case contains."""
        return hashlib.sha256(self.case.context.encode()).hexdigest()

    @functools.cached_property
    def case_sha256(self) -> str:
        """Hash of the whole case."""
        return hashlib.sha256(self.case.model_dump_json().encode()).hexdigest()


class OpenCases:
    """Cases under evaluation, keyed by id."""

    def __init__(self) -> None:
        self._cases: dict[str, OpenCase] = {}
        self._fatal: dict[str, FatalModelError] = {}

    def open(self, open_case: OpenCase) -> OpenCase:
        """Store a case, replacing its previous state."""
        self._cases[open_case.id] = open_case
        return open_case

    def get(self, case: str) -> OpenCase | None:
        """Return the open case with this id, or None."""
        return self._cases.get(case)

    def break_off(self, case: str, error: FatalModelError) -> None:
        """Store the error that ends the evaluation of a case."""
        self._fatal.setdefault(case, error)

    def find_fatal_error(self, case: str) -> FatalModelError | None:
        """Return the error that ended the evaluation of a case, or None."""
        return self._fatal.get(case)

    def close(self, case: str) -> None:
        """Remove a case."""
        self._cases.pop(case, None)

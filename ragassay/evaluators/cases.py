"""An answer while it is judged: the open case, the questions about it, what was found for it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ragassay.errors import FatalModelError
from ragassay.records import (
    Case,
    EvidenceSide,
    EvidenceSpan,
    Reading,
    Record,
    Signals,
    VerdictBase,
)


class VerdictKey(NamedTuple):
    """Where a verdict stands among those of a case."""

    evaluator: str
    item: str


@dataclass(frozen=True)
class Task:
    """One question, by ids alone; the payload of a `Send`.

    Attributes:
        item: What the question is about, as its verdict names it.
        case: Id of the case.
    """

    evaluator: str
    item: str
    case: str = ""

    @property
    def key(self) -> VerdictKey:
        """Key of its verdict."""
        return VerdictKey(self.evaluator, self.item)


@dataclass(frozen=True)
class Found:
    """A passage that was found for a sentence.

    Attributes:
        sentence: 1-based.
        side: What was looked for.
        rank: Its place on that side, 1 for the best.
    """

    sentence: int
    side: EvidenceSide
    rank: int
    passage: EvidenceSpan


@dataclass(frozen=True)
class Cited:
    """The part of a cited document that is compared with the sentence that cites it.

    Attributes:
        sentence: 1-based.
        marker: The citation's.
    """

    sentence: int
    marker: str
    passage: EvidenceSpan


@dataclass(frozen=True)
class OpenCase:
    """All that is known of one answer while it is judged; each step makes a new one.

    Attributes:
        id: Hash of everything that the evaluation depends on.
        record: The answer as it was handed in.
        case: The record cut into sentences and sources.
        found: Passages that were found for its sentences.
        cited: Passages of cited documents.
        signals: Measurements of the answer; None where it was not measured.
        readings: Readings by fine-tuned judges, by their names.
        verdicts: The verdicts so far, by evaluator and item.
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
        """Return what the evaluator of that name asks about, by item; found once."""
        if name not in self._items:
            self._items[name] = find()
        return self._items[name]

    @property
    def n_citations(self) -> int:
        """The number of citations that point to a document."""
        return sum(bool(c.document) for s in self.case.sentences for c in s.citations)

    @functools.cached_property
    def context_sha256(self) -> str:
        """Hash of what every prompt of the case shows."""
        return hashlib.sha256(self.case.context.encode()).hexdigest()

    @functools.cached_property
    def case_sha256(self) -> str:
        """Hash of all that the case holds."""
        return hashlib.sha256(self.case.model_dump_json().encode()).hexdigest()


class OpenCases:
    """The cases that are being judged, by id."""

    def __init__(self) -> None:
        self._cases: dict[str, OpenCase] = {}
        self._fatal: dict[str, FatalModelError] = {}

    def open(self, open_case: OpenCase) -> OpenCase:
        """Keep a case, in place of an older state of it."""
        self._cases[open_case.id] = open_case
        return open_case

    def get(self, case: str) -> OpenCase | None:
        """Return a case; None where it is not open."""
        return self._cases.get(case)

    def break_off(self, case: str, error: FatalModelError) -> None:
        """Note why a case cannot go on."""
        self._fatal.setdefault(case, error)

    def fatal(self, case: str) -> FatalModelError | None:
        """Return why a case cannot go on; None where it can."""
        return self._fatal.get(case)

    def close(self, case: str) -> None:
        """Forget a case."""
        self._cases.pop(case, None)

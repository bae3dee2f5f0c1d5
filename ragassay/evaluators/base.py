"""Base of all evaluators, and what they are given: a task, and the file of the case."""

from __future__ import annotations

import functools
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from ragassay.errors import FatalModelError
from ragassay.records import (
    Case,
    Evaluation,
    EvidenceSide,
    EvidenceSpan,
    Failure,
    Finding,
    Reading,
    Record,
    Score,
    Signals,
    Usage,
    VerdictBase,
)

if TYPE_CHECKING:
    from ragassay.evaluators.outcome import Outcome
    from ragassay.evaluators.toolbox import Toolbox

S = TypeVar("S")
"""What one question of an evaluator is about."""

Direction = Literal["higher", "lower"]


class VerdictKey(NamedTuple):
    """Where a verdict stands among those of a case."""

    evaluator: str
    item: str


@dataclass(frozen=True)
class Task:
    """One question, by ids alone; the payload of a `Send`.

    Attributes:
        evaluator: Name of the evaluator.
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
        passage: The passage.
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
        passage: The passage.
    """

    sentence: int
    marker: str
    passage: EvidenceSpan


@dataclass(frozen=True)
class CaseFile:
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

    def items(self, evaluator: Evaluator[S], tools: Toolbox) -> Mapping[str, S]:
        """Return what an evaluator asks about, by item; computed once."""
        if evaluator.name not in self._items:
            self._items[evaluator.name] = evaluator.items(self, tools)
        return self._items[evaluator.name]

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


class OpenFiles:
    """The files of the cases that are being judged, by id."""

    def __init__(self) -> None:
        self._files: dict[str, CaseFile] = {}
        self._fatal: dict[str, FatalModelError] = {}

    def open(self, file: CaseFile) -> CaseFile:
        """Keep a file, in place of an older state of it."""
        self._files[file.id] = file
        return file

    def get(self, case: str) -> CaseFile | None:
        """Return a file; None where it is not open."""
        return self._files.get(case)

    def break_off(self, case: str, error: FatalModelError) -> None:
        """Note why a case cannot go on."""
        self._fatal.setdefault(case, error)

    def fatal(self, case: str) -> FatalModelError | None:
        """Return why a case cannot go on; None where it can."""
        return self._fatal.get(case)

    def close(self, case: str) -> None:
        """Forget a file."""
        self._files.pop(case, None)


@dataclass(frozen=True)
class Wording:
    """The title of a score, and which way is better; None where neither is."""

    title: str
    direction: Direction | None = None


@dataclass(frozen=True)
class Words:
    """The words for an evaluator in reports.

    Attributes:
        verdict: One of its verdicts, e.g. "sentence label".
        verdicts: Several of them, where that is not the same with an s.
        question: Its questions as a title, e.g. "Sentence labels"; evaluators with the same title
            share their questions.
        kind: Name of its questions in the cascade's numbers.
        group: Prefix of its scores' names; "" where it has none.
        title: Title of that group of scores.
        direction: Which way its scores are better where `scores` does not say.
        scores: Titles of its scores, by full name.
    """

    verdict: str
    verdicts: str = ""
    question: str = ""
    kind: str = ""
    group: str = ""
    title: str = ""
    direction: Direction | None = None
    scores: Mapping[str, Wording] = field(default_factory=dict)


class Evaluator(ABC, Generic[S]):
    """One thing that is asked of an answer.

    Everything that loops over evaluators (the graph, caches, failures, escalation, panels, plans,
    scores, reports, audits) reads it from here.

    Attributes:
        name: Unique; also that of the graph's node and of its verdicts.
        part: The part of an evaluation that it belongs to; what `--only` names.
        record: Type of its verdicts.
        words: How reports speak of it.
        needs: Evaluators whose verdicts must be complete before it asks, and preparations of the
            case: "passages" for its sentences and citations, "measures" and readings of the
            answer, "notices" against cited articles.
        is_weighed: Whether its verdicts say how sure the judge is, so that they can go to a second
            judge.
    """

    name: str
    part: str
    record: type[VerdictBase]
    words: Words
    needs: tuple[str, ...] = ()
    is_weighed: bool = False

    def is_wanted(self, tools: Toolbox) -> bool:
        """Return whether a run asks it."""
        return tools.settings.evaluation.wants(self.part)

    def is_reported(self, tools: Toolbox) -> bool:
        """Return whether its verdicts are part of the evaluation, or serve others alone."""
        return tools.settings.evaluation.wants(self.part)

    @abstractmethod
    def items(self, file: CaseFile, tools: Toolbox) -> Mapping[str, S]:
        """Return what is asked about, by item, as far as the file tells."""

    @abstractmethod
    async def ask(self, subject: S, file: CaseFile, tools: Toolbox) -> Sequence[VerdictBase]:
        """Answer one question. The first verdict is its own; others may be another evaluator's.

        Raises:
            ModelError: The judge gave no usable reply.
        """

    @abstractmethod
    def unscored(
        self, subject: S, file: CaseFile, tools: Toolbox, failure: Failure
    ) -> Sequence[VerdictBase]:
        """Return what stands where a question got no answer."""

    def depends_on(self, subject: S, file: CaseFile, tools: Toolbox) -> Iterable[str | None]:
        """Return what a verdict depends on besides the case, the item and the judge's model."""
        return ()

    def tasks(self, file: CaseFile, tools: Toolbox) -> list[Task]:
        """Return the questions of a case."""
        return [Task(self.name, item, file.id) for item in file.items(self, tools)]

    @property
    def asks_panel(self) -> bool:
        """Return whether each member of a panel is asked, or the first for all."""
        return False

    def second_round(self, subject: S, verdicts: Sequence[Any], tools: Toolbox) -> Mapping[str, S]:
        """Return what members of a panel are asked once they know the others' verdicts.

        Args:
            subject: What all were asked.
            verdicts: What each said.
            tools: The run.

        Returns:
            By the member's name; empty where the first round is enough.
        """
        return {}

    def joined(self, verdicts: Sequence[Any]) -> VerdictBase:
        """Return the verdict of a panel, where each member is asked."""
        raise NotImplementedError

    def alone(self, subject: S) -> S:
        """Return what a second judge is asked of a batch: its first thing."""
        return subject

    def settled(self, file: CaseFile, tools: Toolbox) -> Sequence[VerdictBase]:
        """Return the verdicts in order, with those that needed no question."""
        return standing(self, file, tools)

    def judged_by(self, tools: Toolbox) -> str:
        """Return who gives its verdicts, in words."""
        return tools.or_second(tools.judge.answered_by)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return what its verdicts come to, in the order of the report."""
        return {}

    def findings(self, outcome: Outcome) -> list[Finding]:
        """Return what its verdicts have against the answer."""
        return []

    def questions(self, evaluation: Evaluation) -> Iterable[VerdictBase]:
        """Return those verdicts that a judge was asked for and could be unsure of, one a call."""
        return evaluation.by(self.name) if self.is_weighed else ()

    def parts_of(self, verdict: Any) -> Iterable[VerdictBase]:
        """Return the verdicts that one was made of, itself where there are none."""
        return (verdict,)

    def n_most_questions(self, file: CaseFile, tools: Toolbox) -> int:
        """Return how many questions there can be at most, before anything was found."""
        return len(file.items(self, tools))

    def n_most_calls(self, file: CaseFile, tools: Toolbox) -> int:
        """Return how many model calls these take at most."""
        return self.n_most_questions(file, tools) if tools.judge.lm else 0


def standing(evaluator: Evaluator[Any], file: CaseFile, tools: Toolbox) -> list[Any]:
    """Return an evaluator's verdicts in the order of its items."""
    keys = (VerdictKey(evaluator.name, item) for item in file.items(evaluator, tools))
    return [file.verdicts[key] for key in keys if key in file.verdicts]


def panel_names(tools: Toolbox) -> tuple[str, ...]:
    """Return the names of the panel's judges; empty for a single judge."""
    return tuple(one.name for one in tools.judge.members)


def total_usage(verdicts: Iterable[VerdictBase]) -> Usage:
    """Return what verdicts cost together."""
    return sum((verdict.usage for verdict in verdicts), Usage())

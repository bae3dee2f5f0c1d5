"""The evaluation of one answer: verdicts, scores and findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, model_validator

from ragassay.records.base import Frozen, SchemaVersion
from ragassay.records.inputs import AnswerSentence, Document, ExamItem, Nugget, QAPair
from ragassay.records.signals import EvidenceSearch, Signals
from ragassay.records.verdicts import (
    CitationVerdict,
    DocumentFacts,
    EvidenceVerdict,
    Judgment,
    NuggetAssignment,
    NuggetMatch,
    OwnVerdict,
    SentenceCorrectness,
    SentenceLabel,
    Usage,
    VerdictBase,
)

V = TypeVar("V", bound=VerdictBase)

OLD_FIELDS = {
    "judgments": "rubric",
    "labels": "sentence_label",
    "evidence": "evidence",
    "correctness": "correctness",
    "citations": "citation",
    "facts": "facts",
    "assignments": "assignment",
}
"""Fields in which earlier versions kept the verdicts of an evaluator."""


def _as_kind(verdict: object) -> object:
    """Read a verdict as its evaluator's kind; one of an unknown evaluator is a user's own."""
    if not isinstance(verdict, Mapping):
        return verdict
    kind = VerdictBase.kinds.get(str(verdict.get("evaluator")), OwnVerdict)
    return kind.model_validate(verdict)


AnyVerdict = Annotated[SerializeAsAny[VerdictBase], BeforeValidator(_as_kind)]


WIDE = 0.1
"""Share of the scale from which on a range of a score is too wide for one number."""


class Score(Frozen):
    """An aggregate with its n, interval and bounds.

    Attributes:
        value: None where nothing was scored, or where too much is unscored to know it: see
            `reported`.
        decided: The mean over what was scored, however much is missing.
        n_unscored: Number of failed verdicts, which are left out.
        low: Lower end of the 95 % interval; None where undefined.
        worst: The value if every unscored verdict were the worst.
        best: The value if every unscored verdict were the best.
        judge: The model that gave the verdicts; empty without one.
    """

    value: float | None
    decided: float | None = None
    n: int = Field(ge=0)
    n_unscored: int = Field(default=0, ge=0)
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    best: float | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    judge: str = ""

    @model_validator(mode="before")
    @classmethod
    def _fill_decided(cls, raw: Any) -> Any:
        """Take the value for the mean over what was scored where that is not given."""
        if isinstance(raw, Mapping) and raw.get("decided") is None:
            return {**raw, "decided": raw.get("value")}
        return raw

    @property
    def range(self) -> tuple[float, float] | None:
        """Its least and largest value, whatever the unscored verdicts are; None if unknown."""
        if self.worst is None or self.best is None:
            return None
        return min(self.worst, self.best), max(self.worst, self.best)

    @property
    def is_open(self) -> bool:
        """True where no more is known than its range."""
        return self.value is None and self.decided is not None

    def overlaps(self, other: Score) -> bool:
        """Return whether what is unscored leaves open which of two scores is higher."""
        first, second = self.range, other.range
        if first is None or second is None:
            return False
        is_known = first[0] == first[1] and second[0] == second[1]
        return not is_known and first[0] <= second[1] and second[0] <= first[1]

    @property
    def reported(self) -> Score:
        """Without its value where its range is wide: what is undecided is not missing at random."""
        ends, (low, high) = self.range, self.scale
        if self.value is None or ends is None or ends[1] - ends[0] < WIDE * (high - low):
            return self
        return self.model_copy(update={"value": None})


def withhold_wide(scores: Mapping[str, Score]) -> dict[str, Score]:
    """Return scores without the values of those whose range is wide."""
    return {key: score.reported for key, score in scores.items()}


Scores = Annotated[dict[str, Score], AfterValidator(withhold_wide)]
"""Scores of a report: none has a value where its range is wide."""


FindingLevel = Literal["primary", "secondary"]
"""What leads a report, or what is worth a look: not sure enough to lead."""

_LEVELS_IN_VERSION_1 = {"head": "primary", "look": "secondary"}


def _read_level(level: Any) -> Any:
    return _LEVELS_IN_VERSION_1.get(level, level) if isinstance(level, str) else level


UNMEASURED = 0.5
"""What a confidence counts beside a measured precision."""


class Finding(Frozen):
    """Something that a reader must not miss and that no mean may hide.

    Attributes:
        kind: e.g. "inappropriate_sentence", "contradicted_citation", "invalid_citation",
            "sources_cut", "extractive_nugget", "unscored".
        message: One sentence for a person.
        precision: Share of right ones among findings of this kind and certainty, as measured; None
            where nobody measured, or nothing was judged.
        precision_low: Lower end of its 95 % interval.
        n_measured: Findings that it was measured on; 0 where that is unknown.
        data: What that was measured on.
        evaluator: Evaluator of the verdict that it follows from; "" if from none.
        item: Item of that verdict.
    """

    kind: str
    message: str
    sentence: int | None = None
    level: Annotated[FindingLevel, BeforeValidator(_read_level)] = "primary"
    precision: float | None = Field(default=None, ge=0, le=1)
    precision_low: float | None = Field(default=None, ge=0, le=1)
    precision_high: float | None = Field(default=None, ge=0, le=1)
    n_measured: int = Field(default=0, ge=0)
    data: str = ""
    evaluator: str = ""
    item: str = ""


class Evaluation(Frozen):
    """All results for one answer.

    Attributes:
        answer: As it was handed in; offsets of sentences count in it.
        reasoning: (start, end) of the model's reasoning in the answer, which was not judged.
        verdicts: All verdicts, grouped by evaluator, in order.
        scores: Keyed "rubric.cohesion", "nuggets.recall", "sentences.required",
            "evidence.support", "citations.support" and so on, in a stable order.
        usage: The sum over all calls, failed ones included.
        usage_by_part: The same by part of the evaluation: "rubrics", "citations", ...; "searches"
            for evidence searches, `FAILED_CALLS` for calls that gave no verdict. Empty in runs of
            earlier versions.
    """

    schema_version: SchemaVersion = 2
    record_id: str
    question: str
    answer: str
    system: str | None = None
    topic: str | None = None
    judge: str = ""
    fingerprint: str = ""
    sentences: tuple[AnswerSentence, ...] = ()
    reasoning: tuple[tuple[int, int], ...] = ()
    sources: tuple[Document, ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    gold_nuggets: tuple[Nugget, ...] = ()
    matches: tuple[NuggetMatch, ...] = ()
    exam: tuple[ExamItem, ...] = ()
    pairs: tuple[QAPair, ...] = ()
    signals: Signals | None = None
    verdicts: tuple[AnyVerdict, ...] = ()
    searches: tuple[EvidenceSearch, ...] = ()
    scores: Scores = Field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    usage: Usage = Usage()
    usage_by_part: dict[str, Usage] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _read_old_form(cls, raw: Any) -> Any:
        """Read an evaluation of an earlier version, which had a list for each evaluator."""
        if not isinstance(raw, Mapping) or OLD_FIELDS.keys().isdisjoint(raw):
            return raw
        verdicts = list(raw.get("verdicts", ()))
        for name, evaluator in OLD_FIELDS.items():
            for one in raw.get(name, ()):
                verdicts.append({"evaluator": evaluator, **one} if isinstance(one, dict) else one)
        kept = {name: value for name, value in raw.items() if name not in OLD_FIELDS}
        return kept | {"verdicts": tuple(verdicts)}

    def of(self, kind: type[V]) -> tuple[V, ...]:
        """Return the verdicts of one kind, in order."""
        return tuple(verdict for verdict in self.verdicts if isinstance(verdict, kind))

    def by(self, evaluator: str) -> tuple[VerdictBase, ...]:
        """Return the verdicts of one evaluator, in order."""
        return tuple(verdict for verdict in self.verdicts if verdict.evaluator == evaluator)

    def verdict_of(self, finding: Finding) -> VerdictBase | None:
        """Return the verdict that a finding follows from; None if from none."""
        return next((v for v in self.by(finding.evaluator) if v.item == finding.item), None)

    @property
    def primary_findings(self) -> tuple[Finding, ...]:
        """The findings that lead a report."""
        return tuple(finding for finding in self.findings if finding.level == "primary")

    @property
    def secondary_findings(self) -> tuple[Finding, ...]:
        """The findings that are worth a look, most likely first."""
        found = [finding for finding in self.findings if finding.level == "secondary"]
        return tuple(sorted(found, key=self.likelihood_of, reverse=True))

    def likelihood_of(self, finding: Finding) -> float:
        """Return how likely a finding is right, in [0, 1]; 0 where nothing tells.

        That is its measured precision, or else half the confidence of a verdict other than
        "supports": nobody measured how often such findings are right.
        """
        if finding.precision is not None:
            return finding.precision
        verdict = self.verdict_of(finding)
        label = getattr(verdict, "tentative_label", None) or getattr(verdict, "value", None)
        if verdict is None or label == "supports":
            return 0.0
        return UNMEASURED * (getattr(verdict, "confidence", None) or 0.0)

    @property
    def undecided(self) -> tuple[VerdictBase, ...]:
        """The verdicts that the judge left open; correctness follows from those on evidence."""
        found = (verdict for verdict in self.verdicts if verdict.is_undecided)
        return tuple(v for v in found if not isinstance(v, SentenceCorrectness))

    @property
    def judgments(self) -> tuple[Judgment, ...]:
        """One per rubric."""
        return self.of(Judgment)

    @property
    def labels(self) -> tuple[SentenceLabel, ...]:
        """One per sentence."""
        return self.of(SentenceLabel)

    @property
    def assignments(self) -> tuple[NuggetAssignment, ...]:
        """One per gold nugget."""
        return self.of(NuggetAssignment)

    @property
    def evidence(self) -> tuple[EvidenceVerdict, ...]:
        """At least one per sentence."""
        return self.of(EvidenceVerdict)

    @property
    def correctness(self) -> tuple[SentenceCorrectness, ...]:
        """One per sentence."""
        return self.of(SentenceCorrectness)

    @property
    def citations(self) -> tuple[CitationVerdict, ...]:
        """One per citation."""
        return self.of(CitationVerdict)

    @property
    def facts(self) -> tuple[DocumentFacts, ...]:
        """The facts of cited documents, if citations were checked nugget by nugget."""
        return self.of(DocumentFacts)

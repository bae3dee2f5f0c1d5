"""Evaluation of a single answer, with verdicts, scores and findings."""

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
"""Fields for verdicts in files of earlier versions, with the names of their evaluators."""


def _as_kind(verdict: object) -> object:
    """Parse a verdict as the class of its evaluator, by default `OwnVerdict`."""
    if not isinstance(verdict, Mapping):
        return verdict
    kind = VerdictBase.kinds.get(str(verdict.get("evaluator")), OwnVerdict)
    return kind.model_validate(verdict)


AnyVerdict = Annotated[SerializeAsAny[VerdictBase], BeforeValidator(_as_kind)]


WIDE = 0.1
"""Width of a score's range, as a share of the scale, from which no single value is reported."""


class Score(Frozen):
    """Aggregated score with its sample size, interval and range.

    Attributes:
        value: Reported value, or None if there is no verdict or the range is too wide. See
            `reported`.
        decided: Mean of the verdicts that exist, however many are missing.
        n_unscored: Number of missing verdicts, which are excluded from the mean.
        low: Lower end of the 95 % interval. None if undefined.
        worst: Value that would result if all missing verdicts were as bad as possible.
        best: Value that would result if all missing verdicts were as good as possible.
        judge: Name of the model that gave the verdicts (empty if no model was used).
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
        if isinstance(raw, Mapping) and raw.get("decided") is None:
            return {**raw, "decided": raw.get("value")}
        return raw

    @property
    def range(self) -> tuple[float, float] | None:
        """Lowest and highest possible value, given the missing verdicts. None if unknown."""
        if self.worst is None or self.best is None:
            return None
        return min(self.worst, self.best), max(self.worst, self.best)

    @property
    def is_open(self) -> bool:
        """Return whether only the range of the score is reported."""
        return self.value is None and self.decided is not None

    def overlaps(self, other: Score) -> bool:
        """Return whether the ranges overlap, so that either score could be higher."""
        first, second = self.range, other.range
        if first is None or second is None:
            return False
        is_known = first[0] == first[1] and second[0] == second[1]
        return not is_known and first[0] <= second[1] and second[0] <= first[1]

    @property
    def reported(self) -> Score:
        """The score, without its value if the range is too wide.

        A judge leaves difficult verdicts undecided, so the mean of the decided verdicts is biased.
        """
        ends, (low, high) = self.range, self.scale
        if self.value is None or ends is None or ends[1] - ends[0] < WIDE * (high - low):
            return self
        return self.model_copy(update={"value": None})


def withhold_wide(scores: Mapping[str, Score]) -> dict[str, Score]:
    """Remove the values of scores whose range is too wide."""
    return {key: score.reported for key, score in scores.items()}


Scores = Annotated[dict[str, Score], AfterValidator(withhold_wide)]
"""Scores by name, without the value of a score whose range is too wide."""


FindingLevel = Literal["primary", "secondary"]
"""Level of a finding: a main finding, or a less reliable one that a reader should check."""

_LEVELS_IN_VERSION_1 = {"head": "primary", "look": "secondary"}


def _read_level(level: Any) -> Any:
    return _LEVELS_IN_VERSION_1.get(level, level) if isinstance(level, str) else level


UNMEASURED = 0.5
"""Factor by which a confidence is multiplied to compare it with a measured precision."""


class Finding(Frozen):
    """A problem in an answer that is reported on its own, because a mean score would hide it.

    Attributes:
        kind: Kind of finding, such as "inappropriate_sentence", "contradicted_citation",
            "invalid_citation", "sources_cut", "extractive_nugget", "unscored".
        message: Description of the problem for the reader.
        precision: Measured share of correct findings among findings of this kind and confidence, or
            None if unknown, or if the finding needs no judgment.
        precision_low: Lower end of the 95 % interval of the precision.
        n_measured: Number of findings on which the precision was measured. 0 if unknown.
        data: Name of the data on which the precision was measured.
        evaluator, item: Evaluator and item of the verdict behind the finding. Empty without a
            verdict.
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
        answer: Original answer, which sentence offsets refer to.
        reasoning: (start, end) offsets of model reasoning in the answer, which is not judged.
        scores: Scores by name, such as "rubric.cohesion", "nuggets.recall" or
            "citations.support", in a stable order.
        usage_by_part: Usage by part, such as "rubrics" or "citations", with "searches" for
            evidence searches and `FAILED_CALLS` for failed calls (empty in runs of earlier
            versions).
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
        """Convert an evaluation of an earlier version, with separate fields for verdicts."""
        if not isinstance(raw, Mapping) or OLD_FIELDS.keys().isdisjoint(raw):
            return raw
        verdicts = list(raw.get("verdicts", ()))
        for name, evaluator in OLD_FIELDS.items():
            for one in raw.get(name, ()):
                verdicts.append({"evaluator": evaluator, **one} if isinstance(one, dict) else one)
        others = {name: value for name, value in raw.items() if name not in OLD_FIELDS}
        return others | {"verdicts": tuple(verdicts)}

    def select_verdicts(self, kind: type[V]) -> tuple[V, ...]:
        """Return the verdicts that are instances of a class."""
        return tuple(verdict for verdict in self.verdicts if isinstance(verdict, kind))

    def find_verdicts(self, evaluator: str) -> tuple[VerdictBase, ...]:
        """Return the verdicts of one evaluator."""
        return tuple(verdict for verdict in self.verdicts if verdict.evaluator == evaluator)

    def find_verdict(self, finding: Finding) -> VerdictBase | None:
        """Return the verdict that a finding is based on, or None if it is based on none."""
        return next(
            (v for v in self.find_verdicts(finding.evaluator) if v.item == finding.item), None
        )

    @property
    def primary_findings(self) -> tuple[Finding, ...]:
        """Findings of the level "primary"."""
        return tuple(finding for finding in self.findings if finding.level == "primary")

    @property
    def secondary_findings(self) -> tuple[Finding, ...]:
        """Findings of the level "secondary", the most likely ones first."""
        findings = (finding for finding in self.findings if finding.level == "secondary")
        return tuple(sorted(findings, key=self.estimate_likelihood, reverse=True))

    def estimate_likelihood(self, finding: Finding) -> float:
        """Return the estimated probability that a finding is correct, in [0, 1].

        The estimate is the measured precision if it is known, otherwise half the confidence of the
        verdict. The estimate is 0 without a verdict, or if the verdict is "supports".
        """
        if finding.precision is not None:
            return finding.precision
        verdict = self.find_verdict(finding)
        label = getattr(verdict, "tentative_label", None) or getattr(verdict, "value", None)
        if verdict is None or label == "supports":
            return 0.0
        return UNMEASURED * (getattr(verdict, "confidence", None) or 0.0)

    @property
    def undecided(self) -> tuple[VerdictBase, ...]:
        """Undecided verdicts, except for correctness verdicts."""
        verdicts = (v for v in self.verdicts if not isinstance(v, SentenceCorrectness))
        return tuple(verdict for verdict in verdicts if verdict.is_undecided)

    @property
    def judgments(self) -> tuple[Judgment, ...]:
        """Rubric ratings, one per rubric."""
        return self.select_verdicts(Judgment)

    @property
    def labels(self) -> tuple[SentenceLabel, ...]:
        """Sentence labels, one per sentence."""
        return self.select_verdicts(SentenceLabel)

    @property
    def assignments(self) -> tuple[NuggetAssignment, ...]:
        """Nugget assignments, one per gold nugget."""
        return self.select_verdicts(NuggetAssignment)

    @property
    def evidence(self) -> tuple[EvidenceVerdict, ...]:
        """Evidence verdicts, at least one per sentence."""
        return self.select_verdicts(EvidenceVerdict)

    @property
    def correctness(self) -> tuple[SentenceCorrectness, ...]:
        """Correctness verdicts, one per sentence."""
        return self.select_verdicts(SentenceCorrectness)

    @property
    def citations(self) -> tuple[CitationVerdict, ...]:
        """Citation verdicts, one per citation."""
        return self.select_verdicts(CitationVerdict)

    @property
    def facts(self) -> tuple[DocumentFacts, ...]:
        """Facts from the cited documents, if citations are checked nugget by nugget."""
        return self.select_verdicts(DocumentFacts)

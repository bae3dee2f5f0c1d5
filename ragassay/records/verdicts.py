"""Verdicts about an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_args

from pydantic import Field, model_validator

from ragassay.records.base import (
    ASSIGNMENTS,
    RELEVANCE_LABELS,
    Assignment,
    CitationLabel,
    EvidenceSide,
    FailureReason,
    Frozen,
    MissingState,
    NuggetOrigin,
    RelevanceLabel,
    Verdict,
    VerdictState,
    define_renamed_field,
)
from ragassay.records.inputs import Citation, Nugget


class EvidenceSpan(Frozen):
    """A passage of a document, which a claim is compared with.

    Attributes:
        start: Start offset in `Document.text` (0-based).
        relevance_score: Cosine similarity between passage and claim, in [-1, 1].
    """

    document: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    title: str = ""
    relevance_score: float | None = None


class UnsupportedSpan(Frozen):
    """Part of a claim that a token-level verifier calls unsupported.

    Attributes:
        score: Highest probability that a token of this part is unsupported, in [0, 1].
    """

    start: int = Field(ge=0)
    end: int = Field(ge=1)
    score: float = Field(ge=0, le=1)


class Failure(Frozen):
    """Reason why a verdict is missing."""

    reason: FailureReason
    detail: str = ""

    @classmethod
    def leave_open(cls, detail: str = "") -> Self:
        """Return the failure of an undecided verdict.

        `detail` tells why the verdict is undecided.
        """
        return cls(reason="undecided", detail=detail)

    @property
    def state(self) -> MissingState:
        """State of the missing verdict: "undecided" or "unscored"."""
        return "undecided" if self.is_undecided else "unscored"

    @property
    def is_undecided(self) -> bool:
        """Return whether the judge was not confident enough to decide."""
        return self.reason == "undecided"


FAILED_CALLS = "failed calls"
"""Key of `usage_by_part` for calls that cost money but gave no verdict, mostly before a retry."""


class Usage(Frozen):
    """Number of model calls and tokens that verdicts needed, and their cost.

    Attributes:
        n_cached_tokens: Number of prompt tokens read from the provider's cache.
        n_cache_write_tokens: Number of prompt tokens written to the provider's cache.
        cost_usd: Cost according to LiteLLM. 0 for a local model, None if the price is unknown.
        answered_by: Models that answered, as "REQUESTED: MODEL FINGERPRINT", with the model name
            and fingerprint that the provider returned.
        confidence_from: Sources of the label distributions, such as "log-probabilities", "5
            samples" or "the written rating alone".
        n_failed_samples: Number of unusable samples, which no distribution counts.
    """

    n_calls: int = 0
    n_prompt_tokens: int = 0
    n_completion_tokens: int = 0
    n_cached_tokens: int = 0
    n_cache_write_tokens: int = 0
    cost_usd: float | None = 0.0
    answered_by: tuple[str, ...] = ()
    confidence_from: tuple[str, ...] = ()
    n_failed_samples: int = 0

    @property
    def n_tokens(self) -> int:
        """Number of prompt and completion tokens together."""
        return self.n_prompt_tokens + self.n_completion_tokens

    def __add__(self, other: Usage) -> Usage:
        unknown = self.cost_usd is None or other.cost_usd is None
        return Usage(
            n_calls=self.n_calls + other.n_calls,
            n_prompt_tokens=self.n_prompt_tokens + other.n_prompt_tokens,
            n_completion_tokens=self.n_completion_tokens + other.n_completion_tokens,
            n_cached_tokens=self.n_cached_tokens + other.n_cached_tokens,
            n_cache_write_tokens=self.n_cache_write_tokens + other.n_cache_write_tokens,
            cost_usd=None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0),
            answered_by=_merge_names(self.answered_by, other.answered_by),
            confidence_from=_merge_names(self.confidence_from, other.confidence_from),
            n_failed_samples=self.n_failed_samples + other.n_failed_samples,
        )

    @property
    def unpaid(self) -> Usage:
        """Usage without calls and cost, for further verdicts that the same calls decided."""
        return Usage(answered_by=self.answered_by, confidence_from=self.confidence_from)


def _merge_names(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return one if one == other else tuple(sorted({*one, *other}))


class Escalation(Frozen):
    """Call of the second judge of a cascade about an uncertain verdict.

    Attributes:
        failure: Reason why the second judge failed, so that the first verdict is used.
    """

    judge: str
    usage: Usage = Usage()
    failure: Failure | None = None


@dataclass(frozen=True)
class Comparison:
    """Result of comparing a claim with a text. Its fields have the same names as those of verdicts.

    Attributes:
        confidence: Probability of the verdict, or of the tentative label. None if unavailable.
        entropy_bits: Entropy of the label distribution, in bits. None if unavailable.
        tentative_label: Most likely label, if the comparison is undecided.
        difference: Difference between claim and text that a rule found, if any.
        absent_numbers: Numbers in the claim that the text neither confirms nor contradicts.
        spans: Parts of the claim that a token-level verifier calls unsupported.
    """

    verdict: Verdict | None
    confidence: float | None
    usage: Usage
    entropy_bits: float | None = None
    tentative_label: Verdict | None = None
    failure: Failure | None = None
    difference: str = ""
    absent_numbers: tuple[str, ...] = ()
    spans: tuple[UnsupportedSpan, ...] = ()


class VerdictBase(Frozen):
    """Base class of all verdicts. A verdict without a value has a `failure`.

    Attributes:
        judge: Panel member that gave the verdict (empty if there is no panel).
        tentative_label: Most likely label of an undecided verdict.
        confidence: Probability of the value or of the tentative label. None if unavailable.
        entropy_bits: Entropy of the label distribution, in bits. None if unavailable.
        escalation: Call of the second judge, or None if it was not asked about the verdict.
        failure: Reason why the verdict has no value, or None if it has one.
    """

    evaluator: str
    judge: str = ""
    tentative_label: str | None = define_renamed_field("tentative_label", "leaning", default=None)
    confidence: float | None = Field(default=None, ge=0, le=1)
    entropy_bits: float | None = Field(default=None, ge=0)
    escalation: Escalation | None = None
    usage: Usage = Usage()
    failure: Failure | None = None

    kinds: ClassVar[dict[str, type[VerdictBase]]] = {}
    """Classes of verdicts, by the name of their evaluator."""
    item_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that identify a verdict."""
    value_field: ClassVar[str] = ""
    """Name of the field with the value, if the verdict has a value."""
    labels: ClassVar[tuple[str, ...]] = ()
    """Possible labels, if the verdict has labels."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Register the class under the name of its evaluator."""
        name = cls.model_fields["evaluator"].default
        if isinstance(name, str):
            VerdictBase.kinds[name] = cls

    @property
    def item(self) -> str:
        """Key of the verdict, unique among the evaluator's verdicts on an answer."""
        return "/".join(str(getattr(self, name)) for name in self.item_fields)

    @property
    def value(self) -> str | float | None:
        """Label, or number on a scale, or None if the verdict is missing."""
        return getattr(self, self.value_field) if self.value_field else None

    @property
    def choice(self) -> str | float | None:
        """Value as one of `choices`, or None if the verdict is missing."""
        return self.value

    @property
    def choices(self) -> tuple[str | float, ...]:
        """Values that a reviewer can choose from (empty if any value is allowed)."""
        return self.labels

    @property
    def is_undecided(self) -> bool:
        """Return whether the judge was not confident enough to decide."""
        return self.state == "undecided"

    @property
    def state(self) -> VerdictState:
        """State of the verdict: "decided", "undecided" or "unscored"."""
        return "decided" if self.failure is None else self.failure.state


class WeighedVerdict(VerdictBase):
    """Verdict with a confidence, about which a cascade can ask its second judge.

    Attributes:
        escalated_from: Verdict of the first judge, if the second judge of a cascade decided.
    """

    escalated_from: Self | None = None


class RatingVerdict(WeighedVerdict):
    """Rating on an integer scale, with the fields `scale`, `rating` and `score`."""

    value_field = "score"

    @property
    def choice(self) -> int | None:
        """Rating written by the judge. None if unscored."""
        return getattr(self, "rating", None)

    @property
    def choices(self) -> tuple[str | float, ...]:
        """All ratings on the scale, lowest first."""
        low, high = getattr(self, "scale", (1, 5))
        return tuple(range(low, high + 1))


class ClaimVerdict(VerdictBase):
    """Verdict on whether a text supports a claim.

    Attributes:
        difference: Difference between claim and text that a rule found, if any.
        absent_numbers: Numbers in the claim that no cited source contains.
    """

    difference: str = ""
    absent_numbers: tuple[str, ...] = ()
    spans: tuple[UnsupportedSpan, ...] = ()

    value_field = "verdict"
    labels = get_args(Verdict)


class Judgment(RatingVerdict):
    """Rating of an answer on one rubric.

    Attributes:
        rubric: Name of the rubric, such as "cohesion".
        rating: Rating written by the judge. None if unscored.
        score: Expected rating, or the written rating if there is no distribution. For a panel, the
            mean of its members' scores. None if unscored.
        distribution: Probability of each rating, lowest rating first. None if unavailable.
        sentences: 1-based numbers of the sentences mentioned in the rationale.
        members: Judgments of the panel members (empty for a single judge).
        first: Judgment of a panel member in the first round, or None if there was no second round.
    """

    item_fields = ("rubric",)

    evaluator: str = "rubric"
    rubric: str
    scale: tuple[int, int] = (1, 5)
    rating: int | None = None
    score: float | None = None
    distribution: tuple[float, ...] | None = None
    rationale: str = ""
    sentences: tuple[int, ...] = ()
    members: tuple[Judgment, ...] = ()
    first: Judgment | None = None

    @model_validator(mode="after")
    def _on_scale(self) -> Judgment:
        low, high = self.scale
        for value in (self.rating, self.score):
            if value is not None and not low <= value <= high:
                raise ValueError(f"{value} is not between {low} and {high}")
        if self.distribution is not None and len(self.distribution) != high - low + 1:
            raise ValueError(
                f"a distribution requires {high - low + 1} numbers, one for each rating"
            )
        return self


class SentenceLabel(WeighedVerdict):
    """Label for whether an answer needs a sentence (BioACE, figure 2)."""

    item_fields, value_field = ("sentence",), "label"
    labels = RELEVANCE_LABELS

    evaluator: str = "sentence_label"
    sentence: int = Field(ge=1)
    label: RelevanceLabel | None = None


class NuggetVerdict(ClaimVerdict, WeighedVerdict):
    """Verdict on whether a cited document supports one nugget of the citing sentence."""

    item_fields = ("sentence", "document", "nugget")

    evaluator: str = "cited_nugget"
    sentence: int = Field(ge=1)
    document: str
    nugget: str
    verdict: Verdict | None = None


class AttributionVerdict(ClaimVerdict):
    """Verdict on whether all documents cited by a sentence together support it (ALCE).

    Attributes:
        without: Id of the cited document that was left out (empty if all were included).
    """

    item_fields = ("sentence", "without")

    evaluator: str = "attribution"
    sentence: int = Field(ge=1)
    without: str = ""
    verdict: Verdict | None = None


class DocumentFacts(VerdictBase):
    """Facts stated in a passage of a cited document.

    Attributes:
        facts: Facts that the model listed, or the passage's sentences if the model failed.
    """

    item_fields = ("document", "start")

    evaluator: str = "facts"
    document: str
    start: int = Field(ge=0)
    facts: tuple[str, ...] = ()


CORRECTNESS = {True: "correct", False: "not_supported", None: None}


class SentenceCorrectness(VerdictBase):
    """Verdict on whether the evidence for a sentence supports it (BioACE, 4.1.3).

    Attributes:
        correct: Whether the evidence supports the sentence, or None if the verdict is missing.
        score: Score of the best passage, or None if there is no passage, or if the correctness
            follows from evidence verdicts.
    """

    item_fields = ("sentence",)
    labels = tuple(label for label in CORRECTNESS.values() if label)

    evaluator: str = "correctness"
    sentence: int = Field(ge=1)
    correct: bool | None = None
    score: float | None = None
    evidence: EvidenceSpan | None = None

    @property
    def value(self) -> str | None:
        """See `VerdictBase`."""
        return CORRECTNESS[self.correct]


class CitationVerdict(ClaimVerdict, WeighedVerdict):
    """Verdict on whether a cited document supports the citing sentence.

    Attributes:
        verdict: Label, or "invalid" if the citation refers to no known document. None if unscored.
        evidence: Part of the cited document that was compared with the sentence.
        nuggets: Nugget verdicts that were merged into this verdict, if any.
    """

    labels = get_args(CitationLabel)

    evaluator: str = "citation"
    sentence: int = Field(ge=1)
    citation: Citation
    verdict: CitationLabel | None = None
    evidence: EvidenceSpan | None = None
    nuggets: tuple[NuggetVerdict, ...] = ()

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return f"{self.sentence}/{self.citation.marker}"


class EvidenceVerdict(ClaimVerdict, WeighedVerdict):
    """Verdict on whether a retrieved passage supports a sentence.

    Attributes:
        sentence: 1-based sentence number. A sentence has a verdict for each retrieved passage.
        side: Whether the search was for evidence for or against the sentence. Verdicts may differ.
        rank: 1-based rank among the passages of the same side.
        evidence: Retrieved passage, or None if nothing was found.
    """

    item_fields = ("sentence", "side", "rank")

    evaluator: str = "evidence"
    sentence: int = Field(ge=1)
    side: EvidenceSide = "for"
    rank: int = Field(default=1, ge=1)
    verdict: Verdict | None = None
    evidence: EvidenceSpan | None = None


class SentenceNuggets(VerdictBase):
    """Nuggets of one sentence of the answer or reference, or of the whole text.

    Attributes:
        sentence: 1-based sentence number. 1 for the whole text, in which case each nugget has its
            own sentence number.
        nuggets: Nuggets of the sentence (empty only if it states nothing or if `failure` is set).
    """

    item_fields = ("origin", "sentence")

    evaluator: str = "nuggets"
    origin: NuggetOrigin
    sentence: int = Field(ge=1)
    nuggets: tuple[Nugget, ...] = ()


class NuggetAssignment(WeighedVerdict):
    """Verdict on whether the answer states a gold nugget (arXiv 2504.15068).

    Attributes:
        gold: 0-based position in `Evaluation.gold_nuggets`.
    """

    item_fields, value_field = ("gold",), "assignment"
    labels = ASSIGNMENTS

    evaluator: str = "assignment"
    gold: int = Field(ge=0)
    assignment: Assignment | None = None


class Assessment(Frozen):
    """Result of a user-defined evaluator, with a reason.

    Attributes:
        value: Label, or number on the scale of the evaluator.
        confidence, entropy_bits: Same as in `VerdictBase`.
    """

    value: str | float
    reason: str = ""
    confidence: float | None = Field(default=None, ge=0, le=1)
    entropy_bits: float | None = Field(default=None, ge=0)


class OwnVerdict(WeighedVerdict):
    """Verdict of a user-defined evaluator on an answer, a sentence or a citation.

    Attributes:
        sentence: 1-based sentence number, or None for the whole answer.
        marker: Citation marker, if the verdict is about a citation.
        label: Label, or None if unscored, or if the evaluator has a scale.
        score: Number on the scale, or None if unscored, or if the evaluator has labels. For a
            panel, the mean of its members' scores.
        members: Verdicts of the panel members (empty for a single judge).
    """

    sentence: int | None = Field(default=None, ge=1)
    marker: str = ""
    criterion: str = ""
    label: str | None = None
    score: float | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    reason: str = ""
    members: tuple[OwnVerdict, ...] = ()

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return "/".join(str(part) for part in (self.sentence, self.marker, self.criterion) if part)

    @property
    def value(self) -> str | float | None:
        """See `VerdictBase`."""
        return self.label if self.label is not None else self.score

    @property
    def choices(self) -> tuple[float, ...]:
        """All integers on a short scale of integers, otherwise five evenly spaced numbers.

        Empty for a label.
        """
        low, high = self.scale
        if self.label is not None:
            return ()
        if low.is_integer() and high.is_integer() and 1 < high - low < 10:
            return tuple(range(int(low), int(high) + 1))
        return tuple(round(low + (high - low) * step / 4, 4) for step in range(5))


class NuggetMatch(Frozen):
    """Gold nugget and the matching nugget of the answer.

    Attributes:
        gold: 0-based position in `Evaluation.gold_nuggets`.
        nugget: 0-based position in `Evaluation.nuggets`.
        similarity_score: Cosine similarity of the nuggets, in [-1, 1].
    """

    gold: int = Field(ge=0)
    nugget: int = Field(ge=0)
    similarity_score: float

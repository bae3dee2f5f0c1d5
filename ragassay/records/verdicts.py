"""The agents' verdicts on an answer."""

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
    renamed_field,
)
from ragassay.records.inputs import Citation, Nugget


class EvidenceSpan(Frozen):
    """A passage of a document, by character offsets into the document's text.

    Attributes:
        start: First character in `Document.text` (0-based).
        text: `Document.text[start:end]`.
        relevance_score: Cosine similarity of passage and claim, in [-1, 1].
    """

    document: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    title: str = ""
    relevance_score: float | None = None


class UnsupportedSpan(Frozen):
    """A part of a claim that a passage does not support, as a verifier of tokens marks it.

    Attributes:
        score: The greatest probability of its tokens to be unsupported, in [0, 1].
    """

    start: int = Field(ge=0)
    end: int = Field(ge=1)
    score: float = Field(ge=0, le=1)


class Failure(Frozen):
    """The reason why a verdict is missing."""

    reason: FailureReason
    detail: str = ""

    @classmethod
    def left_open(cls, detail: str = "") -> Self:
        """Return the failure of a judge that cannot tell; the detail says why."""
        return cls(reason="undecided", detail=detail)

    @property
    def state(self) -> MissingState:
        """The state of the missing verdict."""
        return "undecided" if self.is_undecided else "unscored"

    @property
    def is_undecided(self) -> bool:
        """True where the judge said that it cannot tell."""
        return self.reason == "undecided"


FAILED_CALLS = "failed calls"
"""Where calls are counted that were paid for and gave no verdict; most were made again."""


class Usage(Frozen):
    """The cost of verdicts. Sums add up field by field.

    Attributes:
        n_cached_tokens: Those of the tokens sent that the provider read from its cache.
        n_cache_write_tokens: Those of the tokens sent that it wrote to its cache.
        cost_usd: By LiteLLM's price list; 0 for a local model, None where the price is unknown.
        answered_by: The models that answered, each as "ASKED: MODEL FINGERPRINT", with the name and
            the fingerprint that the provider returned. A sum has each once.
        confidence_from: Where the distributions came from: "log-probabilities", "5 samples", "the
            written rating alone". A sum has each once.
        n_failed_samples: Samples that gave no usable reply; the distributions leave them out.
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
        """Tokens sent and received."""
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
            answered_by=_union(self.answered_by, other.answered_by),
            confidence_from=_union(self.confidence_from, other.confidence_from),
            n_failed_samples=self.n_failed_samples + other.n_failed_samples,
        )

    @property
    def unpaid(self) -> Usage:
        """The same answers without their cost, for a second verdict that follows from them."""
        return Usage(answered_by=self.answered_by, confidence_from=self.confidence_from)


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return one if one == other else tuple(sorted({*one, *other}))


class Escalation(Frozen):
    """A second judge's part in a verdict that the first judge was not sure of.

    Attributes:
        failure: Why it gave none: the first judge's verdict then stands, or stays unscored.
    """

    judge: str
    usage: Usage = Usage()
    failure: Failure | None = None


@dataclass(frozen=True)
class Comparison:
    """A verifier's verdict on a claim and a text; its fields are those of the verdicts made of it.

    Attributes:
        confidence: Its probability among the labels; of the tentative one, where undecided; None
            where not given.
        entropy_bits: Entropy of the distribution over the labels; None where not given.
        tentative_label: The likeliest label, where that is not enough for a verdict.
        difference: The claim's words that the text does not support, if a rule found some.
        absent_numbers: The claim's numbers that the text does not state, nor another value for.
        spans: The parts of the claim that the text does not support, from a verifier of tokens.
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
    """The base class of all verdicts. A missing verdict is a value too: its `failure` says why.

    Attributes:
        judge: The panel's judge that gave it; "" without a panel.
        tentative_label: The likeliest label of an undecided verdict.
        confidence: Probability of the value, or of the tentative label, among those possible; None
            where not given.
        entropy_bits: Entropy of that distribution; None where not given.
        escalation: Set where the first judge was not sure and a second one was asked.
        usage: Tokens and cost, who answered, and where the distribution comes from.
        failure: Set exactly where there is no value.
    """

    evaluator: str
    judge: str = ""
    tentative_label: str | None = renamed_field("tentative_label", "leaning", default=None)
    confidence: float | None = Field(default=None, ge=0, le=1)
    entropy_bits: float | None = Field(default=None, ge=0)
    escalation: Escalation | None = None
    usage: Usage = Usage()
    failure: Failure | None = None

    kinds: ClassVar[dict[str, type[VerdictBase]]] = {}
    """The type of each evaluator's verdicts."""
    item_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that name the item."""
    value_field: ClassVar[str] = ""
    """The field of the value; "" for a verdict without one."""
    labels: ClassVar[tuple[str, ...]] = ()
    """The labels that the value may have, of a verdict by label."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Register a kind of verdict by the name of its evaluator."""
        name = cls.model_fields["evaluator"].default
        if isinstance(name, str):
            VerdictBase.kinds[name] = cls

    @property
    def item(self) -> str:
        """The verdict's item; unique among its evaluator's verdicts on an answer."""
        return "/".join(str(getattr(self, name)) for name in self.item_fields)

    @property
    def value(self) -> str | float | None:
        """The label, or the number on a scale; None where unscored."""
        return getattr(self, self.value_field) if self.value_field else None

    @property
    def choice(self) -> str | float | None:
        """The value as one of `choices`; None where unscored."""
        return self.value

    @property
    def choices(self) -> tuple[str | float, ...]:
        """The values that a person may give instead; empty where that is open."""
        return self.labels

    @property
    def is_undecided(self) -> bool:
        """Return whether the judge said that it cannot tell."""
        return self.state == "undecided"

    @property
    def state(self) -> VerdictState:
        """Decided, or without a value: left open by the judge, or unscored."""
        return "decided" if self.failure is None else self.failure.state


class WeighedVerdict(VerdictBase):
    """A verdict that says how sure the judge is, so that it can go to a second judge.

    Attributes:
        escalated_from: The first judge's value, if the second judge gave this one.
    """

    escalated_from: Self | None = None


class RatingVerdict(WeighedVerdict):
    """A verdict on a scale of whole numbers, with the fields `scale`, `rating` and `score`."""

    value_field = "score"

    @property
    def choice(self) -> int | None:
        """The rating that the judge wrote; None where unscored."""
        return getattr(self, "rating", None)

    @property
    def choices(self) -> tuple[str | float, ...]:
        """The ratings of the scale."""
        low, high = getattr(self, "scale", (1, 5))
        return tuple(range(low, high + 1))


class ClaimVerdict(VerdictBase):
    """A verdict on whether a text supports a claim.

    Attributes:
        difference: The claim's words that the text does not support, if a rule found some.
        absent_numbers: The claim's numbers that no cited source states.
    """

    difference: str = ""
    absent_numbers: tuple[str, ...] = ()
    spans: tuple[UnsupportedSpan, ...] = ()

    value_field = "verdict"
    labels = get_args(Verdict)


class Judgment(RatingVerdict):
    """One rubric's rating of one answer.

    Attributes:
        rubric: The rubric's name, e.g. "cohesion".
        rating: The rating that the judge wrote, on the scale; None where unscored.
        score: The expectation over the distribution, on the scale; the rating itself where there is
            none; None where unscored. Of a panel, the mean of its members.
        distribution: Probability of each rating, from the scale's lowest; None where not given.
        sentences: Numbers (1-based) of the sentences that the rationale names.
        members: The panel's judgments behind this one; empty for a single judge.
        first: A panel member's judgment before it read the others'; None without a dispute.
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
            raise ValueError(f"a distribution over {high - low + 1} ratings has as many numbers")
        return self


class SentenceLabel(WeighedVerdict):
    """A label for whether an answer needs a sentence (BioACE, figure 2)."""

    item_fields, value_field = ("sentence",), "label"
    labels = RELEVANCE_LABELS

    evaluator: str = "sentence_label"
    sentence: int = Field(ge=1)
    label: RelevanceLabel | None = None


class NuggetVerdict(ClaimVerdict, WeighedVerdict):
    """A verdict on whether a cited document supports one nugget of the citing sentence."""

    item_fields = ("sentence", "document", "nugget")

    evaluator: str = "cited_nugget"
    sentence: int = Field(ge=1)
    document: str
    nugget: str
    verdict: Verdict | None = None


class AttributionVerdict(ClaimVerdict):
    """A verdict on whether the documents that a sentence cites support it together (ALCE).

    Attributes:
        without: The document that was left out; empty for all of them.
    """

    item_fields = ("sentence", "without")

    evaluator: str = "attribution"
    sentence: int = Field(ge=1)
    without: str = ""
    verdict: Verdict | None = None


class DocumentFacts(VerdictBase):
    """The facts of a passage of a cited document.

    Attributes:
        facts: The passage's sentences where the model failed; `failure` then says why.
    """

    item_fields = ("document", "start")

    evaluator: str = "facts"
    document: str
    start: int = Field(ge=0)
    facts: tuple[str, ...] = ()


CORRECTNESS = {True: "correct", False: "not_supported", None: None}


class SentenceCorrectness(VerdictBase):
    """A verdict on whether a passage found for a sentence supports it (BioACE, 4.1.3).

    Attributes:
        correct: None without a passage.
        score: The best passage's score; None without a passage, or if it comes from the judge's
            verdicts, which have none.
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
    """A verdict on whether a cited document supports the citing sentence.

    Attributes:
        verdict: "invalid" where the citation resolves to no document; None where unscored.
        evidence: The parts of the document that were checked.
        nuggets: The verdicts on the sentence's nuggets that it merges, if any.
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
    """A verdict on whether a passage, found in any document, supports a sentence.

    Attributes:
        sentence: 1-based. A sentence has several verdicts where several passages were found.
        side: The side that the search looked for; the verdict may differ.
        rank: Its place among the passages of its side, 1 for the best.
        evidence: The passage; None where nothing was found.
    """

    item_fields = ("sentence", "side", "rank")

    evaluator: str = "evidence"
    sentence: int = Field(ge=1)
    side: EvidenceSide = "for"
    rank: int = Field(default=1, ge=1)
    verdict: Verdict | None = None
    evidence: EvidenceSpan | None = None


class SentenceNuggets(VerdictBase):
    """The facts of one sentence of the answer or of the reference, or of the whole text.

    Attributes:
        sentence: 1-based; 1 if the text was read as a whole; each nugget then has its own sentence.
        nuggets: Not empty for a sentence that states something, unless `failure` is set.
    """

    item_fields = ("origin", "sentence")

    evaluator: str = "nuggets"
    origin: NuggetOrigin
    sentence: int = Field(ge=1)
    nuggets: tuple[Nugget, ...] = ()


class NuggetAssignment(WeighedVerdict):
    """A judge's verdict on whether the answer states a gold nugget (arXiv 2504.15068).

    Attributes:
        gold: Position in `Evaluation.gold_nuggets` (0-based).
    """

    item_fields, value_field = ("gold",), "assignment"
    labels = ASSIGNMENTS

    evaluator: str = "assignment"
    gold: int = Field(ge=0)
    assignment: Assignment | None = None


class Assessment(Frozen):
    """A reply of a user's own evaluator, with a reason.

    Attributes:
        value: A label, or a number on the evaluator's scale.
        confidence: Probability of the value among those possible; None where not given.
        entropy_bits: Entropy of that distribution; None where not given.
    """

    value: str | float
    reason: str = ""
    confidence: float | None = Field(default=None, ge=0, le=1)
    entropy_bits: float | None = Field(default=None, ge=0)


class OwnVerdict(WeighedVerdict):
    """The verdict of a user's own evaluator on an answer, a sentence or a citation.

    Attributes:
        sentence: 1-based; None for the whole answer.
        marker: The marker of the sentence's citation, if it is about one.
        label: The label, if the evaluator has labels; None where unscored.
        score: The number on the scale, if the evaluator has one; None where unscored. Of a panel,
            the mean of its members.
        members: The panel's verdicts behind this one; empty for a single judge.
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
        """Five numbers of the scale, or all whole ones of a short scale; open for a label."""
        low, high = self.scale
        if self.label is not None:
            return ()
        if low.is_integer() and high.is_integer() and 1 < high - low < 10:
            return tuple(range(int(low), int(high) + 1))
        return tuple(round(low + (high - low) * step / 4, 4) for step in range(5))


class NuggetMatch(Frozen):
    """A gold nugget and the answer's nugget that states it.

    Attributes:
        gold: Position in `Evaluation.gold_nuggets` (0-based).
        nugget: Position in `Evaluation.nuggets` (0-based).
        similarity_score: Cosine similarity of the two, in [-1, 1].
    """

    gold: int = Field(ge=0)
    nugget: int = Field(ge=0)
    similarity_score: float

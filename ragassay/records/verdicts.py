"""What the agents say of an answer, one verdict at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field, model_validator

from ragassay.records.base import (
    Assignment,
    CitationLabel,
    EvidenceSide,
    FailureReason,
    Frozen,
    NuggetOrigin,
    RelevanceLabel,
    Verdict,
)
from ragassay.records.inputs import Citation, Nugget


class EvidenceSpan(Frozen):
    """A passage of a document, by character offsets into the document's text.

    Attributes:
        document: The document's id.
        start: First character in `Document.text` (0-based).
        end: One past the last character.
        text: `Document.text[start:end]`.
        title: The document's title.
        relevance_score: Cosine similarity of passage and claim, in [-1, 1].
    """

    document: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    title: str = ""
    relevance_score: float | None = None


class Failure(Frozen):
    """Why a verdict could not be had."""

    reason: FailureReason
    detail: str = ""


class Usage(Frozen):
    """What verdicts cost. Sums add up field by field.

    Attributes:
        n_calls: Model calls that returned.
        n_prompt_tokens: Tokens sent.
        n_completion_tokens: Tokens received.
        cost_usd: By LiteLLM's price list; 0 for a local model, None where no price is known.
    """

    n_calls: int = 0
    n_prompt_tokens: int = 0
    n_completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        unknown = self.cost_usd is None or other.cost_usd is None
        return Usage(
            n_calls=self.n_calls + other.n_calls,
            n_prompt_tokens=self.n_prompt_tokens + other.n_prompt_tokens,
            n_completion_tokens=self.n_completion_tokens + other.n_completion_tokens,
            cost_usd=None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0),
        )


class Escalation(Frozen):
    """That a verdict went on to a second judge, since the first was not sure of it.

    Attributes:
        judge: LiteLLM name of the second judge.
        usage: What its verdict cost.
        failure: Why it gave none: then the first judge's verdict stands, or is still unscored.
    """

    judge: str
    usage: Usage = Usage()
    failure: Failure | None = None


@dataclass(frozen=True)
class Comparison:
    """What a text says of a claim.

    Attributes:
        verdict: The label.
        confidence: Its probability among the labels; None where the model does not tell.
        usage: What it cost.
        entropy_bits: Entropy of the distribution over the labels; None where not given.
    """

    verdict: Verdict
    confidence: float | None
    usage: Usage
    entropy_bits: float | None = None


class VerdictBase(Frozen):
    """What all verdicts share. A verdict that failed is a value too: its `failure` says why.

    Attributes:
        evaluator: Name of the evaluator that asked.
        judge: Which judge of a panel gave it; "" where there is no panel.
        confidence: Probability of what was said among what could be said; None where not given.
        entropy_bits: Entropy of that distribution; None where not given.
        escalation: Set where the first judge was not sure and a second one was asked.
        usage: What it cost.
        failure: Set exactly where nothing was said.
    """

    evaluator: str
    judge: str = ""
    confidence: float | None = Field(default=None, ge=0, le=1)
    entropy_bits: float | None = Field(default=None, ge=0)
    escalation: Escalation | None = None
    usage: Usage = Usage()
    failure: Failure | None = None

    kinds: ClassVar[dict[str, type[VerdictBase]]] = {}
    """The type of each evaluator's verdicts."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Register a kind of verdict by the name of its evaluator."""
        name = cls.model_fields["evaluator"].default
        if isinstance(name, str):
            VerdictBase.kinds[name] = cls

    @property
    def item(self) -> str:
        """What the verdict is about; unique among those of its evaluator on an answer."""
        raise NotImplementedError

    @property
    def value(self) -> str | float | None:
        """What was said: a label, or a number on a scale; None where nothing was."""
        return None


class Judgment(VerdictBase):
    """One rubric's rating of one answer.

    Attributes:
        rubric: The rubric's name, e.g. "cohesion".
        scale: The rubric's lowest and highest rating.
        rating: The rating that the judge wrote, on the scale; None where unscored.
        score: The expectation over the rating tokens, on the scale; the rating itself where the
            model gives no log-probabilities; None where unscored. Of a panel, the mean of its
            members.
        distribution: Probability of each rating, from the scale's lowest on; None where not given.
        rationale: The judge's reason.
        sentences: Numbers (1-based) of the sentences that the rationale points to.
        members: The judgments of a panel that this one was made of; empty for a single judge.
        first: What a panel's member said before it heard the others; None where nobody was far off.
        escalated_from: What the first judge had said, where the second one gave this.
    """

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
    escalated_from: Judgment | None = None

    @model_validator(mode="after")
    def _on_scale(self) -> Judgment:
        low, high = self.scale
        for value in (self.rating, self.score):
            if value is not None and not low <= value <= high:
                raise ValueError(f"{value} is not between {low} and {high}")
        if self.distribution is not None and len(self.distribution) != high - low + 1:
            raise ValueError(f"a distribution over {high - low + 1} ratings has as many numbers")
        return self

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return self.rubric

    @property
    def value(self) -> float | None:
        """See `VerdictBase`."""
        return self.score


class SentenceLabel(VerdictBase):
    """Whether an answer needs a sentence (BioACE, figure 2).

    Attributes:
        sentence: 1-based.
        label: None where unscored.
        escalated_from: What the first judge had said, where the second one gave this.
    """

    evaluator: str = "sentence_label"
    sentence: int = Field(ge=1)
    label: RelevanceLabel | None = None
    escalated_from: SentenceLabel | None = None

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return str(self.sentence)

    @property
    def value(self) -> str | None:
        """See `VerdictBase`."""
        return self.label


class NuggetVerdict(VerdictBase):
    """Whether a cited document supports one nugget of the sentence that cites it.

    Attributes:
        sentence: 1-based.
        document: The cited document's id.
        nugget: The nugget's text.
        verdict: None where unscored.
        escalated_from: What the first judge had said, where the second one gave this.
    """

    evaluator: str = "cited_nugget"
    sentence: int = Field(ge=1)
    document: str
    nugget: str
    verdict: Verdict | None = None
    escalated_from: NuggetVerdict | None = None

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return f"{self.sentence}/{self.document}/{self.nugget}"

    @property
    def value(self) -> str | None:
        """See `VerdictBase`."""
        return self.verdict


class DocumentFacts(VerdictBase):
    """The facts of a passage of a cited document.

    Attributes:
        document: The document's id.
        start: Where the passage starts in the document's text (0-based).
        facts: Its own sentences where no model could list its facts; `failure` then says why.
    """

    evaluator: str = "facts"
    document: str
    start: int = Field(ge=0)
    facts: tuple[str, ...] = ()

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return f"{self.document}/{self.start}"


_CORRECTNESS = {True: "correct", False: "not_borne_out", None: None}


class SentenceCorrectness(VerdictBase):
    """Whether one of the passages that were found for a sentence bears it out (BioACE, 4.1.3).

    Attributes:
        sentence: 1-based.
        correct: None where there was no passage.
        score: The best passage's; None where there was none, or where the judge's verdicts were
            taken, which have none.
        evidence: The best passage.
    """

    evaluator: str = "correctness"
    sentence: int = Field(ge=1)
    correct: bool | None = None
    score: float | None = None
    evidence: EvidenceSpan | None = None

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return str(self.sentence)

    @property
    def value(self) -> str | None:
        """See `VerdictBase`."""
        return _CORRECTNESS[self.correct]


class CitationVerdict(VerdictBase):
    """Whether a cited document supports the sentence that cites it.

    Attributes:
        sentence: 1-based.
        citation: The pointer.
        verdict: "invalid" where the citation points nowhere; None where unscored.
        evidence: What of the document was checked.
        nuggets: The verdicts on the sentence's nuggets that it was merged from, if any.
        escalated_from: What the first judge had said, where the second one gave this.
    """

    evaluator: str = "citation"
    sentence: int = Field(ge=1)
    citation: Citation
    verdict: CitationLabel | None = None
    evidence: EvidenceSpan | None = None
    nuggets: tuple[NuggetVerdict, ...] = ()
    escalated_from: CitationVerdict | None = None

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return f"{self.sentence}/{self.citation.marker}"

    @property
    def value(self) -> str | None:
        """See `VerdictBase`."""
        return self.verdict


class EvidenceVerdict(VerdictBase):
    """Whether a passage that was found for a sentence, in any document, bears it out.

    Attributes:
        sentence: 1-based. A sentence has several verdicts where several passages were found.
        side: What was looked for when the passage came up; the verdict may say otherwise.
        rank: Its place among the passages of its side, 1 for the best.
        verdict: None where unscored.
        evidence: The passage; None where nothing was found.
        escalated_from: What the first judge had said, where the second one gave this.
    """

    evaluator: str = "evidence"
    sentence: int = Field(ge=1)
    side: EvidenceSide = "for"
    rank: int = Field(default=1, ge=1)
    verdict: Verdict | None = None
    evidence: EvidenceSpan | None = None
    escalated_from: EvidenceVerdict | None = None

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return f"{self.sentence}/{self.side}/{self.rank}"

    @property
    def value(self) -> str | None:
        """See `VerdictBase`."""
        return self.verdict


class SentenceNuggets(VerdictBase):
    """The facts of one sentence of the answer or of the reference.

    Attributes:
        origin: "answer" or "reference".
        sentence: 1-based.
        nuggets: Never empty for a sentence that states something, unless `failure` is set.
    """

    evaluator: str = "nuggets"
    origin: NuggetOrigin
    sentence: int = Field(ge=1)
    nuggets: tuple[Nugget, ...] = ()

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return f"{self.origin}/{self.sentence}"


class NuggetAssignment(VerdictBase):
    """Whether the answer states a gold nugget, as a judge read it (arXiv 2504.15068).

    Attributes:
        gold: Position in `Evaluation.gold_nuggets` (0-based).
        assignment: None where unscored.
        escalated_from: What the first judge had said, where the second one gave this.
    """

    evaluator: str = "assignment"
    gold: int = Field(ge=0)
    assignment: Assignment | None = None
    escalated_from: NuggetAssignment | None = None

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return str(self.gold)

    @property
    def value(self) -> str | None:
        """See `VerdictBase`."""
        return self.assignment


class Said(Frozen):
    """What an evaluator of a user's own says, with a reason.

    Attributes:
        value: A label, or a number on the evaluator's scale.
        reason: Why.
        confidence: Probability of the value among those possible; None where not given.
        entropy_bits: Entropy of that distribution; None where not given.
    """

    value: str | float
    reason: str = ""
    confidence: float | None = Field(default=None, ge=0, le=1)
    entropy_bits: float | None = Field(default=None, ge=0)


class OwnVerdict(VerdictBase):
    """What an evaluator of the user's own says of an answer, a sentence or a citation.

    Attributes:
        sentence: 1-based; None where it is about the whole answer.
        marker: Of the sentence's citation, where it is about one.
        criterion: The criterion that the answer was held against, where there are several.
        label: What was said, where it is one of a set of labels; None where unscored.
        score: What was said, where it is a number on the scale; None where unscored. Of a panel,
            the mean of its members.
        scale: Lowest and highest score.
        reason: Why.
        members: The verdicts of a panel that this one was made of; empty for a single judge.
        escalated_from: What the first judge had said, where the second one gave this.
    """

    sentence: int | None = Field(default=None, ge=1)
    marker: str = ""
    criterion: str = ""
    label: str | None = None
    score: float | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    reason: str = ""
    members: tuple[OwnVerdict, ...] = ()
    escalated_from: OwnVerdict | None = None

    @property
    def item(self) -> str:
        """See `VerdictBase`."""
        return "/".join(str(part) for part in (self.sentence, self.marker, self.criterion) if part)

    @property
    def value(self) -> str | float | None:
        """See `VerdictBase`."""
        return self.label if self.label is not None else self.score


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

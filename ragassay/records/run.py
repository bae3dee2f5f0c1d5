"""The records of a run: its manifest, cascade, failures, rejected lines and summary."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import CALL_FAULTS, Frozen, SchemaVersion, renamed_field
from ragassay.records.evaluation import Score, Scores
from ragassay.records.fitted import Bound
from ragassay.records.verdicts import Failure, Usage


class CascadePart(Frozen):
    """One kind of question, over all answers.

    Attributes:
        n: Questions; the sum of the three counts below.
        n_escalated: Those that the second judge decided.
        n_failed: Those that the second judge failed on: the first judge's verdict stands.
        usage: The cost of the second judge's verdicts.
        full_cost_usd: The estimated cost of sending all questions there: cost per call times `n`.
            None where the price is unknown, or it decided none.
    """

    kind: str
    n: int = Field(ge=0)
    n_kept: int = Field(ge=0)
    n_escalated: int = Field(ge=0)
    n_failed: int = Field(ge=0)
    usage: Usage = Usage()
    full_cost_usd: float | None = None


class CascadeSummary(Frozen):
    """The verdicts that each of two judges decided, and what the second one cost.

    Attributes:
        when: The condition for asking the second judge.
        parts: One for each kind of question that occurred.
        usage: The cost of the second judge's verdicts.
        full_cost_usd: The sum of the parts' estimates; None where no part has one.
    """

    judge: str
    second: str
    when: str
    parts: tuple[CascadePart, ...] = ()
    usage: Usage = Usage()
    full_cost_usd: float | None = None


class RecordFailure(Frozen):
    """A record without an evaluation.

    Attributes:
        usage: The usage of the calls that were made all the same.
    """

    record_id: str
    stage: str
    failure: Failure
    usage: Usage = Usage()


class Rejection(Frozen):
    """A line of a user's file that could not be read.

    Attributes:
        line: 1-based; 0 for the whole file.
        field: Dotted path of the wrong field; empty for the whole line.
        problem: The value that was found.
        expected: A correct value.
        content: The line, cut to 2,000 characters.
    """

    file: str
    line: int = Field(ge=0)
    field: str = ""
    problem: str
    expected: str = ""
    content: str = ""


class CardFigure(Frozen):
    """A model's performance on data that it was not tuned on.

    Attributes:
        task: e.g. "citation verdicts, three labels".
        data: The data set and its part.
        metric: e.g. "accuracy".
    """

    task: str
    data: str
    metric: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int = Field(ge=0)
    command: str


class ModelCard(Frozen):
    """A description of a judge: what it is, its limits, its figures on held-out data.

    Attributes:
        bounds: What its verdicts need to count, and its findings to lead a report; from the
            adapter's own note.
    """

    model: str
    description: str
    digest: str = ""
    bounds: tuple[Bound, ...] = ()
    limits: tuple[str, ...] = ()
    figures: tuple[CardFigure, ...] = ()


class FileFingerprint(Frozen):
    """A file that a run read: its name (without folders), SHA-256 and number of items."""

    name: str
    sha256: str
    n_items: int = Field(ge=0)
    format: str = ""


class PanelJudge(Frozen):
    """A further judge of a panel: its LiteLLM name and its card."""

    judge: str
    card: ModelCard | None = None


class PromptFingerprint(Frozen):
    """A compiled prompt in place of a shipped one.

    Attributes:
        rubrics: The rubrics that it is for; empty for all.
        metric: The metric that chose it, on held-out data.
        before: The shipped prompt's figure there.
        is_better: Whether it did better there; if not, the user kept it anyway.
    """

    agent: str
    rubrics: tuple[str, ...] = ()
    sha256: str
    model: str
    optimizer: str
    metric: str = ""
    before: Score | None = None
    after: Score | None = None
    is_better: bool


class Manifest(Frozen):
    """Everything that a run depends on. Two runs with equal manifests have equal results.

    Attributes:
        packages: Versions of the libraries that affect the result.
        judge_digest: SHA-256 of its weights where they are local; else empty.
        base: The model for all but the rubrics, if the judge was fine-tuned to rate them.
        panel: Further judges of the rubrics.
        second: The judge for uncertain verdicts; None without a cascade.
        rater: The model that rated the rubrics by signals in place of the embedded judge; empty
            without one.
        verifier: The model that compared sentences with passages: the judge or another one.
        verifier_digest: SHA-256 of its weights where they are known; else empty.
        correctness: The model that decided whether sentences are correct.
        grader: The instrument that graded passages; empty where the judge did, or nothing was.
        prompts_sha256: Hash of every prompt and rubric text.
        prompts: Compiled prompts in place of shipped ones.
        own: Digests of the user's own evaluators and rubrics, by name.
        settings: The settings that affect the result; no key, no endpoint.
        answered_by: Who answered, as in `Usage`; known at the end of the run.
        verifier_card: The card of a verifier other than the judge.
    """

    ragassay: str
    packages: dict[str, str] = Field(default_factory=dict)
    judge: str
    judge_digest: str = ""
    panel: tuple[PanelJudge, ...] = ()
    second: PanelJudge | None = None
    base: str = ""
    rater: str = ""
    rater_digest: str = ""
    verifier: str = ""
    verifier_digest: str = ""
    correctness: str = ""
    grader: str = ""
    grader_digest: str = ""
    embedder: str = ""
    embedder_digest: str = ""
    prompts_sha256: str = ""
    prompts: tuple[PromptFingerprint, ...] = ()
    own: dict[str, str] = Field(default_factory=dict)
    answers: FileFingerprint
    corpus: FileFingerprint | None = None
    settings: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    answered_by: tuple[str, ...] = ()
    card: ModelCard | None = None
    base_card: ModelCard | None = None
    rater_card: ModelCard | None = None
    verifier_card: ModelCard | None = None
    grader_card: ModelCard | None = None


class PanelMember(Frozen):
    """One judge of a panel, over all answers and rubrics.

    Attributes:
        score: Mean of its scores; `n` counts ratings, `n_unscored` failed ones.
        n_heard_again: Ratings that it gave again after it read the others' reasons.
        n_moved: Those of them that changed.
    """

    judge: str
    score: Score
    n_heard_again: int = Field(default=0, ge=0)
    n_moved: int = Field(default=0, ge=0)


class PanelPair(Frozen):
    """The agreement of two judges of a panel.

    Attributes:
        alike: Krippendorff's alpha (ordinal) of the ratings that both gave alone, or the
            correlation of their errors.
        is_of_errors: Whether it is of their errors, against people's ratings.
    """

    first: str
    second: str
    alike: Score
    is_of_errors: bool = False


class PanelAgreement(Frozen):
    """The agreement of a panel's judges, over all answers and rubrics.

    Attributes:
        alpha_alone: Krippendorff's alpha, ordinal, of the ratings given alone.
        exact_alone: Share of judgments with identical ratings, given alone.
        n_disputed: Judgments with two ratings at least two points apart.
        n_resolved: Those of them without such ratings after the judges read each other's reasons.
        n_heard_again: Ratings that were given again.
        pairs: How alike each two judges are. Empty in runs of earlier versions.
        n_effective: How many independent judges the panel is worth at least; None where unknown.
    """

    members: tuple[PanelMember, ...]
    alpha_alone: Score
    alpha: Score
    exact_alone: Score
    exact: Score
    n_disputed: int = Field(ge=0)
    n_resolved: int = renamed_field("n_resolved", "n_settled", ge=0)
    n_heard_again: int = Field(ge=0)
    n_moved: int = Field(ge=0)
    pairs: tuple[PanelPair, ...] = ()
    n_effective: float | None = None


class ApplicationUse(Frozen):
    """The latency, tokens and cost of an application, over the questions that it answered.

    Attributes:
        latency_p50_s: Median time to an answer, in seconds; None without an answer.
        latency_p95_s: 95th percentile of it.
        n_prompt_tokens: Tokens that its models read, as far as it says.
        n_completion_tokens: Tokens that they wrote, as far as it says.
        n_priced: Answers whose cost is known.
        cost_usd: Sum over these; None where no cost is known.
    """

    name: str
    n_asked: int = Field(ge=0)
    n_failed: int = Field(ge=0)
    latency_p50_s: float | None = None
    latency_p95_s: float | None = None
    n_prompt_tokens: int = 0
    n_completion_tokens: int = 0
    n_priced: int = 0
    cost_usd: float | None = None


class Summary(Frozen):
    """A run in numbers.

    Attributes:
        n_failed: Records without one.
        n_rejected: Lines that could not be read.
        scores: Means over answers; `n` counts answers, `n_unscored` those without the score.
        by_question: Macro means over questions, each question's answers averaged first; `n`
            counts questions. Empty in runs of earlier versions.
        pooled: Shares over the verdicts of all answers, hits divided by n; `n` counts verdicts.
            Empty in runs of earlier versions.
        systems: Means over answers for each system, where records name one.
        findings: Number of findings of each kind that lead the report.
        secondary_findings: Number of those of each kind that are worth a look.
        n_undecided: Verdicts that the judge left open; they are unscored, not failed.
        unscored: Number of verdicts that failed, by reason; the most frequent first.
        n_judged: Verdicts that a judge gave, or left open; not those that follow from a rule.
        usage_by_part: The same by part of the evaluation; see `Evaluation`.
        confidence_from: Number of verdicts by where their distribution came from, as in `Usage`.
        application: What the application took that was asked for the answers, if one was.
        notes: How the input was read, where a reader of the scores must know: fields of other
            names, texts that were not read.
    """

    schema_version: SchemaVersion = 2
    n_records: int = Field(ge=0)
    n_evaluated: int = Field(ge=0)
    n_failed: int = Field(ge=0)
    n_rejected: int = Field(ge=0)
    scores: Scores = Field(default_factory=dict)
    by_question: Scores = Field(default_factory=dict)
    pooled: Scores = Field(default_factory=dict)
    systems: dict[str, Scores] = Field(default_factory=dict)
    findings: dict[str, int] = Field(default_factory=dict)
    secondary_findings: dict[str, int] = renamed_field(
        "secondary_findings", "looks", default_factory=dict
    )
    n_undecided: int = Field(default=0, ge=0)
    unscored: dict[str, int] = Field(default_factory=dict)
    n_judged: int = Field(default=0, ge=0)
    usage: Usage = Usage()
    usage_by_part: dict[str, Usage] = Field(default_factory=dict)
    confidence_from: dict[str, int] = Field(default_factory=dict)
    panel: PanelAgreement | None = None
    cascade: CascadeSummary | None = None
    application: ApplicationUse | None = None
    notes: tuple[str, ...] = ()

    @property
    def judged_nothing(self) -> bool:
        """Return whether no answer was evaluated, or every call of a judge failed."""
        has_asked_in_vain = not self.n_judged and bool(self.unscored.keys() & set(CALL_FAULTS))
        return has_asked_in_vain or bool(self.n_records and not self.n_evaluated)

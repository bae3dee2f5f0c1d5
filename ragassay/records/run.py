"""Records that describe a run, such as its manifest, failures, rejected lines and summary."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import CALL_FAULTS, Frozen, SchemaVersion, define_renamed_field
from ragassay.records.evaluation import Score, Scores
from ragassay.records.fitted import Bound
from ragassay.records.verdicts import Failure, Usage


class CascadePart(Frozen):
    """Cascade statistics for one kind of verdict, over all answers.

    Attributes:
        n_kept: Number of verdicts that were not escalated.
        n_escalated: Number of verdicts decided by the second judge.
        n_failed: Number of verdicts for which the second judge failed, so that the first is used.
        usage: Usage of the second judge.
        full_cost_usd: Estimated cost of asking the second judge about all verdicts: the cost per
            call times `n`, or None if the price is unknown or the second judge decided nothing.
    """

    kind: str
    n: int = Field(ge=0)
    n_kept: int = Field(ge=0)
    n_escalated: int = Field(ge=0)
    n_failed: int = Field(ge=0)
    usage: Usage = Usage()
    full_cost_usd: float | None = None


class CascadeSummary(Frozen):
    """Numbers of verdicts that each judge of a cascade decided, and cost of the second judge.

    Attributes:
        usage: Usage of the second judge.
        full_cost_usd: Sum of `full_cost_usd` over the parts, or None if no part has an estimate.
    """

    judge: str
    second: str
    when: str
    parts: tuple[CascadePart, ...] = ()
    usage: Usage = Usage()
    full_cost_usd: float | None = None


class RecordFailure(Frozen):
    """Failed evaluation of a record.

    Attributes:
        usage: Usage of the calls made before the failure.
    """

    record_id: str
    stage: str
    failure: Failure
    usage: Usage = Usage()


class Rejection(Frozen):
    """Line of an input file that could not be read.

    Attributes:
        line: 1-based line number. 0 for the whole file.
        field: Dotted path of the invalid field (empty for the whole line).
        problem: Description of the problem, or the invalid value.
        expected: Description of a valid value.
        content: Content of the line, truncated to 2,000 characters.
    """

    file: str
    line: int = Field(ge=0)
    field: str = ""
    problem: str
    expected: str = ""
    content: str = ""


class CardFigure(Frozen):
    """Performance of a model on held-out data.

    Attributes:
        task: Description of the task, such as "citation verdicts, three labels".
        data: Name and split of the data set.
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
    """Model card with description, limitations and performance on held-out data.

    Attributes:
        bounds: Confidence bounds for verdicts and findings, read from the adapter folder.
    """

    model: str
    description: str
    digest: str = ""
    bounds: tuple[Bound, ...] = ()
    limits: tuple[str, ...] = ()
    figures: tuple[CardFigure, ...] = ()


class FileFingerprint(Frozen):
    """Input file of a run, identified by name (without folders) and SHA-256."""

    name: str
    sha256: str
    n_items: int = Field(ge=0)
    format: str = ""


class PanelJudge(Frozen):
    """Additional judge, with its LiteLLM name and model card."""

    judge: str
    card: ModelCard | None = None


class PromptFingerprint(Frozen):
    """Compiled prompt that replaces a built-in prompt.

    Attributes:
        rubrics: Rubrics that use the prompt (empty for all rubrics).
        metric: Metric on held-out examples by which the prompts were compared.
        before, after: Scores of the built-in and the compiled prompt by this metric.
        is_better: Whether the metric improved. A compiled prompt that is no better was chosen by
            the user.
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
    """Everything that affects the results of a run. Runs with equal manifests have equal results.

    Attributes:
        judge_digest: SHA-256 of the local judge weights (empty for remote judges).
        base: Model for everything except rubrics, if the judge was fine-tuned for rubrics only.
        second: Second judge of a cascade. None without a cascade.
        rater: Model that rates answers on rubrics from signals (empty if there is none).
        verifier: Model that compares sentences with passages, which may be the judge.
        verifier_digest: SHA-256 of the verifier's weights. Empty if unknown.
        grader: Local model that grades passages (empty if the judge grades, or if nothing is
            graded).
        prompts: Compiled prompts that replace built-in prompts.
        own: Hashes of user-defined evaluators and rubrics, by name.
        settings: Settings that affect the results, without keys and endpoints.
        answered_by: Models that answered, in the format of `Usage`, stored when the run ends.
        verifier_card: Model card of a verifier that is not the judge.
    """

    schema_version: SchemaVersion = 2
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
    """Statistics of one panel member over all answers and rubrics.

    Attributes:
        score: Mean rating. `n` is the number of ratings, and `n_unscored` that of failed ratings.
        n_moved: Number of ratings that the member changed in the second round.
    """

    judge: str
    score: Score
    n_heard_again: int = Field(default=0, ge=0)
    n_moved: int = Field(default=0, ge=0)


class PanelPair(Frozen):
    """Agreement between two panel members.

    Attributes:
        alike: Krippendorff's alpha (ordinal) of the ratings from the first round, or the
            correlation of the members' errors.
        is_of_errors: Whether `alike` is a correlation of errors, which requires human ratings.
    """

    first: str
    second: str
    alike: Score
    is_of_errors: bool = False


class PanelAgreement(Frozen):
    """Agreement within a panel over all answers and rubrics.

    Attributes:
        alpha_alone, alpha: Krippendorff's alpha (ordinal) of the ratings from the first round, and
            of the final ratings.
        exact_alone, exact: Share of judgments on which all members agree, in the first round and
            finally.
        n_disputed: Number of judgments for which ratings from the first round differ by at least
            two points.
        n_resolved: Number of disputed judgments that the second round resolved.
        pairs: Agreement between each pair of judges (empty in runs of earlier versions).
        n_effective: Lower bound of the effective number of independent judges. None if unknown.
    """

    members: tuple[PanelMember, ...]
    alpha_alone: Score
    alpha: Score
    exact_alone: Score
    exact: Score
    n_disputed: int = Field(ge=0)
    n_resolved: int = define_renamed_field("n_resolved", "n_settled", ge=0)
    n_heard_again: int = Field(ge=0)
    n_moved: int = Field(ge=0)
    pairs: tuple[PanelPair, ...] = ()
    n_effective: float | None = None


class ApplicationUse(Frozen):
    """Latency, tokens and cost of the evaluated application over all questions that it answered.

    Attributes:
        latency_p50_s, latency_p95_s: 50th and 95th percentiles of the latency in seconds, or None
            if there are no answers.
        n_prompt_tokens, n_completion_tokens: Numbers of tokens that the application reported.
        n_priced: Number of answers whose cost is known.
        cost_usd: Sum of the known costs of answers, or None if no cost is known.
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
    """Summary statistics of a run.

    Attributes:
        scores: Mean of each score over answers. `n` is the number of answers with the score, and
            `n_unscored` that of answers without it.
        by_question: Mean of each score over questions, after averaging over the answers to each
            question (empty in runs of earlier versions). `n` counts questions.
        pooled: Scores that are shares, computed over the verdicts of all answers (empty in runs of
            earlier versions). `n` counts verdicts.
        findings, secondary_findings: Number of main and secondary findings by kind.
        n_undecided: Number of undecided verdicts, which are unscored but not failed.
        unscored: Number of failed verdicts by reason, most frequent first.
        n_judged: Number of verdicts from a judge, with undecided verdicts but without verdicts
            derived by rule.
        confidence_from: Number of verdicts by the source of their confidence (see `Usage`).
        application: Latency and cost of the evaluated application, if ragassay asked it.
        notes: Notes for the reader about the input, such as renamed or unread fields.
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
    secondary_findings: dict[str, int] = define_renamed_field(
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
        """Return whether no answer was evaluated, or all calls of the judge failed."""
        all_calls_failed = not self.n_judged and bool(self.unscored.keys() & set(CALL_FAULTS))
        return all_calls_failed or bool(self.n_records and not self.n_evaluated)

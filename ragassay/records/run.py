"""What a run says of itself: what it read, what it set aside, what it came to."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import Frozen
from ragassay.records.cascade import Cascade
from ragassay.records.evaluation import Score
from ragassay.records.verdicts import Failure, Usage


class RecordFailure(Frozen):
    """A record for which there is no evaluation at all."""

    record_id: str
    stage: str
    failure: Failure


class Rejection(Frozen):
    """A line of a user's file that could not be read.

    Attributes:
        file: The file as the user named it.
        line: 1-based; 0 where the file as a whole is meant.
        field: Dotted path of the offending field; empty where the line as a whole is meant.
        problem: What was found.
        expected: What would have been right.
        content: The line, cut to 2,000 characters.
    """

    file: str
    line: int = Field(ge=0)
    field: str = ""
    problem: str
    expected: str = ""
    content: str = ""


class CardFigure(Frozen):
    """How a model did on data that it was not tuned on.

    Attributes:
        task: e.g. "citation verdicts, three labels".
        data: The data set and its part.
        metric: e.g. "accuracy".
        value: The figure.
        low: Lower end of the 95 % interval.
        high: Upper end of the 95 % interval.
        n: How many items it rests on.
        command: What to run to get it again.
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
    """What is known of a judge: what it is, its limits, its figures on held-out data."""

    model: str
    description: str
    digest: str = ""
    limits: tuple[str, ...] = ()
    figures: tuple[CardFigure, ...] = ()


class FileStamp(Frozen):
    """A file that a run read: its name (without folders), SHA-256 and number of items."""

    name: str
    sha256: str
    n_items: int = Field(ge=0)
    format: str = ""


class PanelSeat(Frozen):
    """A judge that sits beside the run's own: its LiteLLM name, and what is known of it."""

    judge: str
    card: ModelCard | None = None


class PromptStamp(Frozen):
    """A compiled prompt that took the place of a shipped one.

    Attributes:
        agent: Key of the prompt.
        rubrics: Those that it is for; empty for all.
        sha256: Hash of what it says.
        model: What it was compiled for.
        optimizer: What found it.
        metric: What it was chosen by, on data that it was not found on.
        before: The shipped prompt's figure there.
        after: Its own.
        is_better: Whether it did better there; a prompt that did not was kept anyway.
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
    """All that a run depends on. Two runs with equal manifests have equal results.

    Attributes:
        ragassay: Version.
        packages: Versions of the libraries that bear on the result.
        judge: LiteLLM name of the judging model.
        judge_digest: SHA-256 of its weights where they are local; else empty.
        base: What answered all but the rubrics, where the judge was fine-tuned to rate them.
        panel: Judges that rated the rubrics beside it.
        second: Who was asked where the judge was not sure; None without a cascade.
        rater: What rated the rubrics by signals, in the embedded judge's place; empty where nothing
            did.
        rater_digest: SHA-256 of its models.
        verifier: What compared sentences with passages; the judge, or a model beside it.
        verifier_digest: SHA-256 of its weights where they are known; else empty.
        correctness: What said whether sentences are correct.
        embedder: Name of the embedding model.
        embedder_digest: SHA-256 of its weights where known.
        prompts_sha256: Hash of every prompt and rubric text.
        prompts: Compiled prompts that took the place of shipped ones.
        own: Digests of the user's own evaluators and rubrics, by name.
        answers: The answers that were read.
        corpus: The corpus, if any.
        settings: The settings that bear on the result; no key, no endpoint.
        card: What is known of the judge; None for a model without a card.
        base_card: What is known of `base`.
        rater_card: What is known of the rater.
        verifier_card: What is known of a verifier beside the judge.
    """

    ragassay: str
    packages: dict[str, str] = Field(default_factory=dict)
    judge: str
    judge_digest: str = ""
    panel: tuple[PanelSeat, ...] = ()
    second: PanelSeat | None = None
    base: str = ""
    rater: str = ""
    rater_digest: str = ""
    verifier: str = ""
    verifier_digest: str = ""
    correctness: str = ""
    embedder: str = ""
    embedder_digest: str = ""
    prompts_sha256: str = ""
    prompts: tuple[PromptStamp, ...] = ()
    own: dict[str, str] = Field(default_factory=dict)
    answers: FileStamp
    corpus: FileStamp | None = None
    settings: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    card: ModelCard | None = None
    base_card: ModelCard | None = None
    rater_card: ModelCard | None = None
    verifier_card: ModelCard | None = None


class PanelMember(Frozen):
    """One judge of a panel, over all answers and rubrics.

    Attributes:
        judge: Its name.
        score: Mean of its scores; `n` counts ratings, `n_unscored` those that could not be had.
        n_heard_again: Ratings that it gave again after it heard the others.
        n_moved: Those of them that came out otherwise than before.
    """

    judge: str
    score: Score
    n_heard_again: int = Field(default=0, ge=0)
    n_moved: int = Field(default=0, ge=0)


class PanelAgreement(Frozen):
    """How far the judges of a panel agree, over all answers and rubrics.

    Attributes:
        members: The judges.
        alpha_alone: Krippendorff's alpha, ordinal, of the ratings that each gave alone.
        alpha: The same of the ratings that counted in the end.
        exact_alone: Share of judgments on which all gave the same rating, each alone.
        exact: The same of the ratings that counted in the end.
        n_disputed: Judgments on which two were two points or more apart.
        n_settled: Those of them on which no two were so, after they heard each other.
        n_heard_again: Ratings that were given again.
        n_moved: Those of them that came out otherwise than before.
    """

    members: tuple[PanelMember, ...]
    alpha_alone: Score
    alpha: Score
    exact_alone: Score
    exact: Score
    n_disputed: int = Field(ge=0)
    n_settled: int = Field(ge=0)
    n_heard_again: int = Field(ge=0)
    n_moved: int = Field(ge=0)


class Summary(Frozen):
    """A run in numbers.

    Attributes:
        n_records: Records that were read.
        n_evaluated: Records with an evaluation.
        n_failed: Records without one.
        n_rejected: Lines that could not be read.
        scores: Means over answers; `n` counts answers, `n_unscored` those without the score.
        by_question: Macro means over questions, each question's answers averaged first; `n`
            counts questions. Empty in runs of earlier versions.
        pooled: Shares over the verdicts of all answers, hits divided by n; `n` counts verdicts.
            Empty in runs of earlier versions.
        systems: Means over answers for each system, where records name one.
        findings: How often each kind of finding came up.
        usage: Sum over all verdicts.
        panel: How far the judges agree, where several sat as a panel.
        cascade: What went on to a second judge, where there was one.
    """

    n_records: int = Field(ge=0)
    n_evaluated: int = Field(ge=0)
    n_failed: int = Field(ge=0)
    n_rejected: int = Field(ge=0)
    scores: dict[str, Score] = Field(default_factory=dict)
    by_question: dict[str, Score] = Field(default_factory=dict)
    pooled: dict[str, Score] = Field(default_factory=dict)
    systems: dict[str, dict[str, Score]] = Field(default_factory=dict)
    findings: dict[str, int] = Field(default_factory=dict)
    usage: Usage = Usage()
    panel: PanelAgreement | None = None
    cascade: Cascade | None = None

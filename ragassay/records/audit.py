"""Results of judge audits and of repeated judgments."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen, define_renamed_field
from ragassay.records.evaluation import Score
from ragassay.records.inputs import Record
from ragassay.records.verdicts import Failure, Usage

AttackFamily = Literal["rubric", "clinical", "injection", "pair"]
"""Family of attacks.

- rubric: lowers the quality that one rubric rates (YESciEval, appendix B.3)
- clinical: changes a few words in a clinically relevant way
- injection: adds text that addresses the judge
- pair: lowers the quality that one RACAR dimension rates (SciQAG)"""

Severity = Literal["subtle", "extreme"]

Trust = Literal["trusted", "weak", "blind"]
"""How well a judge detects perturbed answers, or resists injected instructions."""

Variant = Literal["benign", "subtle", "extreme"]
"""Severity of the perturbation, or "benign" for the original answer (YESciEval, section 4.4)."""

DESIRED_RATING: dict[Severity, float] = {"subtle": 3.0, "extreme": 1.0}
"""Highest rating that a perturbed answer should get, by severity (YESciEval, section 5)."""


class PerturbedAnswer(Frozen):
    """Answer perturbed by an attack.

    Attributes:
        record: Perturbed answer, with the id `original~attack`.
        targets: Names of the scores that should fall, such as "rubric.relevancy".
        sentences: 1-based numbers of the added or changed sentences in the perturbed answer (empty
            if text was removed or moved).
    """

    record: Record
    original: str
    attack: str
    family: AttackFamily
    severity: Severity
    targets: tuple[str, ...]
    sentences: tuple[int, ...] = ()


class Paraphrase(Frozen):
    """Paraphrase of a sentence by a model.

    Attributes:
        sentence: Original sentence without citation markers.
        text: Paraphrased sentence (empty if the model's reply was unusable).
    """

    sentence: str
    text: str = ""
    refused: str = ""
    failure: Failure | None = None
    usage: Usage = Usage()


class AttackFigure(Frozen):
    """Effect of one attack on one score. Intervals are computed by resampling questions.

    Attributes:
        detection: Share of pairs in which the perturbed answer has a lower score than the original.
        auroc: AUROC with which the score separates perturbed from unperturbed answers.
        lift: Mean score of perturbed answers minus mean score of benign answers.
        optimism_error: Mean number of points by which ratings of perturbed answers exceed the
            desired rating, or None for scores that are not rubric ratings.
        n_undecided: Number of pairs with an undecided verdict on the perturbed part, which count as
            unscored in `detection`.
        examples: Ids of perturbed answers that were not detected, at most three.
    """

    attack: str
    family: AttackFamily
    severity: Severity
    target: str
    benign: Score
    perturbed: Score = define_renamed_field("perturbed", "damaged")
    detection: Score
    auroc: Score
    lift: Score
    optimism_error: Score | None = None
    n_undecided: int = Field(default=0, ge=0)
    examples: tuple[str, ...] = ()


class TargetTrust(Frozen):
    """Line of the certificate: whether the judge detects perturbations that target one score.

    Attributes:
        trust: Trust in the judge for this score, or None if there are too few pairs, or if the
            original scores are too high to rise.
        detection: Share of decided pairs of all attacks in which the perturbed answer scores lower,
            by severity.
        decided: Share of pairs with a decided verdict among all pairs that did not fail.
        lift: Largest increase of the score by an injected text, or None if the family is not
            "injection".
        has_room: Whether the original scores are low enough for an injection to raise them. If the
            scores are too high, the absence of an increase proves nothing.
    """

    target: str
    trust: Trust | None
    family: AttackFamily = "rubric"
    detection: dict[Severity, Score] = Field(default_factory=dict)
    decided: Score | None = None
    lift: Score | None = None
    has_room: bool = True
    reason: str = ""


class Audit(Frozen):
    """Result of a judge audit.

    Attributes:
        judge: Name of the judge and, if signals are used, of the rater that uses them.
        is_measured: Whether signals of the answers were measured before the judge rated them.
        n_answers: Number of answers that were perturbed.
        pools: Set of texts that attacks insert: "fit" or "audit".
        n_unchanged: Number of answers that an attack could not change, keyed by attack. No other
            figure counts these answers.
        n_failed: Number of original or perturbed answers without an evaluation.
        ratings: Mean rating after "rubric" attacks, by target and variant (YESciEval, appendix H).
        certificate: Lines of the certificate, one per target and attack family.
        paraphraser: Model that paraphrased sentences (empty if only rules were used).
        n_by_rule: Number of sentences paraphrased by rule, because the model's reply was rejected
            or missing.
    """

    judge: str
    is_measured: bool = False
    n_answers: int = Field(ge=0)
    seed: int
    pools: str
    n_unchanged: dict[str, int] = Field(default_factory=dict)
    n_perturbed: int = define_renamed_field("n_perturbed", "n_damaged", default=0, ge=0)
    n_failed: int = Field(default=0, ge=0)
    figures: tuple[AttackFigure, ...] = ()
    ratings: dict[str, dict[Variant, Score]] = Field(default_factory=dict)
    certificate: tuple[TargetTrust, ...] = ()
    paraphraser: str = ""
    n_paraphrased: int = Field(default=0, ge=0)
    n_by_rule: int = Field(default=0, ge=0)
    usage: Usage = Usage()

    @property
    def is_partial(self) -> bool:
        """Return whether any answer or verdict failed.

        Undecided verdicts do not count as failed.
        """
        unscored = (f.detection.n_unscored > f.n_undecided for f in self.figures)
        return bool(self.n_failed) or any(unscored)


class RepeatFigure(Frozen):
    """Share of verdicts that change when the same items are judged repeatedly.

    Attributes:
        kind: Kind of item, such as "rubric" or "claim".
        judge: Name of the panel member (empty if there is no panel).
        changed: Share of items whose verdicts differ. `n` counts the items with a verdict in every
            repetition, and `n_unscored` all other items.
        mean_spread: Mean difference between the highest and lowest score of the same item, or None
            for verdicts with labels.
    """

    kind: str
    judge: str = ""
    changed: Score
    mean_spread: float | None = None


class Repeats(Frozen):
    """Consistency of a judge over repeated judgments.

    Attributes:
        figures: One entry per kind of item and panel member (empty if no model was used).
        usage: Usage of the repetitions, without the usage of the original run.
    """

    n_times: int = Field(ge=2)
    judge: str
    figures: tuple[RepeatFigure, ...] = ()
    usage: Usage = Usage()

"""Results of judge audits and of repeated judgments."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen, renamed_field
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
"""How well a judge detects perturbed answers or resists injections."""

Variant = Literal["benign", "subtle", "extreme"]
"""Severity of the perturbation, or "benign" for the original answer (YESciEval, section 4.4)."""

DESIRED_RATING: dict[Severity, float] = {"subtle": 3.0, "extreme": 1.0}
"""Highest rating that a perturbed answer should get (YESciEval, section 5)."""


class PerturbedAnswer(Frozen):
    """Answer perturbed by an attack.

    Attributes:
        record: Perturbed answer, with the id `original~attack`.
        targets: Names of the scores that should fall, e.g. "rubric.relevancy".
        sentences: 1-based numbers of the added or changed sentences in the perturbed answer. Empty
            if text was removed or moved.
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
        text: Paraphrased sentence. Empty if the reply was unusable and a rule is used instead.
    """

    sentence: str
    text: str = ""
    refused: str = ""
    failure: Failure | None = None
    usage: Usage = Usage()


class AttackFigure(Frozen):
    """Effect of one attack on one score. Intervals are computed by resampling questions.

    Attributes:
        detection: Share of pairs in which the perturbed answer has a lower score. Ties do not
            count.
        auroc: AUROC of the score as a classifier of perturbed and unperturbed answers.
        lift: Mean score of perturbed answers minus mean score of benign answers.
        optimism_error: Mean excess of the ratings of perturbed answers over the desired rating, in
            rating points. Only for rubrics.
        n_undecided: Number of pairs in which the verdict on the perturbed part is undecided. These
            pairs count as unscored in `detection`.
        examples: Ids of up to three undetected perturbed answers.
    """

    attack: str
    family: AttackFamily
    severity: Severity
    target: str
    benign: Score
    perturbed: Score = renamed_field("perturbed", "damaged")
    detection: Score
    auroc: Score
    lift: Score
    optimism_error: Score | None = None
    n_undecided: int = Field(default=0, ge=0)
    examples: tuple[str, ...] = ()


class TargetTrust(Frozen):
    """Certificate line stating whether the judge detects perturbations that target one score.

    Attributes:
        trust: Trust in the judge for this score. None if there are too few pairs, or if the scores
            have no room to rise.
        detection: Paired detection rate by severity over all attacks of the family and all decided
            pairs.
        decided: Share of pairs with a decided verdict among all pairs that did not fail.
        lift: Largest increase caused by an injected text. None for other families.
        has_room: Whether the original scores are low enough for an injection to raise them. If not,
            the lack of an increase proves nothing.
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
        judge: Name of the judge, followed by the rater that replaces it, if any.
        is_measured: Whether signals were measured before the rating.
        n_answers: Number of answers that were perturbed.
        pools: Set of texts used for perturbations: "fit" or "audit".
        n_unchanged: Number of answers, by attack, that the attack could not change. These answers
            are not counted anywhere else.
        n_failed: Number of original or perturbed answers without an evaluation.
        ratings: Mean rating, by target and variant (YESciEval, appendix H). Only for "rubric"
            attacks.
        certificate: One line per target and attack family.
        paraphraser: Model that paraphrased sentences. Empty if only rules were used.
        n_by_rule: Number of sentences paraphrased by rule because the reply was rejected or
            missing.
    """

    judge: str
    is_measured: bool = False
    n_answers: int = Field(ge=0)
    seed: int
    pools: str
    n_unchanged: dict[str, int] = Field(default_factory=dict)
    n_perturbed: int = renamed_field("n_perturbed", "n_damaged", default=0, ge=0)
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
        """True if any answer or verdict failed. Undecided verdicts do not count as failed."""
        unscored = (f.detection.n_unscored > f.n_undecided for f in self.figures)
        return bool(self.n_failed) or any(unscored)


class RepeatFigure(Frozen):
    """Share of verdicts that change when the same items are judged repeatedly.

    Attributes:
        kind: Kind of item, such as "rubric" or "claim".
        judge: Panel member. Empty if there is no panel.
        changed: Share of items with different verdicts. `n` counts items with a verdict in every
            repetition, and `n_unscored` counts all other items.
        mean_spread: Mean difference between the highest and lowest score of the same item. None for
            labels.
    """

    kind: str
    judge: str = ""
    changed: Score
    mean_spread: float | None = None


class Repeats(Frozen):
    """Consistency of a judge over repeated judgments.

    Attributes:
        figures: One entry per kind of item and panel member. Empty if no model was used.
        usage: Usage of the repetitions, excluding the original run.
    """

    n_times: int = Field(ge=2)
    judge: str
    figures: tuple[RepeatFigure, ...] = ()
    usage: Usage = Usage()

"""The attacks and results of an audit of a judge, and the repeated verdicts of a judge."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen, renamed_field
from ragassay.records.evaluation import Score
from ragassay.records.inputs import Record
from ragassay.records.verdicts import Failure, Usage

AttackFamily = Literal["rubric", "clinical", "injection", "pair"]
"""The subject of an attack.

- rubric: damage to what one rubric rates (YESciEval, appendix B.3)
- clinical: a change of a few words that would matter to a patient
- injection: text that addresses the judge
- pair: damage to what one dimension of RACAR rates (SciQAG)"""

Severity = Literal["subtle", "extreme"]

Trust = Literal["trusted", "weak", "blind"]
"""Verdicts on a judge: does it rate perturbed answers lower, or resist an injection?"""

Variant = Literal["benign", "subtle", "extreme"]
"""An answer as it was written, or the severity of its damage (YESciEval, section 4.4)."""

DESIRED_RATING: dict[Severity, float] = {"subtle": 3.0, "extreme": 1.0}
"""The highest rating that a perturbed answer should get (YESciEval, section 5)."""


class PerturbedAnswer(Frozen):
    """An answer after an attack.

    Attributes:
        record: The perturbed answer; its id is `original~attack`.
        original: The id of the record that it was made from.
        targets: Names of the scores that should fall, e.g. "rubric.relevancy".
        sentences: Numbers (1-based, in the perturbed answer) of the sentences that were added or
            changed; empty where text was removed or moved.
    """

    record: Record
    original: str
    attack: str
    family: AttackFamily
    severity: Severity
    targets: tuple[str, ...]
    sentences: tuple[int, ...] = ()


class Paraphrase(Frozen):
    """A model's paraphrase of a sentence.

    Attributes:
        sentence: The sentence, without citation markers.
        text: The paraphrase; empty where none is usable, and a rule paraphrases.
        refused: The reply that was rejected.
    """

    sentence: str
    text: str = ""
    refused: str = ""
    failure: Failure | None = None
    usage: Usage = Usage()


class AttackFigure(Frozen):
    """The effect of one attack on one score. Intervals resample questions.

    Attributes:
        benign: Mean of the score over the unperturbed answers of the pairs.
        perturbed: Mean over the perturbed ones.
        detection: Share of pairs in which the perturbed answer has the lower score; a tie does not
            count.
        auroc: How well the score alone separates perturbed answers from unperturbed ones.
        lift: Mean of perturbed minus benign; above 0 the attack raises the score.
        optimism_error: Mean excess of the perturbed answers' ratings over the desired rating, in
            points; 0 where all are as low as they should be. Only for rubrics.
        n_undecided: Pairs in which the judge left open what the perturbation changed; they are
            neither found nor missed, and among the unscored of the detection.
        examples: Ids of up to three perturbed answers that got through.
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
    """A line of the certificate: whether the judge detects damage to one score.

    Attributes:
        trust: The verdict; None where there are too few pairs to tell, or no room to rise.
        detection: Paired detection by severity, over all attacks of the family, of the pairs that
            the judge decided.
        decided: Share of the pairs that it decided, of those that did not fail.
        lift: The largest increase by an injected text; None for the other families.
        has_room: Whether the answers score low enough that injected text could have raised the
            score; otherwise a missing increase proves nothing.
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
    """The result of auditing a judge on some answers.

    Attributes:
        judge: The names of the judge and of the rater in its place, if any.
        is_measured: Whether answers were measured before their rubrics were judged (signals).
        n_answers: Answers that were perturbed.
        pools: The source texts of the damage: "fit" or "audit".
        n_unchanged: For each attack, the number of answers that it left unchanged; they are not
            counted.
        n_failed: Unperturbed or perturbed answers without an evaluation.
        ratings: Mean rating by target, over unperturbed, subtly and extremely perturbed answers
            (YESciEval, appendix H); attacks of the family "rubric" alone.
        certificate: One line for each target of a family of attacks.
        paraphraser: The model that wrote redundant sentences; empty where rules did.
        n_by_rule: Sentences that a rule paraphrased because its reply was rejected or missing.
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
        """Return whether some answer or verdict failed; one that is undecided did not."""
        unscored = (f.detection.n_unscored > f.n_undecided for f in self.figures)
        return bool(self.n_failed) or any(unscored)


class RepeatFigure(Frozen):
    """The share of one kind of verdict that changes when the same thing is judged again.

    Attributes:
        kind: The kind of question, such as "rubric" or "claim".
        judge: The panel's judge; "" without a panel.
        changed: Share of the questions whose verdict was not the same every time; `n` counts
            questions with a verdict every time, `n_unscored` those that lack one at least once.
        mean_spread: Mean difference between a question's highest and lowest score; None for labels.
    """

    kind: str
    judge: str = ""
    changed: Score
    mean_spread: float | None = None


class Repeats(Frozen):
    """A judge measured against itself.

    Attributes:
        figures: By kind of question, and by judge of a panel; empty where no model was asked.
        usage: Cost of the repetitions, without that of the run itself.
    """

    n_times: int = Field(ge=2)
    judge: str
    figures: tuple[RepeatFigure, ...] = ()
    usage: Usage = Usage()

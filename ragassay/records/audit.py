"""What an audit of a judge looks at, and what it comes to."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen
from ragassay.records.evaluation import Score
from ragassay.records.inputs import Record
from ragassay.records.verdicts import Failure, Usage

AttackFamily = Literal["rubric", "clinical", "injection"]
"""What an attack is about.

- rubric: damage to what one rubric looks at (YESciEval, appendix B.3)
- clinical: a change of a few words that would matter to a patient
- injection: text that talks to the judge
"""

Severity = Literal["subtle", "extreme"]

Trust = Literal["trusted", "weak", "blind"]
"""Whether a judge tells damaged answers from whole ones, or withstands text that talks to it."""

Variant = Literal["benign", "subtle", "extreme"]
"""An answer as it was, or how plainly it was damaged (YESciEval, section 4.4)."""

DESIRED_RATING: dict[Severity, float] = {"subtle": 3.0, "extreme": 1.0}
"""The highest rating that a damaged answer should get (YESciEval, section 5)."""


class DamagedAnswer(Frozen):
    """An answer after an attack.

    Attributes:
        record: The damaged answer; its id is `original~attack`.
        original: The id of the record that it was made of.
        attack: The attack's name, e.g. "off_topic".
        family: What the attack is about.
        severity: How plain the damage is.
        targets: Names of the scores that ought to fall, e.g. "rubric.relevancy".
        sentences: Numbers (1-based, in the damaged answer) of the sentences that were added or
            changed; empty where something was taken away or moved.
    """

    record: Record
    original: str
    attack: str
    family: AttackFamily
    severity: Severity
    targets: tuple[str, ...]
    sentences: tuple[int, ...] = ()


class Paraphrase(Frozen):
    """What a model made of a sentence that it was to say again in other words.

    Attributes:
        sentence: The sentence, without citation markers.
        text: The same in other words; empty where there is none to use, and a rule says it again.
        refused: The reply that was not used.
        failure: Why there is no reply.
        usage: What it cost.
    """

    sentence: str
    text: str = ""
    refused: str = ""
    failure: Failure | None = None
    usage: Usage = Usage()


class AttackFigure(Frozen):
    """How one score took one attack. Intervals resample questions.

    Attributes:
        attack: The attack's name.
        family: What the attack is about.
        severity: How plain the damage is.
        target: The score that ought to fall, e.g. "rubric.relevancy".
        benign: Mean of the score over the whole answers of the pairs.
        damaged: Mean over the damaged ones.
        detection: Share of pairs in which the damaged answer has the lower score; a tie is none.
        auroc: How well the score alone tells damaged answers from whole ones.
        lift: Mean of damaged minus benign; above 0 the attack pays.
        optimism_error: Mean excess of the damaged answers' ratings over the desired rating, in
            points; 0 where all are as low as they should be. Only for rubrics.
        examples: Ids of up to three damaged answers that got through.
    """

    attack: str
    family: AttackFamily
    severity: Severity
    target: str
    benign: Score
    damaged: Score
    detection: Score
    auroc: Score
    lift: Score
    optimism_error: Score | None = None
    examples: tuple[str, ...] = ()


class TargetTrust(Frozen):
    """A line of the certificate: whether the judge can tell damage of one score.

    Attributes:
        target: e.g. "rubric.relevancy".
        trust: The verdict; None where there are too few pairs to tell, or no room to rise.
        family: Which attacks it is about.
        detection: Paired detection by severity, over all attacks of the family.
        lift: What the injected text that pays most adds to the score; None for the other families.
        has_room: Whether whole answers stand so far below the top that injected text could have
            raised the score; where it could not, that nothing rose says nothing.
        reason: One sentence for a person.
    """

    target: str
    trust: Trust | None
    family: AttackFamily = "rubric"
    detection: dict[Severity, Score] = Field(default_factory=dict)
    lift: Score | None = None
    has_room: bool = True
    reason: str = ""


class Audit(Frozen):
    """What came out of auditing a judge on some answers.

    Attributes:
        judge: The judge's name, and what rated the rubrics in its place.
        is_measured: Whether answers were measured before their rubrics were judged (signals).
        n_answers: Whole answers that were damaged.
        seed: Of the damage.
        pools: Which texts the damage was made of: "fit" or "audit".
        n_unchanged: For each attack, answers that it left as they were; they count nowhere.
        n_damaged: Damaged answers that were to be judged.
        n_failed: Whole or damaged answers for which there is no evaluation at all.
        figures: One for each attack and target.
        ratings: Mean rating by target, over whole, subtly and extremely damaged answers (YESciEval,
            appendix H); attacks of the family "rubric" alone.
        certificate: One line for each target of a family of attacks.
        paraphraser: The model that wrote redundant sentences; empty where rules did.
        n_paraphrased: Sentences that it said again.
        n_by_rule: Sentences that it was to say again, and a rule did: its reply was refused, or
            there was none.
        usage: Sum over all verdicts and redundant sentences of the audit.
    """

    judge: str
    is_measured: bool = False
    n_answers: int = Field(ge=0)
    seed: int
    pools: str
    n_unchanged: dict[str, int] = Field(default_factory=dict)
    n_damaged: int = Field(default=0, ge=0)
    n_failed: int = Field(default=0, ge=0)
    figures: tuple[AttackFigure, ...] = ()
    ratings: dict[str, dict[Variant, Score]] = Field(default_factory=dict)
    certificate: tuple[TargetTrust, ...] = ()
    paraphraser: str = ""
    n_paraphrased: int = Field(default=0, ge=0)
    n_by_rule: int = Field(default=0, ge=0)
    usage: Usage = Usage()

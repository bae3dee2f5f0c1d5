"""A run's cascade in numbers: uncertain verdicts went to a second judge."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import Frozen
from ragassay.records.verdicts import Usage


class CascadePart(Frozen):
    """One kind of question, over all answers.

    Attributes:
        kind: The evaluator's name for its questions.
        n: Questions; the sum of the three counts below.
        n_kept: Those that the first judge was sure of.
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


class Cascade(Frozen):
    """The verdicts that each of two judges decided, and what the second one cost.

    Attributes:
        judge: The first judge.
        second: The second judge.
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

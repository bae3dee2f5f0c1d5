"""A run in which what one judge was not sure of went to a second one, in numbers."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import Frozen
from ragassay.records.verdicts import Usage


class CascadePart(Frozen):
    """One kind of question, over all answers.

    Attributes:
        kind: Which, as its evaluator names its questions.
        n: Questions; the sum of the three counts below.
        n_kept: Those of which the first judge was sure.
        n_escalated: Those that the second judge decided.
        n_failed: Those that went to the second judge and came back without a verdict: what the
            first had said stands.
        usage: What the second judge's verdicts cost.
        full_cost_usd: An estimate of what all would have cost there: cost a call times `n`. None
            where the price is not known, or where nothing of the kind was decided there.
    """

    kind: str
    n: int = Field(ge=0)
    n_kept: int = Field(ge=0)
    n_escalated: int = Field(ge=0)
    n_failed: int = Field(ge=0)
    usage: Usage = Usage()
    full_cost_usd: float | None = None


class Cascade(Frozen):
    """What stayed with the first judge, what went to the second one, and what that cost.

    Attributes:
        judge: The first judge.
        second: The second judge.
        when: Under which condition a verdict went on.
        parts: By kind of question, those kinds that came up.
        usage: What the second judge's verdicts cost.
        full_cost_usd: The sum of the estimates of those parts that have one; None where none has.
    """

    judge: str
    second: str
    when: str
    parts: tuple[CascadePart, ...] = ()
    usage: Usage = Usage()
    full_cost_usd: float | None = None

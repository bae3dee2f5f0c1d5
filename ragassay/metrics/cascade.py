"""What of a run stayed with its judge, what went to a second one, and what all would have cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ragassay.records import Cascade, CascadePart, Usage, VerdictBase


def joint_name(first: str, second: str | None) -> str:
    """Who gave a verdict, where a second judge decides what the first is not sure of."""
    return f"{first}, where unsure {second}" if second else first


def cascade_of(
    asked: Mapping[str, Sequence[VerdictBase]], judge: str, second: str, when: str
) -> Cascade:
    """Count the questions of a run, and add up what the second judge cost.

    Args:
        asked: The verdicts that a judge was asked for, by kind of question.
        judge: The first judge.
        second: The second one.
        when: The condition.

    Returns:
        A part for each kind of question, in the given order.
    """
    parts = tuple(_part(kind, verdicts) for kind, verdicts in asked.items())
    known = [part.full_cost_usd for part in parts if part.full_cost_usd is not None]
    return Cascade(
        judge=judge,
        second=second,
        when=when,
        parts=parts,
        usage=sum((part.usage for part in parts), Usage()),
        full_cost_usd=math.fsum(known) if known else None,
    )


def _part(kind: str, verdicts: Sequence[VerdictBase]) -> CascadePart:
    sent = [verdict.escalation for verdict in verdicts if verdict.escalation is not None]
    usage = sum((escalation.usage for escalation in sent), Usage())
    n_failed = sum(escalation.failure is not None for escalation in sent)
    return CascadePart(
        kind=kind,
        n=len(verdicts),
        n_kept=len(verdicts) - len(sent),
        n_escalated=len(sent) - n_failed,
        n_failed=n_failed,
        usage=usage,
        full_cost_usd=full_cost_usd(usage, len(verdicts)),
    )


def full_cost_usd(usage: Usage, n_questions: int) -> float | None:
    """What all questions would have cost, from what some of them did: cost / calls * questions.

    Args:
        usage: Of the calls that were made.
        n_questions: All questions, a call each.

    Returns:
        None where the price is not known, or no call was made.
    """
    if usage.cost_usd is None or not usage.n_calls:
        return None
    return usage.cost_usd / usage.n_calls * n_questions

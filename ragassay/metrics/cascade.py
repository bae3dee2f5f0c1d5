"""Counts and costs of a cascade: verdicts by the first judge, by the second, and all there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ragassay.records import Cascade, CascadePart, Usage, VerdictBase


def joint_name(first: str, second: str | None) -> str:
    """Return the name for two judges: the second decides what the first is not sure of."""
    return first if second in (None, "", first) else f"{first}, where unsure {second}"


def cascade_of(
    asked: Mapping[str, Sequence[VerdictBase]], judge: str, second: str, when: str
) -> Cascade:
    """Count the questions of a run, and sum the second judge's cost.

    Args:
        asked: The judge's verdicts, by kind of question.
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
    """Estimate the cost of all questions from those asked: cost / calls * questions.

    Args:
        usage: The usage of the calls made.
        n_questions: Number of all questions, one call each.

    Returns:
        None if the price is unknown or no call was made.
    """
    if usage.cost_usd is None or not usage.n_calls:
        return None
    return usage.cost_usd / usage.n_calls * n_questions

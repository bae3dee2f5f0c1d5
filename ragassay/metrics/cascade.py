"""What of a run stayed with its judge, what went to a second one, and what all would have cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import get_args

from ragassay.metrics.uncertainty import Weighed
from ragassay.records import (
    NOTHING_TO_JUDGE,
    Cascade,
    CascadePart,
    CitationVerdict,
    Evaluation,
    EvidenceVerdict,
    NuggetVerdict,
    QuestionKind,
    Usage,
)


def joint_name(first: str, second: str | None) -> str:
    """Who gave a verdict, where a second judge decides what the first is not sure of."""
    return f"{first}, where unsure {second}" if second else first


def cascade_of(evaluations: Sequence[Evaluation], judge: str, second: str, when: str) -> Cascade:
    """Count the questions of a run, and add up what the second judge cost.

    Args:
        evaluations: Of the run.
        judge: The first judge.
        second: The second one.
        when: The condition.

    Returns:
        A part for each kind of question that came up, in the order of `QuestionKind`.
    """
    asked: dict[QuestionKind, list[Weighed]] = {}
    for evaluation in evaluations:
        for kind, verdict in questions_of(evaluation):
            asked.setdefault(kind, []).append(verdict)
    kinds: tuple[QuestionKind, ...] = get_args(QuestionKind)
    parts = tuple(_part(kind, asked[kind]) for kind in kinds if kind in asked)
    known = [part.full_cost_usd for part in parts if part.full_cost_usd is not None]
    return Cascade(
        judge=judge,
        second=second,
        when=when,
        parts=parts,
        usage=sum((part.usage for part in parts), Usage()),
        full_cost_usd=math.fsum(known) if known else None,
    )


def _part(kind: QuestionKind, verdicts: Sequence[Weighed]) -> CascadePart:
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


def questions_of(evaluation: Evaluation) -> Iterator[tuple[QuestionKind, Weighed]]:
    """The verdicts on an answer that a judge was asked for, one for each call that they take.

    A passage that is evidence for a sentence and of a document that it cites takes one call. Of an
    empty answer, of a sentence without a passage and of a citation that points nowhere nobody is
    asked.
    """
    if not evaluation.sentences:
        return
    for judgment in evaluation.judgments:
        if judgment.failure is None or judgment.failure.reason not in NOTHING_TO_JUDGE:
            yield "rubric", judgment
    for label in evaluation.labels:
        yield "sentence", label
    for claim in _claims(evaluation):
        yield "claim", claim
    for nugget in _cited_nuggets(evaluation):
        yield "cited_nugget", nugget
    for assignment in evaluation.assignments:
        yield "gold_nugget", assignment


def _claims(evaluation: Evaluation) -> list[EvidenceVerdict | CitationVerdict]:
    """The first verdict on each pair of a sentence and a passage: its usage is booked there."""
    cited = [citation for citation in evaluation.citations if not citation.nuggets]
    found: dict[tuple[int, str, int, int], EvidenceVerdict | CitationVerdict] = {}
    for verdict in (*evaluation.evidence, *cited):
        span = verdict.evidence
        if span is not None:
            place = verdict.sentence, span.document, span.start, span.end
            found.setdefault(place, verdict)
    return list(found.values())


def _cited_nuggets(evaluation: Evaluation) -> list[NuggetVerdict]:
    """The verdicts on nuggets, each once where two markers of a sentence mean one document."""
    found: dict[tuple[int, str, str], NuggetVerdict] = {}
    for citation in evaluation.citations:
        for verdict in citation.nuggets:
            found.setdefault((verdict.sentence, verdict.document, verdict.nugget), verdict)
    return list(found.values())

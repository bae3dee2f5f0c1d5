"""The questions that a judge was asked, counted from finished evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ragassay.evaluators.base import Evaluator
from ragassay.evaluators.registry import OURS
from ragassay.records import Evaluation, VerdictBase


def questions_of(
    evaluations: Iterable[Evaluation], evaluators: Sequence[Evaluator[Any]] = OURS
) -> dict[str, list[VerdictBase]]:
    """Return the verdicts that a judge was asked for, one a call, by kind of question.

    Of an empty answer, of a sentence without a passage and of a citation that points nowhere
    nobody is asked.
    """
    asked: dict[str, list[VerdictBase]] = {one.words.kind: [] for one in evaluators}
    for evaluation in evaluations:
        for evaluator in evaluators if evaluation.sentences else ():
            asked[evaluator.words.kind] += evaluator.questions(evaluation)
    return {kind: verdicts for kind, verdicts in asked.items() if verdicts}


def single_verdicts(evaluation: Evaluation) -> dict[str, list[VerdictBase]]:
    """Return the verdicts by their evaluator, a panel's as those of its members."""
    found: dict[str, list[VerdictBase]] = {evaluator.name: [] for evaluator in OURS}
    known = {evaluator.name: evaluator for evaluator in OURS}
    for verdict in evaluation.verdicts:
        evaluator = known.get(verdict.evaluator)
        members = getattr(verdict, "members", ())
        parts = evaluator.parts_of(verdict) if evaluator else members or (verdict,)
        found.setdefault(verdict.evaluator, []).extend(parts)
    return found

"""Assign a gold nugget to an answer (the nuggetizer's assignment, arXiv 2504.15068)."""

from __future__ import annotations

import dspy

from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fenced, mark_of
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.records import ASSIGNMENTS, Assignment, Case, Nugget, NuggetAssignment, Usage


class AssignNugget(dspy.Signature):
    """Say whether an answer states a nugget."""

    context: str = dspy.InputField()
    nugget: str = dspy.InputField()
    assignment: Assignment = dspy.OutputField()


class NuggetAssigner(Agent):
    """Labels whether the answer states a gold nugget.

    One call a nugget; the nuggetizer asks for ten at a time. The calls share their context as a
    prefix, so that ten cost little more than one; a small model loses count of ten labels; a failed
    reply costs one nugget, not ten; and each label has its own probability.
    """

    name = "nugget_assigner"

    def __init__(self) -> None:
        super().__init__(AssignNugget)

    def request(self, case: Case, gold: int, nugget: Nugget) -> Request:
        """Label one gold nugget.

        Args:
            case: The case.
            gold: Position of the nugget among the gold ones (0-based).
            nugget: The nugget.
        """

        def read(found: dspy.Prediction, usage: Usage) -> NuggetAssignment:
            weights = choice_distribution(found.get("logprobs"), "assignment", ASSIGNMENTS)
            return NuggetAssignment(
                gold=gold,
                assignment=found.assignment,
                confidence=round(weights[found.assignment], 4) if weights else None,
                entropy_bits=rounded_bits(weights.values() if weights else None),
                usage=usage,
            )

        marked = fenced(nugget.text, mark_of(case))
        return self.asking(read, context=case.context, nugget=marked)

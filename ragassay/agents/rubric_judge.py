"""Rates an answer on one rubric."""

from __future__ import annotations

from typing import Annotated, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent
from ragassay.agents.choices import choice_distribution
from ragassay.prompts import Rubric, load_prompts
from ragassay.records import Case, Judgment

RATINGS = ("1", "2", "3", "4", "5")

_MOST_CHARS = load_prompts().agents["rubric_judge"].rationale_chars

# Small models fall into "1.1.1." after a rating: a rationale starts with a word.
Rationale = Annotated[str, StringConstraints(pattern=rf"^[A-Z][a-z]+ .{{20,{_MOST_CHARS}}}$")]


class RateAnswer(dspy.Signature):
    """Rate an answer on one rubric."""

    context: str = dspy.InputField()
    rubric: str = dspy.InputField()
    rating: Literal[1, 2, 3, 4, 5] = dspy.OutputField()
    rationale: Rationale = dspy.OutputField()


class RubricJudge(Agent):
    """A case and a rubric in, a judgment out."""

    name = "rubric_judge"

    def __init__(self) -> None:
        super().__init__(RateAnswer)

    async def aforward(self, case: Case, rubric: Rubric) -> Judgment:
        """Rate the case's answer.

        The score is the expectation over the five rating tokens where the model gives
        log-probabilities, and the written rating where it gives none.

        Raises:
            ModelError: The model gave no usable reply.
        """
        found, usage = await self.ask(context=case.context, rubric=rubric.rendered())
        weights = choice_distribution(found.get("logprobs"), "rating", RATINGS)
        distribution = None
        score = float(found.rating)
        if weights is not None:
            a, b, c, d, e = (round(weights[rating], 6) for rating in RATINGS)
            distribution = (a, b, c, d, e)
            score = sum(int(rating) * weight for rating, weight in weights.items())
        return Judgment(
            rubric=rubric.name,
            rating=found.rating,
            score=round(min(5.0, max(1.0, score)), 4),
            distribution=distribution,
            rationale=found.rationale.strip(),
            usage=usage,
        )

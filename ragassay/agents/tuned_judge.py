"""Rates an answer on one rubric, as a model that was fine-tuned for it is asked.

The prompt is as short as it can be: a small model has learnt what the rubrics mean, and its context
is the question and the answer, sentence by sentence, so that it can point to them. It sees no
sources.
"""

from __future__ import annotations

from typing import Annotated, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.adapter import CompactAdapter
from ragassay.agents.base import Agent
from ragassay.agents.context import fence_mark, fenced
from ragassay.agents.rubric_judge import Numbers, judgment_of
from ragassay.prompts import load_prompts
from ragassay.records import Case, Judgment

Rating = Literal[1, 2, 3, 4, 5]
Reason = Annotated[
    str,
    StringConstraints(
        pattern=rf"^[A-Z].{{10,{load_prompts().agents['tuned_judge'].rationale_chars}}}$"
    ),
]


class RateAnswer(dspy.Signature):
    """Rate an answer on a rubric."""

    context: str = dspy.InputField()
    rubric: str = dspy.InputField()
    rating: Rating = dspy.OutputField()
    sentences: Numbers = dspy.OutputField()
    rationale: Reason = dspy.OutputField()


class TunedJudge(Agent):
    """A case and a rubric's name in, a judgment out; for models that `ragassay finetune` made."""

    name = "tuned_judge"
    adapter = CompactAdapter()

    def __init__(self) -> None:
        super().__init__(RateAnswer)

    async def aforward(self, case: Case, rubric: str) -> Judgment:
        """Rate the case's answer; the score is the expectation over the five ratings.

        Raises:
            ModelError: The model gave no usable reply.
        """
        found, usage = await self.ask(**self.inputs(case, rubric))
        return judgment_of(found, usage, case, rubric, (1, 5))

    def messages(self, case: Case, rubric: str) -> list[dict[str, str]]:
        """The prompt as the model sees it, for whoever trains one."""
        return self.adapter.format(self.predict.signature, [], self.inputs(case, rubric))

    @staticmethod
    def inputs(case: Case, rubric: str) -> dict[str, str]:
        """What the signature is given."""
        words = load_prompts().context
        lines = "\n".join(f"{sentence.index}. {sentence.text}" for sentence in case.sentences)
        # Answers to the same question share their prompts' start.
        mark = fence_mark([case.question, lines], case.question)
        parts = [words.question, fenced(case.question, mark), words.answer, fenced(lines, mark)]
        return {"context": "\n".join(parts), "rubric": rubric.replace("_", " ")}

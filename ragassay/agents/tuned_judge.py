"""Rates an answer on one rubric, as a model that was fine-tuned for it is asked.

The prompt is as short as it can be: a small model has learnt what the rubrics mean, and its context
is the question, the answer sentence by sentence, and what it saw in them when it read them. It sees
no sources.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.adapter import CompactAdapter
from ragassay.agents.answer_reader import read_context
from ragassay.agents.base import Agent, Request
from ragassay.agents.rubric_judge import judgment_of
from ragassay.prompts import load_prompts
from ragassay.records import Case, Judgment, Mark, Reading, Usage

Reason = Annotated[
    str,
    StringConstraints(
        pattern=rf"^[A-Z].{{10,{load_prompts().agents['tuned_judge'].rationale_chars}}}$"
    ),
]


class RateAnswer(dspy.Signature):
    """An answer that was read in, its rating on one rubric out."""

    context: str = dspy.InputField()
    marks: str = dspy.InputField()
    rubric: str = dspy.InputField()
    rating: Literal[1, 2, 3, 4, 5] = dspy.OutputField()
    rationale: Reason = dspy.OutputField()


class TunedJudge(Agent):
    """A case, its reading and a rubric's name in, a judgment out; for fine-tuned models."""

    name = "tuned_judge"
    adapter = CompactAdapter()

    def __init__(self) -> None:
        super().__init__(RateAnswer)

    def request(self, case: Case, reading: Reading, rubric: str) -> Request:
        """Rate the case's answer; the score is the expectation over the five ratings."""

        def read(found: dspy.Prediction, usage: Usage) -> Judgment:
            found["sentences"] = sentences_named(found.rationale, reading.faults)
            return judgment_of(found, usage, case, rubric, (1, 5))

        return self.asking(read, **rating_inputs(case, reading.faults, rubric))

    def messages(self, case: Case, faults: Mapping[int, Mark], rubric: str) -> list[dict[str, str]]:
        """The prompt as the model sees it, for whoever trains one."""
        inputs = rating_inputs(case, faults, rubric)
        return self.adapter.format(self.predict.signature, [], inputs)


def rating_inputs(case: Case, faults: Mapping[int, Mark], rubric: str) -> dict[str, str]:
    """What a rating is asked with.

    Args:
        case: The case.
        faults: What is not fine of its sentences, by their numbers.
        rubric: The rubric's name.
    """
    marks = ", ".join(f"{n} {mark}" for n, mark in sorted(faults.items())) or "none"
    return {"context": read_context(case), "marks": marks, "rubric": rubric.replace("_", " ")}


def sentences_named(rationale: str, faults: Mapping[int, Mark]) -> tuple[int, ...]:
    """Sentences that a reason points to, by their numbers, in order.

    A reason names a few and says "and others"; those are the ones that were marked alike.

    Example:
        >>> sentences_named("Sentence 2 is about another subject.", {2: "subject", 5: "subject"})
        (2, 5)
    """
    named = {int(number) for number in re.findall(r"\d+", rationale)}
    alike = {faults[n] for n in named if n in faults}
    return tuple(sorted(named | {n for n, mark in faults.items() if mark in alike}))

"""Reads an answer sentence by sentence, as a model that was fine-tuned for it is asked.

What a sentence is shows best where it ends: a causal model has just read it there, with all before
it. So there is a prompt for each sentence, which ends with it; they share all that they have in
common, and reading an answer costs little more than the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import dspy

from ragassay.agents.adapter import CompactAdapter
from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fence_mark, fenced
from ragassay.prompts import load_prompts
from ragassay.records import FINE, MARKS, Case, Mark, Reading, Usage

MOST_SENTENCES = 40
"""Sentences of an answer that are read; a small model loses the thread in a longer one."""

SURE = 0.9
"""How likely a sentence is not fine before it is marked so. Of 16 whole answers to held-out
questions `ragassay/judge` marks 2 then, and 5 where the likeliest mark counts, as with .5 here; it
finds .90 of extreme damage instead of .87, and .78 of subtle damage instead of .81."""


class MarkSentence(dspy.Signature):
    """An answer up to one of its sentences in, what that sentence is out."""

    context: str = dspy.InputField()
    mark: Mark = dspy.OutputField()


class AnswerReader(Agent):
    """A case in, a reading out; for models that `ragassay finetune judge` made."""

    name = "answer_reader"
    adapter = CompactAdapter()

    def __init__(self) -> None:
        super().__init__(MarkSentence)

    async def aforward(self, case: Case) -> Reading:
        """Say of each sentence what it is.

        Raises:
            ModelError: The model gave no usable reply for one of them.
        """
        numbers = range(1, len(shown_lines(case)) + 1)
        replies = await asyncio.gather(*(self.ask(self.request(case, n)) for n in numbers))
        return Reading(
            marks=tuple(mark for mark, _ in replies),
            usage=sum((usage for _, usage in replies), Usage()),
        )

    def request(self, case: Case, n: int) -> Request:
        """Say what the n-th sentence is."""
        return self.asking(_sure_mark, context=read_context(case, n))

    def messages(self, case: Case, n: int) -> list[dict[str, str]]:
        """The prompt for a sentence as the model sees it, for whoever trains one."""
        inputs: dict[str, Any] = {"context": read_context(case, n)}
        return self.adapter.format(self.predict.signature, [], inputs)


def _sure_mark(found: dspy.Prediction, usage: Usage) -> tuple[Mark, Usage]:
    weights = choice_distribution(found.get("logprobs"), "mark", MARKS)
    return sure_mark(found.mark, weights), usage


def sure_mark(given: Mark, weights: Mapping[str, float] | None) -> Mark:
    """The likeliest fault of a sentence, or that it is fine where no fault is sure.

    Args:
        given: What the model said.
        weights: How likely each mark was; None where that is not known, and what was said counts.

    Example:
        >>> sure_mark("subject", {"fine": 0.3, "subject": 0.7})
        'fine'
    """
    if weights is None:
        return given
    if weights[FINE] > 1 - SURE:
        return FINE
    faults: list[Mark] = [mark for mark in MARKS if mark != FINE]
    return max(faults, key=lambda mark: weights.get(mark, 0.0))


def shown_lines(case: Case) -> list[str]:
    """The sentences that are read, each with its number."""
    return [f"{s.index}. {s.text}" for s in case.sentences[:MOST_SENTENCES]]


def read_context(case: Case, n: int = MOST_SENTENCES) -> str:
    """The question and the answer up to its n-th sentence, which counts from 1."""
    words, lines = load_prompts().context, shown_lines(case)
    # Answers to the same question share their prompts' start, wherever they end.
    mark = fence_mark([case.question, *lines], case.question)
    answer = fenced("\n".join(lines[:n]), mark)
    return "\n".join([words.question, fenced(case.question, mark), words.answer, answer])

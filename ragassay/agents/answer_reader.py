"""Read an answer sentence by sentence, with a model fine-tuned for it.

A causal model knows most about a sentence right after it. So each sentence has a prompt that ends
with it; the prompts share their beginning, so reading an answer costs little more than its tokens.
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
"""Most sentences read; a small model loses track in a longer answer."""

SURE = 0.9
"""Probability of a fault from which a sentence is marked. Of 16 whole answers to held-out
questions `ragassay/judge` marks 2 with it, and 5 where the likeliest mark counts, as with .5
here; it detects .90 of extreme damage instead of .87, and .78 of subtle damage instead of .81."""


class MarkSentence(dspy.Signature):
    """An answer up to one of its sentences in, what that sentence is out."""

    context: str = dspy.InputField()
    mark: Mark = dspy.OutputField()


class AnswerReader(Agent):
    """Marks the sentences of a case; for models made by `ragassay finetune judge`."""

    name = "answer_reader"
    adapter = CompactAdapter()

    def __init__(self) -> None:
        super().__init__(MarkSentence)

    async def aforward(self, case: Case) -> Reading:
        """Mark each sentence.

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
        """Return the prompt for a sentence as the model sees it, for training."""
        inputs: dict[str, Any] = {"context": read_context(case, n)}
        return self.adapter.format(self.predict.signature, [], inputs)


def _sure_mark(found: dspy.Prediction, usage: Usage) -> tuple[Mark, Usage]:
    weights = choice_distribution(found.get("logprobs"), "mark", MARKS)
    return sure_mark(found.mark, weights), usage


def sure_mark(given: Mark, weights: Mapping[str, float] | None) -> Mark:
    """Return the likeliest fault of a sentence, or "fine" where no fault is probable enough.

    Args:
        given: The model's mark.
        weights: Probability of each mark; None where unknown, and the given mark counts.

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
    """Return the sentences that are read, each with its number."""
    return [f"{s.index}. {s.text}" for s in case.sentences[:MOST_SENTENCES]]


def read_context(case: Case, n: int = MOST_SENTENCES) -> str:
    """Return the question and the answer up to its n-th sentence, counted from 1."""
    words, lines = load_prompts().context, shown_lines(case)
    # Prompts of answers to the same question share their beginning, wherever they end.
    mark = fence_mark([case.question, *lines], case.question)
    answer = fenced("\n".join(lines[:n]), mark)
    return "\n".join([words.question, fenced(case.question, mark), words.answer, answer])

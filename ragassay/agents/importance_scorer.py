"""Label a nugget as vital or okay for a question (the nuggetizer, arXiv 2504.15068)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import dspy

from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fence_mark, fenced
from ragassay.prompts import load_prompts
from ragassay.records import Importance, Usage

IMPORTANCES: tuple[Importance, ...] = get_args(Importance)


class ScoreImportance(dspy.Signature):
    """Say how important a fact is."""

    context: str = dspy.InputField()
    fact: str = dspy.InputField()
    importance: Importance = dspy.OutputField()


@dataclass(frozen=True)
class Scored:
    """A nugget's importance, with its probability; None where the model returns none."""

    importance: Importance
    confidence: float | None
    usage: Usage


class ImportanceScorer(Agent):
    """Labels the importance of one of a question's nuggets.

    One call a nugget; the nuggetizer labels ten at a time. Each call shows all nuggets as its
    shared prefix, so that one is compared with the others.
    """

    name = "importance_scorer"

    def __init__(self) -> None:
        super().__init__(ScoreImportance)

    def request(self, question: str, facts: Sequence[str], position: int) -> Request:
        """Label one nugget.

        Args:
            question: The question.
            facts: All nuggets.
            position: Its position (0-based).
        """
        mark, words = fence_mark([question, *facts]), load_prompts().context
        listed = "\n".join(f"- {fact}" for fact in facts)
        context = "\n".join(
            [words.question, fenced(question, mark), words.facts, fenced(listed, mark)]
        )
        return self.asking(_scored, context=context, fact=fenced(facts[position], mark))


def _scored(found: dspy.Prediction, usage: Usage) -> Scored:
    weights = choice_distribution(found.get("logprobs"), "importance", IMPORTANCES)
    confidence = round(weights[found.importance], 4) if weights else None
    return Scored(found.importance, confidence, usage)

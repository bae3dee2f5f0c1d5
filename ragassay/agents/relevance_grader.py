"""Grade the relevance of a passage to its query, without a test bank (Dietz 2024, section 3.5)."""

from __future__ import annotations

import functools
from typing import Any, Literal

import dspy

from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fenced, mark_of, passage_context
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.prompts import load_prompts
from ragassay.records import Case, DirectGrader, RelevanceGrade, Usage

_WORDS = load_prompts().agents["relevance_grader"]

THOMAS = (0, 1, 2)
"""Ratings of Thomas et al.; the other graders say yes or no."""


@functools.lru_cache(maxsize=16)
def _signature(grader: DirectGrader, instruction: str) -> type[dspy.Signature]:
    possible: Any = Literal[THOMAS] if grader == "thomas" else Literal["yes", "no"]
    fields: dict[str, Any] = {
        "context": (str, dspy.InputField()),
        "query": (str, dspy.InputField()),
        "relevance": (possible, dspy.OutputField()),
    }
    return dspy.make_signature(fields, instruction, signature_name="GradeRelevance")


class RelevanceGrader(Agent):
    """An agent that says how relevant a passage is to its query, in the manner of a direct grader.

    The manners are those of Faggioli et al. 2023 (fagb), Sun et al. 2023 (sun), each also with
    examples, HELM (Liang et al. 2022) and Thomas et al. 2023; the wording is ours.
    """

    name = "relevance_grader"

    def __init__(self) -> None:
        super().__init__(_signature("fagb", ""))

    def request(self, case: Case, grader: DirectGrader) -> Request:
        """Return the request to grade the relevance of a case's answer to its question."""
        predictor: Any = self.predict
        task = f"{predictor.signature.instructions} {_WORDS.additions[grader]}"
        labels = [str(value) for value in THOMAS] if grader == "thomas" else ["yes", "no"]

        def read(found: dspy.Prediction, usage: Usage) -> RelevanceGrade:
            label = str(found.relevance)
            weights = choice_distribution(found.get("logprobs"), "relevance", labels)
            rating = int(label) if grader == "thomas" else int(label == "yes")
            return RelevanceGrade(
                grader=grader,
                rating=rating,
                is_relevant=rating > 0,
                confidence=round(weights[label], 4) if weights else None,
                entropy_bits=rounded_bits(weights.values() if weights else None),
                usage=usage,
            )

        inputs = {
            "context": passage_context(case),
            "query": fenced(case.question, mark_of(case)),
        }
        return Request(_signature(grader, task), inputs, tuple(predictor.demos), read)

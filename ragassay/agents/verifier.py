"""Verify a claim against a passage (BioACE, section 4.2)."""

from __future__ import annotations

from typing import Any, Literal

import dspy

from ragassay.agents.base import Agent, Request
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fenced, mark_of
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.records import VERDICT_SETS, Case, Comparison, EvidenceSpan, Usage

PROMPTS = {2: "verifier_binary", 3: "verifier_ternary", 4: "verifier"}
"""Keys of the prompts, by the number of labels."""


class VerifyClaim(dspy.Signature):
    """Compare a claim with a passage; the verdict's type is set for each number of labels."""

    context: str = dspy.InputField()
    passage: str = dspy.InputField()
    claim: str = dspy.InputField()
    verdict: str = dspy.OutputField()


class Verifier(Agent):
    """Verifies a claim against a passage; used for citations and evidence.

    Args:
        n_labels: The number of verdicts to choose from: 2, 3 or 4.
    """

    name = "verifier"

    def __init__(self, n_labels: int = 4) -> None:
        self._labels = VERDICT_SETS[n_labels]
        # A computed type: pyright cannot follow.
        labels: Any = Literal[self._labels]  # pyright: ignore[reportInvalidTypeForm]
        signature = VerifyClaim.with_updated_fields("verdict", type_=labels)
        super().__init__(signature, PROMPTS[n_labels])

    def request(self, case: Case, claim: str, passage: EvidenceSpan | str) -> Request:
        """Compare a sentence of the case's answer, or any other claim, with a passage."""
        mark = mark_of(case)
        text = passage if isinstance(passage, str) else passage.text
        return self.asking(
            self._finding,
            context=case.context,
            passage=fenced(text, mark),
            claim=fenced(claim, mark),
        )

    async def compare(self, case: Case, claim: str, passage: str) -> Comparison:
        """Verify any claim against any text.

        Raises:
            ModelError: The model gave no usable reply.
        """
        return await self.ask(self.request(case, claim, passage))

    def _finding(self, found: dspy.Prediction, usage: Usage) -> Comparison:
        weights = choice_distribution(found.get("logprobs"), "verdict", self._labels)
        confidence = round(weights[found.verdict], 4) if weights else None
        bits = rounded_bits(weights.values() if weights else None)
        return Comparison(found.verdict, confidence, usage, bits)

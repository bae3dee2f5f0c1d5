"""Says whether a passage bears out a claim (BioACE, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import dspy

from ragassay.agents.base import Agent
from ragassay.agents.choices import choice_distribution
from ragassay.agents.context import fenced, mark_of
from ragassay.records import VERDICTS, Case, EvidenceSpan, Usage, Verdict


class VerifyClaim(dspy.Signature):
    """Compare a claim with a passage."""

    context: str = dspy.InputField()
    passage: str = dspy.InputField()
    claim: str = dspy.InputField()
    verdict: Verdict = dspy.OutputField()


@dataclass(frozen=True)
class Finding:
    """A verdict with its probability among the four; None where the model does not tell."""

    verdict: Verdict
    confidence: float | None
    usage: Usage


class Verifier(Agent):
    """A claim and a passage in, a verdict out; citations and evidence both ask it."""

    name = "verifier"

    def __init__(self) -> None:
        super().__init__(VerifyClaim)

    async def aforward(self, case: Case, claim: str, passage: EvidenceSpan) -> Finding:
        """Compare a sentence of the case's answer with a passage.

        Raises:
            ModelError: The model gave no usable reply.
        """
        mark = mark_of(case)
        found, usage = await self.ask(
            context=case.context, passage=fenced(passage.text, mark), claim=fenced(claim, mark)
        )
        weights = choice_distribution(found.get("logprobs"), "verdict", VERDICTS)
        confidence = round(weights[found.verdict], 4) if weights else None
        return Finding(found.verdict, confidence, usage)

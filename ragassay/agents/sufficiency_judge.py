"""Judge whether the passages found for a claim are enough to decide on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import dspy

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fenced, mark_of
from ragassay.records import Case, Usage


class JudgeSufficiency(dspy.Signature):
    """Judge whether passages are enough."""

    context: str = dspy.InputField()
    passages: str = dspy.InputField()
    claim: str = dspy.InputField()
    enough: Literal["yes", "no"] = dspy.OutputField()


@dataclass(frozen=True)
class Sufficiency:
    """A judgment: true if the passages decide the claim; and the cost of the call."""

    is_enough: bool
    usage: Usage


class SufficiencyJudge(Agent):
    """Judges whether passages decide a claim, for it or against it; ends a search or not."""

    name = "sufficiency_judge"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(JudgeSufficiency)

    def request(self, case: Case, claim: str, passages: Sequence[str]) -> Request:
        """Ask whether passages are enough for a sentence of the case's answer.

        Args:
            case: The case.
            claim: The sentence.
            passages: Its passages with their titles, at least one; untrusted.
        """
        mark = mark_of(case)
        return self.asking(
            lambda found, usage: Sufficiency(found.enough == "yes", usage),
            context=case.context,
            passages="\n".join(fenced(passage, mark) for passage in passages),
            claim=fenced(claim, mark),
        )

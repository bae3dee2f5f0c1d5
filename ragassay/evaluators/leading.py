"""Tell contradictions that lead a report from those that are only worth a look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragassay.metrics.risk import bound_of
from ragassay.records import (
    CitationVerdict,
    EvidenceVerdict,
    Finding,
    FindingLevel,
    NuggetVerdict,
)

if TYPE_CHECKING:
    from ragassay.evaluators.toolbox import Toolbox

CONTRADICTS = "contradicts"


@dataclass(frozen=True)
class Weight:
    """The weight of a contradiction.

    Attributes:
        level: Whether it leads the report.
        is_said: Whether it was said; else a verdict only leans to it.
        precision: Measured share of right ones among such findings; None where nobody measured.
        data: What that was measured on.
    """

    level: FindingLevel
    is_said: bool = True
    precision: float | None = None
    data: str = ""

    @property
    def rank(self) -> tuple[bool, bool]:
        """The heaviest first: what leads, then what was said, then a leaning."""
        return self.level != "head", not self.is_said

    @property
    def beside_others(self) -> Weight:
        """The weight of a document that the sentence does not rest on: no bound was found there."""
        return replace(self, level="look") if self.precision is not None else self

    @property
    def word(self) -> str:
        """The verb of a finding: does the text contradict, or may it?"""
        return "contradicts" if self.level == "head" else "may contradict"

    def finding(self, kind: str, sentence: int, message: str) -> Finding:
        """Return the finding of this weight."""
        return Finding(
            kind=kind,
            sentence=sentence,
            message=message,
            level=self.level,
            precision=self.precision,
            data=self.data,
        )


def weight_of(verdict: EvidenceVerdict | CitationVerdict, tools: Toolbox) -> Weight | None:
    """Weigh what a verdict has against a sentence; None where it has nothing.

    A judge's contradictions lead, and so do those of a verifier without bounds. One with bounds
    leads with what its bound for findings admits. Of a citation that was checked nugget by nugget
    the heaviest nugget counts.
    """
    parts = getattr(verdict, "nuggets", ()) or (verdict,)
    if verdict.value == CONTRADICTS:
        said = [_said(one, tools) for one in parts if one.value == CONTRADICTS]
        return min(said, key=lambda one: one.rank)
    return Weight("look", is_said=False) if verdict.leaning == CONTRADICTS else None


def irrelevance(verdict: CitationVerdict, tools: Toolbox) -> Weight:
    """Weigh that a citation is about something else."""
    return _said(verdict, tools, "not_relevant")


def _said(
    verdict: EvidenceVerdict | CitationVerdict | NuggetVerdict,
    tools: Toolbox,
    label: str = CONTRADICTS,
) -> Weight:
    encoder, second = tools.models.encoder, verdict.escalation
    if encoder is None or not encoder.bounds or (second and second.failure is None):
        return Weight("head")
    bound = bound_of(encoder.bounds, label, "finding")
    if bound is None or not bound.admits(verdict.confidence):
        return Weight("look")
    return Weight("head", precision=bound.precision, data=bound.data)

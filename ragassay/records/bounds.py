"""Bounds: the confidence from which on a model is right often enough to be believed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen

BoundLevel = Literal["verdict", "finding"]
"""What a bound admits: a verdict that counts as decided, or a finding that may lead a report."""


class Bound(Frozen):
    """The confidence that a model needs for one kind of verdict, found on data.

    Attributes:
        label: The kind of verdict.
        level: What it admits.
        threshold: Least confidence; None where none keeps the risk: such a verdict never counts.
        risk: Largest share of wrong ones among those that it admits.
        delta: Largest probability that the data made the bound too low.
        precision: Share of right ones among those that it admitted in the data; None without any.
        coverage: Share of the data's verdicts of this kind that it admitted.
        n: The data's verdicts of this kind.
        data: The data's name.
    """

    label: str
    level: BoundLevel = "verdict"
    threshold: float | None = Field(default=None, ge=0, le=1)
    risk: float = Field(gt=0, lt=1)
    delta: float = Field(gt=0, lt=1)
    precision: float | None = Field(default=None, ge=0, le=1)
    coverage: float = Field(default=0.0, ge=0, le=1)
    n: int = Field(ge=0)
    data: str = ""

    def admits(self, confidence: float | None) -> bool:
        """Return whether a verdict is confident enough."""
        return None not in (self.threshold, confidence) and confidence >= self.threshold  # type: ignore[operator]

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
        label: The verdict.
        level: What it admits.
        kind: Of contradictions "number", another value of the same quantity, "words", another
            difference, or "leaning", none that a rule finds; of neutral ones "not_relevant", about
            something else. Empty for all verdicts of the label without a bound of their kind.
        threshold: Least confidence; None where none keeps the risk: such a verdict never counts.
        least_cosine: Least cosine of the claim with the closest sentence of what it was compared
            with; None where that is no condition.
        risk: Largest share of wrong ones among those that it admits.
        delta: Largest probability that the data made the bound too low.
        precision: Share of right ones among those that it admitted in the data; where it has no
            threshold, among all `n`, if that was measured. None without any.
        low: Lower end of the precision's 95 % interval.
        high: Upper end.
        n_measured: Verdicts that the precision was measured on; 0 where it is unknown.
        coverage: Share of the data's verdicts of this kind that it admitted.
        n: The data's verdicts of this kind.
        is_tested: Whether the data were enough to look for a threshold.
        data: The data's name.
    """

    label: str
    level: BoundLevel = "verdict"
    kind: str = ""
    threshold: float | None = Field(default=None, ge=0, le=1)
    least_cosine: float | None = Field(default=None, ge=-1, le=1)
    risk: float = Field(gt=0, lt=1)
    delta: float = Field(gt=0, lt=1)
    precision: float | None = Field(default=None, ge=0, le=1)
    low: float | None = Field(default=None, ge=0, le=1)
    high: float | None = Field(default=None, ge=0, le=1)
    n_measured: int = Field(default=0, ge=0)
    coverage: float = Field(default=0.0, ge=0, le=1)
    n: int = Field(ge=0)
    data: str = ""
    is_tested: bool = True

    def admits(self, confidence: float | None, cosine: float | None = None) -> bool:
        """Return whether a verdict is confident enough, and its claim close enough if asked for.

        Args:
            confidence: In [0, 1]; None is never enough.
            cosine: Of the claim with the closest sentence, in [-1, 1]; None where unknown, which
                is not enough for a bound with a least cosine.
        """
        if self.threshold is None or confidence is None or confidence < self.threshold:
            return False
        return self.least_cosine is None or (cosine is not None and cosine >= self.least_cosine)

"""Weigh what is worth a look: it leads the report, is undecided, or judges differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.review.items import State

LEADS, UNDECIDED, DIFFERS, UNSCORED, UNSURE = 3.0, 2.0, 2.0, 1.5, 1.0
"""How much each counts at most. What leads a report is read by everybody, so it comes first."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The reasons for a second look at a verdict.

    Attributes:
        confidence: Of the value or the leaning; None where not given.
        entropy_bits: Of the distribution; None where not given.
        n_choices: How many values there are.
        spread: How far judges are apart: 0 where they agree, 1 where they could not be further.
        is_undecided: Whether the judge said that it cannot tell.
        is_unscored: Whether there is no verdict for another reason.
        leads: Whether a finding that leads the report is about it.
    """

    confidence: float | None = None
    entropy_bits: float | None = None
    n_choices: int = 2
    spread: float = 0.0
    is_undecided: bool = False
    is_unscored: bool = False
    leads: bool = False

    @property
    def uncertainty(self) -> float:
        """In [0, 1]: the entropy as a share of the most there can be, else 1 - confidence."""
        if self.entropy_bits is not None and self.n_choices > 1:
            return min(1.0, self.entropy_bits / math.log2(self.n_choices))
        return 0.0 if self.confidence is None else 1 - self.confidence

    @property
    def worth(self) -> float:
        """The worth of a look; 0 where nothing speaks for it."""
        parts = (
            LEADS * self.leads,
            UNDECIDED * self.is_undecided,
            UNSCORED * self.is_unscored,
            DIFFERS * (0.5 + self.spread / 2) * (self.spread > 0),
            UNSURE * self.uncertainty,
        )
        return round(sum(parts), 4)

    @property
    def states(self) -> tuple[State, ...]:
        """The states that speak for it."""
        known: tuple[tuple[State, bool], ...] = (
            ("leads", self.leads),
            ("undecided", self.is_undecided),
            ("unscored", self.is_unscored),
            ("judges", self.spread > 0),
        )
        return tuple(state for state, holds in known if holds)

    @property
    def because(self) -> tuple[str, ...]:
        """The same in words."""
        words = tuple(STATES[state] for state in self.states)
        return (*words, "unsure") if self.uncertainty >= 0.5 and not self.is_undecided else words


STATES: dict[State, str] = {
    "leads": "leads the report",
    "undecided": "undecided",
    "unscored": "unscored",
    "judges": "judges differ",
}
"""What speaks for a look, in words."""


def spread_of(values: Sequence[object], n_choices: int = 2) -> float:
    """Return how far values are apart: of numbers, their range as a share of the scale's.

    Example:
        >>> spread_of([1, 5], 5), spread_of(["yes", "no"]), spread_of(["yes"])
        (1.0, 1.0, 0.0)
    """
    given = [value for value in values if value is not None]
    if len(set(given)) < 2:
        return 0.0
    numbers = [value for value in given if isinstance(value, int | float)]
    if len(numbers) < len(given):
        return 1.0
    return min(1.0, (max(numbers) - min(numbers)) / max(1, n_choices - 1))

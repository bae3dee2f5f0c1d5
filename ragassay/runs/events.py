"""Tell a progress bar, or whoever listens, how far a run is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ragassay.records import Usage


@dataclass(frozen=True)
class Event:
    """An event of a run.

    Attributes:
        n_expected: Newly expected calls.
        n_calls: Finished or failed verdicts.
        n_records: Finished answers.
        usage: The verdicts' cost.
        phase: What has begun, in a word or two; empty where nothing has.
        answer: Id of the answer that it has begun for.
    """

    n_expected: int = 0
    n_calls: int = 0
    n_records: int = 0
    usage: Usage = field(default_factory=Usage)
    phase: str = ""
    answer: str = ""

    def __add__(self, other: Event) -> Event:
        """Return the sum of two events, with the phase that has begun last."""
        last = other if other.phase else self
        return Event(
            self.n_expected + other.n_expected,
            self.n_calls + other.n_calls,
            self.n_records + other.n_records,
            self.usage + other.usage,
            last.phase,
            last.answer,
        )


Listener = Callable[[Event], None]

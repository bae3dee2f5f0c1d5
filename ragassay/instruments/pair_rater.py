"""Define the interface of raters of question-answer pairs that need no language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ragassay.records import Case, QAPair, RacarDimension, RacarRating


class PairRater(Protocol):
    """Rates pairs by RACAR. Calls compute, so make them in a thread; safe across threads.

    Attributes:
        name: Its name in reports.
        digest: SHA-256 of its numbers or weights.
        dimensions: What it can tell; in others it leaves every pair undecided.
    """

    name: str
    digest: str
    dimensions: frozenset[RacarDimension]

    @property
    def identity(self) -> tuple[str, ...]:
        """Name and digests: all that its ratings depend on besides the texts."""
        ...

    def rate(
        self, dimension: RacarDimension, pairs: Sequence[QAPair], case: Case
    ) -> list[RacarRating]:
        """Rate pairs of a paper in one dimension.

        Args:
            dimension: What is rated.
            pairs: The pairs.
            case: The case; its source is the paper.

        Returns:
            A rating for each pair, in their order; one that it cannot tell is undecided.
        """
        ...

"""RACAR: five ratings of a question-answer pair, and how alike two questions ask (SciQAG)."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from ragassay.records.verdicts import EvidenceSpan, RatingVerdict, VerdictBase

RacarDimension = Literal["relevance", "agnosticism", "completeness", "accuracy", "reasonableness"]
RACAR: tuple[RacarDimension, ...] = get_args(RacarDimension)
"""The dimensions, in the order of the name."""

RACAR_SCALE = (1, 3)
"""1: unacceptable, 3: fully acceptable (Wan et al. 2024, section 3.3)."""

MOST_INTENT = 100


class RacarRating(RatingVerdict):
    """A rating of a question-answer pair in one dimension (Wan et al. 2024, section 3.3).

    Attributes:
        pair: The pair's id.
        dimension: What is rated.
        rating: 1 to 3; None where unscored.
        score: The expectation over the rating tokens, 1 to 3; the rating where not given.
        reason: The judge's reason.
        evidence: Places of the paper that the judge quotes; a quote that the paper does not have
            is left out.
        leaning_rating: What an undecided rating leant to.
        escalated_from: The first judge's value, if the second judge gave this one.
    """

    item_fields = ("dimension", "pair")

    evaluator: str = "racar"
    pair: str
    dimension: RacarDimension
    rating: int | None = Field(default=None, ge=1, le=3)
    score: float | None = Field(default=None, ge=1, le=3)
    reason: str = ""
    evidence: tuple[EvidenceSpan, ...] = ()
    leaning_rating: int | None = Field(default=None, ge=1, le=3)
    escalated_from: RacarRating | None = None

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest rating."""
        return RACAR_SCALE


class IntentSimilarity(VerdictBase):
    """The likeness of what two questions ask for (Wan et al. 2024, appendix C).

    Attributes:
        first: Id of one pair.
        second: Id of the other; behind the first in the paper's list.
        score: 0 for nothing in common to 100 for the same intent; None where unscored.
        escalated_from: The first judge's value, if the second judge gave this one.
    """

    item_fields, value_field = ("first", "second"), "score"

    evaluator: str = "intent"
    first: str
    second: str
    score: float | None = Field(default=None, ge=0, le=MOST_INTENT)
    escalated_from: IntentSimilarity | None = None

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest score."""
        return 0, MOST_INTENT

    @property
    def said(self) -> int | None:
        """The closest of `choices`."""
        return None if self.score is None else round(self.score / 25) * 25

    @property
    def choices(self) -> tuple[int, ...]:
        """See `VerdictBase`."""
        return tuple(range(0, MOST_INTENT + 1, 25))

"""The records of a judge measured against itself: the same answers judged several times."""

from __future__ import annotations

from pydantic import Field

from ragassay.records.base import Frozen
from ragassay.records.evaluation import Score
from ragassay.records.verdicts import Usage


class RepeatFigure(Frozen):
    """The share of one kind of verdict that changes when the same thing is judged again.

    Attributes:
        kind: The kind of question, such as "rubric" or "claim".
        judge: The panel's judge; "" without a panel.
        changed: Share of the questions whose verdict was not the same every time; `n` counts
            questions with a verdict every time, `n_unscored` those that lack one at least once.
        mean_spread: Mean difference between a question's highest and lowest score; None for labels.
    """

    kind: str
    judge: str = ""
    changed: Score
    mean_spread: float | None = None


class Repeats(Frozen):
    """A judge measured against itself.

    Attributes:
        n_times: How often each answer was judged.
        judge: The judge.
        figures: By kind of question, and by judge of a panel; empty where no model was asked.
        usage: Cost of the repetitions, without that of the run itself.
    """

    n_times: int = Field(ge=2)
    judge: str
    figures: tuple[RepeatFigure, ...] = ()
    usage: Usage = Usage()

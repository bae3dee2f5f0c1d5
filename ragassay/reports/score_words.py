"""Names and differences of scores that are compared."""

from __future__ import annotations

from ragassay.metrics.changes import SERIOUS_KEY
from ragassay.metrics.significance import PairTest
from ragassay.reports.text import NBSP, NOT_DEFINED, RUBRIC_MEAN, SHARE_SCALE, score_title

RUBRIC_KEY = "rubric.mean"
"""The mean of an answer's rubrics, as a score."""

MINUS = "\u2212"
NAMES = {SERIOUS_KEY: "Answers with a serious finding", RUBRIC_KEY: RUBRIC_MEAN}


def score_name(key: str) -> str:
    """Return the title of a score, or of what is compared like one."""
    return NAMES.get(key) or score_title(key)


def difference_text(difference: float | None, scale: tuple[float, float]) -> str:
    """Return a difference with its sign: of shares in points of a hundred, else two decimals."""
    if difference is None:
        return NOT_DEFINED
    number = signed_text(difference, scale)
    return f"{number}{NBSP}points" if tuple(scale) == SHARE_SCALE else number


def interval_text(test: PairTest, scale: tuple[float, float]) -> str:
    """Return the interval of a difference, without its unit; empty without one."""
    if test.low is None or test.high is None:
        return ""
    return f"{signed_text(test.low, scale)} to {signed_text(test.high, scale)}"


def signed_text(difference: float, scale: tuple[float, float]) -> str:
    """Return the number of a difference; of shares in points of a hundred, without the unit."""
    is_share = tuple(scale) == SHARE_SCALE
    number = f"{abs(difference) * 100:.0f}" if is_share else f"{abs(difference):.2f}"
    sign = "" if not float(number) else "+" if difference > 0 else MINUS
    return f"{sign}{number}"

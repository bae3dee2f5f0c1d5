"""Words for verdicts, scores and judges, and the tones of labels.

What is undecided or unscored, a value, a bounded score, an interval and a judge's name read alike
on the terminal, the page, in Markdown, CSV and LaTeX: all of them take their words from here.
"""

from __future__ import annotations

import math
from typing import Literal

from ragassay.metrics.stats.leaderboard import PairTest
from ragassay.records import Failure, FailureReason, Finding, MissingState, Score, VerdictBase

Tone = Literal["good", "plain", "weak", "bad"] | MissingState

UNDECIDED: MissingState = "undecided"
"""The judge cannot tell."""
UNSCORED: MissingState = "unscored"
"""There is no verdict, for any other reason."""

LABEL_TONES: dict[str, Tone] = {
    "required": "good",
    "borderline": "plain",
    "unnecessary": "weak",
    "inappropriate": "bad",
    "supports": "good",
    "neutral": "plain",
    "not_relevant": "weak",
    "contradicts": "bad",
    "invalid": "bad",
    "not_attributable": "weak",
    "correct": "good",
    "not_supported": "weak",
    "support": "good",
    "partial_support": "plain",
    "not_support": "weak",
    "stated": "good",
    "missed": "weak",
}

FAILURE_REASONS: dict[FailureReason, str] = {
    "rate_limit": "rate limit",
    "timeout": "time-out",
    "server_error": "server error",
    "connection": "no connection",
    "unparsable": "unparsable reply",
    "cut": "reply cut",
    "refused": "refused",
    "too_long": "prompt too long",
    "no_evidence": "no evidence found",
    "unresolved": "not resolved",
    "empty_answer": "empty answer",
    "undecided": UNDECIDED,
    "error": "error",
}

NBSP = "\u00a0"
EN_DASH = "\u2013"
MINUS = "\u2212"
NOT_DEFINED = "n/a"
SHARE_SCALE = (0.0, 1.0)
NOT_JUDGED = f"{UNSCORED} (not judged)"


def label_text(label: str) -> str:
    """Return a label as words: "not_relevant" becomes "not relevant"."""
    return label.replace("_", " ")


def label_tone(label: str | None, failure: Failure | None = None) -> Tone:
    """Return a label's tone; without one the failure's state, of an unknown label "plain"."""
    if label is None:
        return failure.state if failure else UNSCORED
    return LABEL_TONES.get(label, "plain")


def reason_text(reason: str) -> str:
    """Return a failure's reason as words."""
    return {**FAILURE_REASONS}.get(reason, label_text(reason))


def unscored_text(failure: Failure | None, tentative_label: str | None = None) -> str:
    """Return the text in place of a missing verdict: "unscored (time-out)", or "undecided"."""
    if failure and failure.is_undecided:
        return (
            f"{UNDECIDED}, leans to {label_text(tentative_label)}" if tentative_label else UNDECIDED
        )
    return f"{UNSCORED} ({reason_text(failure.reason)})" if failure else NOT_JUDGED


def count_missing(n_undecided: int, n_unscored: int, unscored: str = UNSCORED) -> list[str]:
    """Return the numbers of missing verdicts with their states, those above 0.

    Example:
        >>> count_missing(2, 1), count_missing(0, 3, "not to be had")
        (['2 undecided', '1 unscored'], ['3 not to be had'])
    """
    counts = ((n_undecided, UNDECIDED), (n_unscored, unscored))
    return [f"{n:,} {state}" for n, state in counts if n]


def judge_text(judge: str) -> str:
    """Return who judged; "no model asked" without a judge."""
    return judge or "no model asked"


def judged_by_text(judge: str) -> str:
    """Return who judged, after the name of what was judged."""
    return f"judged by {judge}" if judge else judge_text(judge)


def decided_text(verdict: VerdictBase) -> str:
    """Name the judge that decided, and the first judge's verdict; "" if one judge was sure."""
    escalation = verdict.escalation
    if escalation is None:
        return ""
    if escalation.failure is not None:
        reason = reason_text(escalation.failure.reason)
        return f"{escalation.judge} gave no verdict ({reason})"
    before: VerdictBase | None = getattr(verdict, "escalated_from", None)
    before_text = f"; the first judge: {value_text(before)}" if before is not None else ""
    return f"decided by {escalation.judge}{before_text}"


def detail_text(verdict: VerdictBase) -> str:
    """Return why there is no verdict, and which judge decided; "" for a sure judge."""
    why = verdict.failure.detail if verdict.failure else ""
    return " ".join(filter(None, (why, decided_text(verdict))))


def value_text(verdict: VerdictBase) -> str:
    """Return a verdict's value: a label in words, a number on its scale, or that it failed."""
    value = verdict.value
    if value is None:
        return unscored_text(verdict.failure, verdict.tentative_label)
    if isinstance(value, str):
        return label_text(value)
    low, high = getattr(verdict, "scale", SHARE_SCALE)
    return format_value(value, (float(low), float(high)))


def is_number(value: float | None) -> bool:
    """Return whether there is a finite number to show."""
    return value is not None and math.isfinite(value)


def share_of_scale(value: float | None, scale: tuple[float, float]) -> float | None:
    """Return how far up its scale a value is, in [0, 1]; None without a finite value."""
    low, high = scale
    if value is None or not math.isfinite(value):
        return None
    return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0


def format_share(share: float) -> str:
    r"""Return a share as per cent; a value near 0 or 1 is never rounded to it.

    Example:
        >>> format_share(0.9996)
        '>99.9\xa0%'
    """
    if 0 < share < 0.0005:
        return f"<0.1{NBSP}%"
    if 0.9995 <= share < 1:
        return f">99.9{NBSP}%"
    edge = 0 < share < 0.01 or 0.99 < share < 1
    return f"{share * 100 + 0.0:.{1 if edge else 0}f}{NBSP}%"


def format_value(value: float | None, scale: tuple[float, float] = SHARE_SCALE) -> str:
    """Return a number on its scale: per cent on 0 to 1, otherwise two decimals; or "n/a"."""
    if value is None or not math.isfinite(value):
        return NOT_DEFINED
    return format_share(value) if tuple(scale) == SHARE_SCALE else f"{value:.2f}"


def format_span(low: float | None, high: float | None, scale: tuple[float, float]) -> str:
    """Return two ends of a range, the unit once, as in "62-71 %"; "n/a" if an end is missing."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return NOT_DEFINED
    first, last = format_value(low, scale), format_value(high, scale)
    unit = f"{NBSP}%"
    if first.endswith(unit) and last.endswith(unit):
        first = first.removesuffix(unit)
    # A dash next to a minus sign would look like another minus.
    return f"{first}{' to ' if low < 0 else EN_DASH}{last}"


def decimals_text(value: float | None, digits: int = 3, is_signed: bool = False) -> str:
    """Return a number that is neither a share nor a rating, as "0.123" or "+0.123"; or "n/a"."""
    if value is None:
        return NOT_DEFINED
    return f"{value + 0.0:{'+' if is_signed else ''}.{digits}f}"


def decimals_span(score: Score | PairTest, digits: int = 3, is_signed: bool = False) -> str:
    """Return the 95 % interval of such a number; "n/a" where it has none."""
    if score.low is None or score.high is None:
        return NOT_DEFINED
    low, high = (decimals_text(end, digits, is_signed) for end in (score.low, score.high))
    # A dash next to a sign would look like another sign.
    return f"{low}{' to ' if is_signed or score.low < 0 else EN_DASH}{high}"


def precision_text(finding: Finding) -> str:
    """Return the measured precision of a finding of its kind, with its interval where known."""
    low, high = finding.precision_low, finding.precision_high
    interval = "" if None in (low, high) else f" ({format_span(low, high, (0, 1))})"
    return f"{format_share(finding.precision or 0.0)}{interval}"


def format_interval(score: Score) -> str:
    """Return the 95 % interval; "n/a" where undefined, and where only a range is known."""
    return NOT_DEFINED if score.is_open else format_span(score.low, score.high, score.scale)


def format_bounds(score: Score) -> str:
    """Return the range that unscored verdicts leave open; empty without any, or if it is shown.

    Which end is the worst depends on the direction, so both are named.
    """
    if not score.n_unscored or score.is_open:
        return ""
    worst, best = (format_value(end, score.scale) for end in (score.worst, score.best))
    return f"worst{NBSP}{worst}, best{NBSP}{best}"


def score_text(score: Score | None) -> str:
    """Return the value of a score, its range, or "unscored (reason)"."""
    if score is None:
        return NOT_JUDGED
    if is_number(score.value):
        return format_value(score.value, score.scale)
    if score.is_open and score.range is not None:
        return range_text(*score.range, score.scale)
    if score.n_unscored:
        return f"{UNSCORED} ({score.n_unscored} of {score.n + score.n_unscored} missing)"
    return f"{UNSCORED} (none to score)"


def range_text(low: float, high: float, scale: tuple[float, float]) -> str:
    """Return the least and largest value that a score can have: "0 to 83 %"."""
    first, last = format_value(low, scale), format_value(high, scale)
    unit = f"{NBSP}%"
    start = first.removesuffix(unit) if last.endswith(unit) else first
    return f"{start}{NBSP}to{NBSP}{last}"


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

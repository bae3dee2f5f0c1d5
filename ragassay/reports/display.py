"""Texts for verdicts, scores and judges, used on the terminal and in all report formats."""

from __future__ import annotations

import math
from typing import Literal

from ragassay.metrics.stats.leaderboard import PairTest
from ragassay.records import Failure, FailureReason, Finding, MissingState, Score, VerdictBase

Tone = Literal["good", "plain", "weak", "bad"] | MissingState

UNDECIDED: MissingState = "undecided"
"""State of a verdict that the judge could not decide."""
UNSCORED: MissingState = "unscored"
"""State of a verdict that is missing for another reason, such as a failed call."""

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


def format_label(label: str) -> str:
    """Replace underscores with spaces: "not_relevant" becomes "not relevant"."""
    return label.replace("_", " ")


def choose_label_tone(label: str | None, failure: Failure | None = None) -> Tone:
    """Return the tone of a label ("plain" if unknown), or the state of a missing verdict."""
    if label is None:
        return failure.state if failure else UNSCORED
    return LABEL_TONES.get(label, "plain")


def format_failure_reason(reason: str) -> str:
    """Return a failure reason as readable text."""
    return {**FAILURE_REASONS}.get(reason, format_label(reason))


def format_unscored(failure: Failure | None, tentative_label: str | None = None) -> str:
    """Return the text for a missing verdict, such as "unscored (time-out)" or "undecided"."""
    if failure and failure.is_undecided:
        return (
            f"{UNDECIDED}, tentatively {format_label(tentative_label)}"
            if tentative_label
            else UNDECIDED
        )
    return f"{UNSCORED} ({format_failure_reason(failure.reason)})" if failure else NOT_JUDGED


def count_missing(n_undecided: int, n_unscored: int, unscored: str = UNSCORED) -> list[str]:
    """Return the nonzero counts of missing verdicts with their states.

    Example:
        >>> count_missing(2, 1), count_missing(0, 3, "not to be had")
        (['2 undecided', '1 unscored'], ['3 not to be had'])
    """
    counts = ((n_undecided, UNDECIDED), (n_unscored, unscored))
    return [f"{n:,} {state}" for n, state in counts if n]


def format_judge(judge: str) -> str:
    """Return the judge's name, or "no model used" if there is no judge."""
    return judge or "no model used"


def format_judged_by(judge: str) -> str:
    """Return "judged by" followed by the judge's name, or "no model used"."""
    return f"judged by {judge}" if judge else format_judge(judge)


def describe_escalation(verdict: VerdictBase) -> str:
    """Describe the second judge's decision and the first verdict; "" if only one judge decided."""
    escalation = verdict.escalation
    if escalation is None:
        return ""
    if escalation.failure is not None:
        reason = format_failure_reason(escalation.failure.reason)
        return f"{escalation.judge} returned no verdict ({reason})"
    before: VerdictBase | None = getattr(verdict, "escalated_from", None)
    before_text = f", first judge: {format_verdict_value(before)}" if before is not None else ""
    return f"decided by {escalation.judge}{before_text}"


def describe_verdict_detail(verdict: VerdictBase) -> str:
    """Return the details of a failure and of a second judge's decision, "" if there are none."""
    why = verdict.failure.detail if verdict.failure else ""
    return " ".join(filter(None, (why, describe_escalation(verdict))))


def format_verdict_value(verdict: VerdictBase) -> str:
    """Return the label, the number or the failure of a verdict as text."""
    value = verdict.value
    if value is None:
        return format_unscored(verdict.failure, verdict.tentative_label)
    if isinstance(value, str):
        return format_label(value)
    low, high = getattr(verdict, "scale", SHARE_SCALE)
    return format_value(value, (float(low), float(high)))


def is_number(value: float | None) -> bool:
    """Return whether the value is a finite number."""
    return value is not None and math.isfinite(value)


def rescale_value(value: float | None, scale: tuple[float, float]) -> float | None:
    """Rescale a value from its scale to [0, 1], and clip it.

    Return None if the value is not finite.
    """
    low, high = scale
    if value is None or not math.isfinite(value):
        return None
    return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0


def format_share(share: float) -> str:
    r"""Format a share as a percentage. Only exactly 0 and 1 are shown as 0 % and 100 %.

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
    """Format a share as a percentage and other values with two decimals, or return "n/a"."""
    if value is None or not math.isfinite(value):
        return NOT_DEFINED
    return format_share(value) if tuple(scale) == SHARE_SCALE else f"{value:.2f}"


def format_span(low: float | None, high: float | None, scale: tuple[float, float]) -> str:
    """Format a range with one unit, such as "62-71 %", or return "n/a" if an end is missing."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return NOT_DEFINED
    first, last = format_value(low, scale), format_value(high, scale)
    unit = f"{NBSP}%"
    if first.endswith(unit) and last.endswith(unit):
        first = first.removesuffix(unit)
    # An en dash next to a minus sign looks like a second minus sign.
    return f"{first}{' to ' if low < 0 else EN_DASH}{last}"


def format_decimals(value: float | None, digits: int = 3, is_signed: bool = False) -> str:
    """Format a plain number such as "0.123" or "+0.123", or return "n/a"."""
    if value is None:
        return NOT_DEFINED
    return f"{value + 0.0:{'+' if is_signed else ''}.{digits}f}"


def format_decimals_span(score: Score | PairTest, digits: int = 3, is_signed: bool = False) -> str:
    """Format the 95 % interval of a plain number, or return "n/a"."""
    if score.low is None or score.high is None:
        return NOT_DEFINED
    low, high = (format_decimals(end, digits, is_signed) for end in (score.low, score.high))
    # An en dash next to a sign looks like a second sign.
    return f"{low}{' to ' if is_signed or score.low < 0 else EN_DASH}{high}"


def format_precision(finding: Finding) -> str:
    """Return the measured precision of findings of the same kind, with its interval if known."""
    low, high = finding.precision_low, finding.precision_high
    interval = "" if None in (low, high) else f" ({format_span(low, high, (0, 1))})"
    return f"{format_share(finding.precision or 0.0)}{interval}"


def format_interval(score: Score) -> str:
    """Format the 95 % interval, or return "n/a" if it is undefined or only a range is known."""
    return NOT_DEFINED if score.is_open else format_span(score.low, score.high, score.scale)


def format_bounds(score: Score) -> str:
    """Format the worst and best value that a score could have, given its unscored verdicts.

    Returns:
        Return "" if no verdict is unscored, or if the score is already shown as a range.
    """
    if not score.n_unscored or score.is_open:
        return ""
    worst, best = (format_value(end, score.scale) for end in (score.worst, score.best))
    return f"worst{NBSP}{worst}, best{NBSP}{best}"


def format_score(score: Score | None) -> str:
    """Format a score as a value, a range or "unscored (reason)"."""
    if score is None:
        return NOT_JUDGED
    if is_number(score.value):
        return format_value(score.value, score.scale)
    if score.is_open and score.range is not None:
        return format_range(*score.range, score.scale)
    if score.n_unscored:
        return f"{UNSCORED} ({score.n_unscored} of {score.n + score.n_unscored} missing)"
    return f"{UNSCORED} (none to score)"


def format_range(low: float, high: float, scale: tuple[float, float]) -> str:
    """Format the smallest and largest possible value of a score, such as "0 to 83 %"."""
    first, last = format_value(low, scale), format_value(high, scale)
    unit = f"{NBSP}%"
    start = first.removesuffix(unit) if last.endswith(unit) else first
    return f"{start}{NBSP}to{NBSP}{last}"


def format_difference(difference: float | None, scale: tuple[float, float]) -> str:
    """Format a signed difference, in percentage points for shares, otherwise with two decimals."""
    if difference is None:
        return NOT_DEFINED
    number = format_signed(difference, scale)
    return f"{number}{NBSP}points" if tuple(scale) == SHARE_SCALE else number


def format_difference_span(test: PairTest, scale: tuple[float, float]) -> str:
    """Format the interval of a difference without the unit. If there is no interval, return ""."""
    if test.low is None or test.high is None:
        return ""
    return f"{format_signed(test.low, scale)} to {format_signed(test.high, scale)}"


def format_signed(difference: float, scale: tuple[float, float]) -> str:
    """Format a signed difference without its unit, in percentage points for shares."""
    is_share = tuple(scale) == SHARE_SCALE
    number = f"{abs(difference) * 100:.0f}" if is_share else f"{abs(difference):.2f}"
    sign = "" if not float(number) else "+" if difference > 0 else MINUS
    return f"{sign}{number}"

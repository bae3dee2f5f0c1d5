"""Format the ratings, the agreement and the cost of judge panels and cascades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.metrics.stats.joint_judgments import DISPUTED_POINTS
from ragassay.records import (
    CascadeSummary,
    Judgment,
    PanelAgreement,
    PanelMember,
    PanelPair,
    Score,
    Usage,
)
from ragassay.reports.display import (
    format_interval,
    format_score,
    format_share,
    format_unscored,
    format_value,
    is_number,
)
from ragassay.reports.sheets import (
    Column,
    Sheet,
    Shown,
    build_number_columns,
    build_score_cell,
    build_text_columns,
    build_value_cell,
    format_count_or_none,
)
from ragassay.reports.text import count_text, find_question_title, join_words

INDEPENDENT = (
    "Only the initial ratings are independent, so their agreement shows how reliable the judges "
    "are. Agreement after the discussion shows how far the judges accepted each other's reasons."
)


ALIKE = 0.8
"""Chance-corrected agreement or error correlation at which a second judge starts to add little.

At this value, two judges are worth 1.1 independent ones. Krippendorff (2004) considers coders
interchangeable from this value on.
"""


@dataclass(frozen=True, slots=True)
class MemberView:
    """Rating by one judge of a panel; `before` is the initial rating, if it changed."""

    judge: str
    text: str
    before: str
    sentences: str
    rationale: str
    detail: str

    @property
    def line(self) -> str:
        """Rating and reason on one line."""
        rating = f"{self.judge} {self.text}{f' ({self.before})' if self.before else ''}"
        reason = " ".join(part for part in (self.rationale, self.detail) if part)
        return f"{rating}{self.sentences}: {reason}" if reason else f"{rating}{self.sentences}"


@dataclass(frozen=True, slots=True)
class PanelView:
    """Sentences about the agreement of the judges, with a table of judges."""

    lines: tuple[str, ...]
    sheet: Sheet


def view_members(judgment: Judgment) -> tuple[MemberView, ...]:
    """Return the rating by each panel judge, or an empty tuple for a single judge."""
    return tuple(map(_view_member, judgment.members))


def _view_member(member: Judgment) -> MemberView:
    text = format_unscored(member.failure)
    if member.score is not None:
        text = format_value(member.score, find_rating_scale(member))
    before = ""
    if member.first is not None and member.first.score is not None:
        scale = find_rating_scale(member.first)
        before = f"{format_value(member.first.score, scale)} before the discussion"
    pointing = format_sentence_numbers(member)
    return MemberView(
        judge=member.judge,
        text=text,
        before=before,
        sentences=f", {pointing}" if pointing else "",
        rationale=member.rationale,
        detail=member.failure.detail if member.failure else "",
    )


def find_rating_scale(judgment: Judgment) -> tuple[float, float]:
    """Return the lowest and highest rating of a judgment as floats."""
    low, high = judgment.scale
    return float(low), float(high)


def format_sentence_numbers(judgment: Judgment) -> str:
    """Return which sentences a judgment refers to, such as "sentences 3, 7", or ""."""
    numbers = ", ".join(map(str, judgment.sentences))
    return f"sentence{'s' * (len(judgment.sentences) > 1)} {numbers}" if numbers else ""


def view_panel(agreement: PanelAgreement | None) -> PanelView | None:
    """Describe the agreement of a panel for the report, or return None for a single judge."""
    if agreement is None:
        return None
    return PanelView(describe_panel(agreement), _build_members_sheet(agreement.members))


def describe_panel(agreement: PanelAgreement) -> tuple[str, ...]:
    """Describe the initial agreement, the disputes and the final agreement."""
    alone = (
        f"Without discussion, {_describe_agreement(agreement.exact_alone, agreement.alpha_alone)}"
    )
    alike = describe_redundancy(agreement.pairs, agreement.n_effective)
    if not agreement.n_disputed:
        return (alone, "No two judges differed by two points or more.", *alike)
    points = f"{DISPUTED_POINTS:g} points or more"
    disputes = (
        f"In {count_text(agreement.n_disputed, 'judgment')}, two judges differed by {points} and "
        f"read each other's reasons once. They repeated "
        f"{count_text(agreement.n_heard_again, 'rating')} and changed {agreement.n_moved:,}. This "
        f"resolved {agreement.n_resolved:,} of {count_text(agreement.n_disputed, 'dispute')}."
    )
    final = f"After the discussion, {_describe_agreement(agreement.exact, agreement.alpha)}"
    return alone, disputes, final, *alike


def describe_redundancy(pairs: Sequence[PanelPair], n_effective: float | None) -> tuple[str, ...]:
    """Describe how many independent judges the panel is worth, and which pairs are redundant."""
    if n_effective is None:
        return ()
    n = len({judge for pair in pairs for judge in (pair.first, pair.second)})
    subject, least = ("errors", "") if pairs[0].is_of_errors else ("ratings", "at least ")
    line = (
        f"Because their {subject} are correlated, the {n} judges are worth "
        f"{least}{n_effective:.1f} independent judges."
    )
    return line, *(_describe_redundant_pair(p) for p in pairs if (p.alike.value or 0.0) >= ALIKE)


def _describe_redundant_pair(pair: PanelPair) -> str:
    figure = f"{pair.alike.value:.2f}{_format_span(pair.alike)}"
    judges = f"{pair.first} and {pair.second}"
    if pair.is_of_errors:
        return (
            f"{judges} make similar errors (correlation {figure}), so the second judge adds little."
        )
    return (
        f"{judges} agree so often (alpha {figure}) that the second judge adds little, unless both "
        f"are right. Run `ragassay meta-evaluate` with human labels to find out."
    )


def _describe_agreement(exact: Score, alpha: Score) -> str:
    if not is_number(exact.value):
        return "no judgment has two ratings to compare."
    coefficient = "undefined" if alpha.value is None else f"{alpha.value:.2f}{_format_span(alpha)}"
    return (
        f"the judges gave the same rating in {format_score(exact)}{_format_span(exact)} of "
        f"{count_text(exact.n, 'judgment')}; Krippendorff's alpha (ordinal) is {coefficient}."
    )


def _format_span(score: Score) -> str:
    return "" if score.low is None or score.high is None else f" [{format_interval(score)}]"


def _build_members_sheet(members: Sequence[PanelMember]) -> Sheet:
    titles = ("Mean of all rubrics", "95 % interval", "Ratings", "Unscored", "Repeated")
    rows = tuple(
        (
            member.judge,
            build_score_cell(member.score, has_interval=False),
            format_interval(member.score),
            member.score.n,
            format_count_or_none(member.score.n_unscored),
            Shown(f"{member.n_heard_again:,}", notes=(f"{member.n_moved:,} changed",)),
        )
        for member in members
    )
    columns = (Column("", "Judge", has_names=True), *build_number_columns(*titles))
    return Sheet("Panel judges", columns, rows)


ESTIMATED = (
    "The estimated cost of asking the second judge every question is the mean cost of a call times "
    "the number of questions, computed separately for each kind of question."
)


@dataclass(frozen=True, slots=True)
class CascadeView:
    """Sentences about the cascade, with a table by kind of question."""

    lines: tuple[str, ...]
    sheet: Sheet


def view_cascade(cascade: CascadeSummary | None) -> CascadeView | None:
    """Describe the cascade of a run for the report, or return None if there is none."""
    if cascade is None:
        return None
    return CascadeView(describe_cascade(cascade), _build_parts_sheet(cascade))


def describe_cascade(cascade: CascadeSummary) -> tuple[str, ...]:
    """Describe the escalated verdicts, their cost, and the cost of escalating all questions."""
    n, n_kept = (sum(getattr(p, name) for p in cascade.parts) for name in ("n", "n_kept"))
    n_failed = sum(part.n_failed for part in cascade.parts)
    if not n:
        return (f"No questions were asked, so none were sent to {cascade.second}.",)
    lines = [
        f"Of {count_text(n, 'question')}, "
        f"{cascade.judge} decided {n_kept:,} ({format_share(n_kept / n)}). "
        f"{n - n_kept:,} were sent to {cascade.second} ({cascade.when})."
    ]
    if n_failed:
        lines.append(
            f"For {n_failed:,} of these questions, the second judge failed, and the first judge's "
            f"verdict is kept."
        )
    usage = cascade.usage
    lines.append(
        f"Cost of the second judge: {count_text(usage.n_calls, 'call')}, {format_tokens(usage)}, "
        f"{format_usd(usage.cost_usd)}. {_describe_full_cost(cascade)}"
    )
    return tuple(lines)


def _describe_full_cost(cascade: CascadeSummary) -> str:
    unknown = "The cost of sending every question to the second judge is unknown, because"
    if cascade.usage.cost_usd is None:
        return f"{unknown} the price of the second judge is not listed."
    if cascade.full_cost_usd is None:
        return f"{unknown} the second judge decided nothing."
    silent = [find_question_title(p.kind).lower() for p in cascade.parts if p.full_cost_usd is None]
    without = (
        f", without {join_words(silent)}, which the second judge never judged" if silent else ""
    )
    full = format_usd(cascade.full_cost_usd)
    return (
        f"Sending every question to the second judge would cost about {full} "
        f"(an estimate{without})."
    )


def format_tokens(usage: Usage) -> str:
    """Return the number of tokens sent and received as text."""
    return f"{usage.n_prompt_tokens:,} tokens sent and {usage.n_completion_tokens:,} received"


def format_usd(cost: float | None) -> str:
    """Format a price; None is shown as unknown, not as zero.

    Example:
        >>> format_usd(0.1234), format_usd(0.00001), format_usd(None)
        ('0.1234 USD', 'less than 0.0001 USD', 'price unknown')
    """
    if cost is None:
        return "price unknown"
    return "less than 0.0001 USD" if 0 < cost < 0.0001 else f"{cost:.4f} USD"


def _build_parts_sheet(cascade: CascadeSummary) -> Sheet:
    titles = (
        *("Asked", "First judge only", "Sent to second judge", "No second verdict"),
        *("Tokens", "Cost", "Estimated cost of sending all"),
    )
    rows = tuple(
        (
            find_question_title(part.kind),
            part.n,
            f"{part.n_kept:,} ({format_share(part.n_kept / part.n)})" if part.n else "0",
            build_value_cell(f"{part.n_escalated:,}", True),
            format_count_or_none(part.n_failed),
            part.usage.n_prompt_tokens + part.usage.n_completion_tokens,
            format_usd(part.usage.cost_usd),
            "unknown" if part.full_cost_usd is None else format_usd(part.full_cost_usd),
        )
        for part in cascade.parts
    )
    return Sheet(
        "Escalated questions",
        (*build_text_columns("Question"), *build_number_columns(*titles)),
        rows,
    )

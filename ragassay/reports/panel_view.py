"""Views of a panel and of a cascade of judges for a page: ratings, agreement, cost."""

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
    format_share,
    format_value,
    is_number,
    score_text,
    unscored_text,
)
from ragassay.reports.sheets import (
    Column,
    Sheet,
    Shown,
    none_text,
    numbers,
    score_cell,
    value_cell,
    words,
)
from ragassay.reports.text import count_text, join_words, question_title

INDEPENDENT = (
    "Only ratings that each judge gave alone are independent: their agreement shows how reliable "
    "the judges are. Later agreement shows how far they accepted each other's reasons."
)


ALIKE = 0.8
"""Least agreement beyond chance, or correlation of errors, at which a second judge adds little: two
count as 1.1. Krippendorff (2004) calls coders interchangeable from there."""


@dataclass(frozen=True, slots=True)
class MemberView:
    """One panel judge's rating; `before` is its first rating, if it changed."""

    judge: str
    text: str
    before: str
    sentences: str
    rationale: str
    detail: str

    @property
    def line(self) -> str:
        """The rating on one line."""
        rating = f"{self.judge} {self.text}{f' ({self.before})' if self.before else ''}"
        reason = " ".join(part for part in (self.rationale, self.detail) if part)
        return f"{rating}{self.sentences}: {reason}" if reason else f"{rating}{self.sentences}"


@dataclass(frozen=True, slots=True)
class PanelView:
    """The judges' agreement: sentences, and a row for each judge."""

    lines: tuple[str, ...]
    sheet: Sheet


def view_members(judgment: Judgment) -> tuple[MemberView, ...]:
    """Return each panel judge's rating on a rubric; empty for a single judge."""
    return tuple(_member(member) for member in judgment.members)


def _member(member: Judgment) -> MemberView:
    text = unscored_text(member.failure)
    if member.score is not None:
        text = format_value(member.score, scale_of(member))
    before = ""
    if member.first is not None and member.first.score is not None:
        before = (
            f"{format_value(member.first.score, scale_of(member.first))} before it read the others"
        )
    pointing = pointing_text(member)
    return MemberView(
        judge=member.judge,
        text=text,
        before=before,
        sentences=f", {pointing}" if pointing else "",
        rationale=member.rationale,
        detail=member.failure.detail if member.failure else "",
    )


def scale_of(judgment: Judgment) -> tuple[float, float]:
    """Return a judgment's scale, as `format_value` takes it."""
    low, high = judgment.scale
    return float(low), float(high)


def pointing_text(judgment: Judgment) -> str:
    """Return the sentences that a judgment names, e.g. "pointing to 3, 7"; "" if it names none."""
    numbers = ", ".join(map(str, judgment.sentences))
    return f"pointing to {numbers}" if numbers else ""


def view_panel(agreement: PanelAgreement | None) -> PanelView | None:
    """Return the view of the judges' agreement; None for a single judge."""
    if agreement is None:
        return None
    return PanelView(panel_lines(agreement), _sheet(agreement.members))


def panel_lines(agreement: PanelAgreement) -> tuple[str, ...]:
    """Describe the agreement: of ratings given alone, the disputes, and of the final ratings."""
    alone = f"Judging alone, {_describe_agreement(agreement.exact_alone, agreement.alpha_alone)}"
    alike = alike_lines(agreement.pairs, agreement.n_effective)
    if not agreement.n_disputed:
        return (alone, "No two judges differed by two points or more.", *alike)
    points = f"{DISPUTED_POINTS:g} points or more"
    disputes = (
        f"In {count_text(agreement.n_disputed, 'judgment')}, two judges differed by {points}. They "
        f"read each other's reasons once: {count_text(agreement.n_heard_again, 'rating')} given "
        f"again, {agreement.n_moved:,} of them changed, {agreement.n_resolved:,} of the "
        f"{agreement.n_disputed:,} disputes ended."
    )
    final = f"After the discussion, {_describe_agreement(agreement.exact, agreement.alpha)}"
    return alone, disputes, final, *alike


def alike_lines(pairs: Sequence[PanelPair], n_effective: float | None) -> tuple[str, ...]:
    """Say how many independent judges a panel is worth, and which judge adds little to another.

    Args:
        n_effective: From `effective_judges`.
    """
    if n_effective is None:
        return ()
    n = len({judge for pair in pairs for judge in (pair.first, pair.second)})
    what, least = ("errors", "") if pairs[0].is_of_errors else ("ratings", "at least ")
    line = (
        f"Their {what} are correlated: the {n} judges are worth {least}{n_effective:.1f} "
        "independent ones."
    )
    return line, *(_alike(pair) for pair in pairs if (pair.alike.value or 0.0) >= ALIKE)


def _alike(pair: PanelPair) -> str:
    figure = f"{pair.alike.value:.2f}{_span(pair.alike)}"
    judges = f"{pair.first} and {pair.second}"
    if pair.is_of_errors:
        return f"{judges} make similar errors (correlation {figure}): the second adds little."
    return (
        f"{judges} agree so much (alpha {figure}) that the second adds little to the first, unless "
        "both are right. People's labels show which (`ragassay meta-evaluate`)."
    )


def _describe_agreement(exact: Score, alpha: Score) -> str:
    if not is_number(exact.value):
        return "no judgment had two ratings to compare."
    coefficient = "undefined" if alpha.value is None else f"{alpha.value:.2f}{_span(alpha)}"
    return (
        f"they gave the same rating in {score_text(exact)}{_span(exact)} of "
        f"{count_text(exact.n, 'judgment')}; Krippendorff's alpha (ordinal) {coefficient}."
    )


def _span(score: Score) -> str:
    return "" if score.low is None or score.high is None else f" [{format_interval(score)}]"


def _sheet(members: Sequence[PanelMember]) -> Sheet:
    titles = ("Mean of all rubrics", "95 % interval", "Ratings", "Unscored", "Given again")
    rows = tuple(
        (
            member.judge,
            score_cell(member.score, has_interval=False),
            format_interval(member.score),
            member.score.n,
            none_text(member.score.n_unscored),
            Shown(f"{member.n_heard_again:,}", notes=(f"{member.n_moved:,} changed",)),
        )
        for member in members
    )
    columns = (Column("", "Judge", has_names=True), *numbers(*titles))
    return Sheet("The judges of the panel", columns, rows)


ESTIMATED = (
    "The estimate for asking the second judge everything: for each kind of question, the mean cost "
    "of a call times the number of questions."
)


@dataclass(frozen=True, slots=True)
class CascadeView:
    """The cascade in sentences, and a row for each kind of question."""

    lines: tuple[str, ...]
    sheet: Sheet


def view_cascade(cascade: CascadeSummary | None) -> CascadeView | None:
    """Return the view of a run's cascade; None without one."""
    if cascade is None:
        return None
    return CascadeView(cascade_lines(cascade), _parts_sheet(cascade))


def cascade_lines(cascade: CascadeSummary) -> tuple[str, ...]:
    """Describe the cascade: the escalated verdicts, their cost, and the cost of asking for all."""
    n, n_kept = (sum(getattr(p, name) for p in cascade.parts) for name in ("n", "n_kept"))
    n_failed = sum(part.n_failed for part in cascade.parts)
    if not n:
        return (f"No question was asked, so none went to {cascade.second}.",)
    split = (
        f"Of {count_text(n, 'question')}, "
        f"{cascade.judge} decided {n_kept:,} ({format_share(n_kept / n)}). "
        f"{n - n_kept:,} went to {cascade.second} ({cascade.when})."
    )
    lines = [split]
    if n_failed:
        lines.append(
            f"{n_failed:,} of these got no second verdict: the first judge's verdict is kept."
        )
    usage = cascade.usage
    spent = (
        f"Cost of the second judge: {count_text(usage.n_calls, 'call')}, {tokens_text(usage)}, "
        f"{usd_text(usage.cost_usd)}. {_full_text(cascade)}"
    )
    return (*lines, spent)


def _full_text(cascade: CascadeSummary) -> str:
    """Return the cost of asking for all; kinds without an escalated verdict are named apart."""
    if cascade.usage.cost_usd is None:
        return "The cost of asking it everything is unknown: its price is not listed."
    silent = [question_title(p.kind).lower() for p in cascade.parts if p.full_cost_usd is None]
    if cascade.full_cost_usd is None:
        return "The cost of asking it everything is unknown: it decided nothing."
    without = f", without {join_words(silent)}, which it never judged" if silent else ""
    full = usd_text(cascade.full_cost_usd)
    return f"Asking it everything would cost about {full} (an estimate{without})."


def tokens_text(usage: Usage) -> str:
    """Return tokens sent and received in words."""
    return f"{usage.n_prompt_tokens:,} tokens sent and {usage.n_completion_tokens:,} received"


def usd_text(cost: float | None) -> str:
    """Return a price in words; an unknown one is never shown as nothing.

    Example:
        >>> usd_text(0.1234), usd_text(0.00001), usd_text(None)
        ('0.1234 USD', 'less than 0.0001 USD', 'price unknown')
    """
    if cost is None:
        return "price unknown"
    return "less than 0.0001 USD" if 0 < cost < 0.0001 else f"{cost:.4f} USD"


def _parts_sheet(cascade: CascadeSummary) -> Sheet:
    titles = (
        *("Asked", "First judge only", "Sent to the second", "Without a second verdict"),
        *("Tokens", "Cost", "Cost of sending all, estimated"),
    )
    rows = tuple(
        (
            question_title(part.kind),
            part.n,
            f"{part.n_kept:,} ({format_share(part.n_kept / part.n)})" if part.n else "0",
            value_cell(f"{part.n_escalated:,}", True),
            none_text(part.n_failed),
            part.usage.n_prompt_tokens + part.usage.n_completion_tokens,
            usd_text(part.usage.cost_usd),
            "unknown" if part.full_cost_usd is None else usd_text(part.full_cost_usd),
        )
        for part in cascade.parts
    )
    title = "Questions that the second judge was asked"
    return Sheet(title, (*words("Question"), *numbers(*titles)), rows)

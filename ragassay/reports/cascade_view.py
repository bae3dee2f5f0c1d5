"""View of a cascade for a page: the verdicts that each judge decided, and their cost."""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.records import Cascade, Usage
from ragassay.reports.display import (
    format_share,
)
from ragassay.reports.sheets import Sheet, none_text, numbers, value_cell, words
from ragassay.reports.text import count_text, join_words, question_title

ESTIMATED = (
    "The estimate for asking the second judge everything: for each kind of question, the mean cost "
    "of a call times the number of questions."
)


@dataclass(frozen=True, slots=True)
class CascadeView:
    """The cascade in sentences, and a row for each kind of question."""

    lines: tuple[str, ...]
    sheet: Sheet


def view_cascade(cascade: Cascade | None) -> CascadeView | None:
    """Return the view of a run's cascade; None without one."""
    if cascade is None:
        return None
    return CascadeView(cascade_lines(cascade), _sheet(cascade))


def cascade_lines(cascade: Cascade) -> tuple[str, ...]:
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


def _full_text(cascade: Cascade) -> str:
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


def _sheet(cascade: Cascade) -> Sheet:
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

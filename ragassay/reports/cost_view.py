"""View of a run's bill: what each part of the evaluation took, and the sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ragassay.records import FAILED_CALLS, Summary, Usage
from ragassay.reports.cascade_view import usd_text

COST_COLUMNS = (
    "Part",
    "Calls",
    "Tokens sent",
    "Read from a cache",
    "Written to a cache",
    "Tokens received",
    "USD",
)

COST_NOTE = (
    "Dollars by LiteLLM's price list, which prices tokens that the provider read from its cache, "
    "or wrote to it, as the provider does."
)

PART_TITLES: Mapping[str, str] = {
    "searches": "Searches for evidence",
    FAILED_CALLS: "Calls without a usable reply",
}
"""Titles of what is no part of an evaluation; a part has its own name."""


@dataclass(frozen=True, slots=True)
class CostRow:
    """One part of a bill; of the sum, `title` is "All"."""

    title: str
    n_calls: int
    n_sent: int
    n_cached: int
    n_written: int
    n_received: int
    usd: str


def view_costs(summary: Summary) -> tuple[CostRow, ...]:
    """Return a row a part, and the sum; none where no model was called, or nobody knows by what.

    The rows add up to the sum.
    """
    rows = [_row(part_title(part), usage) for part, usage in summary.usage_by_part.items()]
    return (*rows, _row("All", summary.usage)) if rows else ()


class Estimated(Protocol):
    """An estimate of a run's cost in USD; see `ragassay.runs.estimate.Estimate`."""

    @property
    def usd(self) -> float | None:
        """Without a cache."""
        ...

    @property
    def cached_usd(self) -> float | None:
        """With the provider's cache."""
        ...

    @property
    def batch_usd(self) -> float | None:
        """Through the provider's batch interface."""
        ...


def estimate_text(cost: Estimated) -> str:
    """Return the most that a run costs, in one line; empty where it costs nothing."""
    if cost.usd == 0:
        return ""
    if cost.usd is None:
        return "what they cost is unknown: LiteLLM's price list does not have the model"
    parts = [f"at most {usd_text(cost.usd)}, every reply at full length"]
    if cost.cached_usd is not None and cost.cached_usd < cost.usd:
        parts.append(f"{usd_text(cost.cached_usd)} with the provider's cache of prompts")
    if cost.batch_usd is not None:
        parts.append(f"{usd_text(cost.batch_usd)} at its batch price")
    return "; ".join(parts)


def part_title(part: str) -> str:
    """Return the title of a part.

    Example:
        >>> part_title("rubrics"), part_title("searches")
        ('Rubrics', 'Searches for evidence')
    """
    return PART_TITLES.get(part) or part[:1].upper() + part[1:].replace("_", " ")


def _row(title: str, usage: Usage) -> CostRow:
    return CostRow(
        title=title,
        n_calls=usage.n_calls,
        n_sent=usage.n_prompt_tokens,
        n_cached=usage.n_cached_tokens,
        n_written=usage.n_cache_write_tokens,
        n_received=usage.n_completion_tokens,
        usd="unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f}",
    )

"""View of a run's bill: what each part of the evaluation took, and the sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragassay.records import FAILED_CALLS, Summary, Usage

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

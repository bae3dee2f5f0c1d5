"""Judges' preferences for systems, their own included: in words, for the terminal, as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.metrics.ratings import Favourite
from ragassay.metrics.self_preference import SelfPreference, excess_verdict
from ragassay.records import Score
from ragassay.reports.tables import cell_text, plain_table
from ragassay.reports.tabular import csv_text
from ragassay.reports.text import NOT_DEFINED, join_words

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def verdict_text(found: SelfPreference) -> str:
    """Return the verdict in words, as "prefers its own by 0.30, seen against a and b"."""
    if found.verdict == "unknown":
        return "cannot be told: too few other judges, systems or questions"
    if found.verdict == "none_seen":
        return "no self-preference seen"
    by = f"{abs(found.excess.value or 0.0):.2f}"
    way = "prefers its own" if found.verdict == "prefers_own" else "rates its own lower"
    if len(found.against) < 2:
        return f"{way} by {by}"
    if not found.seen_against:
        return f"{way} by {by}, seen against no other system alone"
    only = " alone" if len(found.seen_against) == 1 else ""
    return f"{way} by {by}, seen against {join_words(found.seen_against)}{only}"


def self_preference_text(found: SelfPreference) -> str:
    """Return a judge's verdict on its own answers, as a sentence without its full stop."""
    if found.excess.value is None:
        return f"{found.judge} ({join_words(found.systems)}): {verdict_text(found)}"
    return (
        f"{found.judge}: {verdict_text(found)} (it rates {join_words(found.systems)} "
        f"{signed_text(found.own_gap.value)} against the others, the other judges "
        f"{signed_text(found.peer_gap.value)}; excess {signed_text(found.excess.value)}, "
        f"{_span(found.excess)})"
    )


def favourite_text(found: Favourite) -> str:
    """Return the system that a judge rates best, as a sentence without its full stop."""
    return (
        f"{found.judge} rates {found.system} best, {signed_text(found.margin.value)} before "
        f"{found.second} ({_span(found.margin)})"
    )


def favourite_table(favourites: Sequence[Favourite]) -> Table:
    """Return the best rated system of each judge, and its lead over the second."""
    table = plain_table(
        "Rated best", ("Judge", "System", "Before"), ("Margin", "95 % interval", "n")
    )
    for found in favourites:
        margin = found.margin
        words = (found.judge, found.system, found.second)
        bold = margin.low is not None and margin.low > 0
        numbers = (cell_text(_span(margin)), cell_text(f"{margin.n:,}"))
        table.add_row(*map(cell_text, words), _bold(margin, bold), *numbers)
    table.caption = cell_text("n counts pairs of question and rubric that were rated for both")
    return table


def self_preference_table(found: Sequence[SelfPreference]) -> Table:
    """Return each judge that is a system: its gap, the others' gap, the excess, the verdict."""
    table = plain_table(
        "Self-preference",
        ("Judge", "Verdict"),
        ("Own gap", "Others' gap", "Excess", "95 % interval", "n"),
    )
    for one in found:
        gaps = [cell_text(signed_text(score.value)) for score in (one.own_gap, one.peer_gap)]
        bold = one.verdict not in ("none_seen", "unknown")
        table.add_row(
            cell_text(one.judge),
            cell_text(verdict_text(one)),
            *gaps,
            _bold(one.excess, bold),
            cell_text(_span(one.excess)),
            cell_text(f"{one.excess.n:,}"),
        )
    table.caption = cell_text(
        "A gap is the mean for the judge's own answers minus that for the others'; the excess is "
        "the judge's gap minus the other judges'"
    )
    return table


def self_preference_csv(found: Sequence[SelfPreference]) -> str:
    """Return each judge that is a system, against all other systems and against each of them."""
    columns = (
        *("judge", "systems", "against", "verdict", "own_gap", "peer_gap", "excess"),
        *("low", "high", "n", "n_unscored"),
    )
    rows = [
        (
            *(one.judge, "; ".join(one.systems), against, excess_verdict(excess)),
            *(gap.value if gap else None for gap in gaps),
            *(excess.value, excess.low, excess.high, excess.n, excess.n_unscored),
        )
        for one in found
        for against, excess, gaps in (
            ("all", one.excess, (one.own_gap, one.peer_gap)),
            *((system, excess, (None, None)) for system, excess in one.against),
        )
    ]
    return csv_text(columns, rows)


def favourites_csv(favourites: Sequence[Favourite]) -> str:
    """Return the best rated system of each judge, one per row."""
    columns = ("judge", "system", "second", "margin", "low", "high", "n", "n_unscored")
    rows = [
        (
            *(one.judge, one.system, one.second, one.margin.value, one.margin.low),
            *(one.margin.high, one.margin.n, one.margin.n_unscored),
        )
        for one in favourites
    ]
    return csv_text(columns, rows)


def signed_text(value: float | None) -> str:
    """Return a difference, as "+0.30"."""
    return NOT_DEFINED if value is None else f"{value + 0.0:+.2f}"


def _span(score: Score) -> str:
    if score.low is None or score.high is None:
        return NOT_DEFINED
    return f"{signed_text(score.low)} to {signed_text(score.high)}"


def _bold(score: Score, bold: bool) -> Text:
    return cell_text(signed_text(score.value), "bold" if bold else "")

"""Judges' preferences for systems, their own included: in words, for the terminal, as CSV."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.metrics.ratings import Favourite
from ragassay.metrics.self_preference import SelfPreference, excess_verdict
from ragassay.records import Score
from ragassay.reports.sheets import Column, Sheet, Shown, csv_text, number, numbers, words
from ragassay.reports.text import decimals_span, decimals_text, join_words


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
        f"{_signed(found.own_gap.value)} against the others, the other judges "
        f"{_signed(found.peer_gap.value)}; excess {_signed(found.excess.value)}, "
        f"{_span(found.excess)})"
    )


def favourite_text(found: Favourite) -> str:
    """Return the system that a judge rates best, as a sentence without its full stop."""
    return (
        f"{found.judge} rates {found.system} best, {_signed(found.margin.value)} before "
        f"{found.second} ({_span(found.margin)})"
    )


def favourite_sheet(favourites: Sequence[Favourite]) -> Sheet:
    """Return the best rated system of each judge, and its lead over the second."""
    columns = (
        *(Column("judge", "Judge"), Column("system", "System"), Column("second", "Before")),
        *(number("margin", "Margin"), number("low"), number("high"), *numbers("95 % interval")),
        *(number("n", "n"), number("n_unscored")),
    )
    rows = tuple(
        (
            *(one.judge, one.system, one.second),
            _cell(one.margin, one.margin.low is not None and one.margin.low > 0),
            *(one.margin.low, one.margin.high, _span(one.margin)),
            *(one.margin.n, one.margin.n_unscored),
        )
        for one in favourites
    )
    caption = "n counts pairs of question and rubric that were rated for both"
    return Sheet("Rated best", columns, rows, caption)


def self_preference_sheet(found: Sequence[SelfPreference]) -> Sheet:
    """Return each judge that is a system: its gap, the others' gap, the excess, the verdict."""
    rows = tuple(
        (
            *(one.judge, verdict_text(one), _cell(one.own_gap), _cell(one.peer_gap)),
            _cell(one.excess, one.verdict not in ("none_seen", "unknown")),
            *(_span(one.excess), one.excess.n),
        )
        for one in found
    )
    titles = ("Own gap", "Others' gap", "Excess", "95 % interval", "n")
    caption = (
        "A gap is the mean for the judge's own answers minus that for the others'; the excess is "
        "the judge's gap minus the other judges'"
    )
    columns = (*words("Judge", "Verdict"), *numbers(*titles))
    return Sheet("Self-preference", columns, rows, caption)


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


def _cell(score: Score, is_clear: bool = False) -> Shown:
    style = "strong" if is_clear else ""
    return Shown(_signed(score.value), score.value, style)


def _signed(value: float | None) -> str:
    return decimals_text(value, 2, is_signed=True)


def _span(score: Score) -> str:
    return decimals_span(score, 2, is_signed=True)

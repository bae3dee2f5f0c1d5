"""Measure whether a judge rates its own answers higher than other judges do, and show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragassay.errors import InputError
from ragassay.records import Score
from ragassay.reports.display import decimals_span, decimals_text
from ragassay.reports.sheets import Column, Sheet, Shown, csv_text, number, numbers, words
from ragassay.reports.text import join_words
from ragassay.studies.ratings import Favourite, RatingTable, difference_score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SelfVerdict = Literal["none_seen", "prefers_own", "prefers_others", "unknown"]


@dataclass(frozen=True)
class SelfPreference:
    """A judge compared with other judges on its own answers.

    All three means are over the same ratings: those of questions and rubrics for which this judge
    and another one both rated an answer of its own and one of another system.

    Attributes:
        judge: The judge.
        systems: The systems that are this judge.
        own_gap: Its ratings of its own answers minus its ratings of the others'.
        peer_gap: The same difference by the other judges.
        excess: The first minus the second.
        against: The excess against each of the other systems alone. A preference shows against most
            of them; where it shows against one only, the judge may be harder on that one.
    """

    judge: str
    systems: tuple[str, ...]
    own_gap: Score
    peer_gap: Score
    excess: Score
    against: tuple[tuple[str, Score], ...] = ()

    @property
    def verdict(self) -> SelfVerdict:
        """The verdict that the excess's interval allows; "unknown" where it is undefined."""
        return excess_verdict(self.excess)

    @property
    def seen_against(self) -> tuple[str, ...]:
        """The systems against which, taken alone, the verdict is the same."""
        return tuple(s for s, excess in self.against if excess_verdict(excess) == self.verdict)


def excess_verdict(excess: Score) -> SelfVerdict:
    """Return the verdict that an excess's interval allows; "unknown" where it is undefined."""
    if excess.low is None or excess.high is None:
        return "unknown"
    if excess.low > 0:
        return "prefers_own"
    return "prefers_others" if excess.high < 0 else "none_seen"


def self_preferences(
    table: RatingTable, own: Mapping[str, Sequence[str]]
) -> tuple[SelfPreference, ...]:
    """Measure the self-preference of every judge that is a system too.

    The excess is the mean of (r_j(o) - r_j(s)) - (r_k(o) - r_k(s)) over the judge's own systems o,
    the others s, the other judges k, and the questions and rubrics for which all four ratings r
    exist. Where no rating is missing, it is the difference of the differences of the matrix's
    means. A judge that uses more of the scale than the others has larger gaps, and so an excess
    without any preference: read it together with the two gaps.

    Args:
        table: All ratings.
        own: Each judge's own systems, from `own_systems`.

    Returns:
        In the order of the judges. The excess lies within twice the width of the scale; it has no
        value where there is no other judge or no other system.
    """
    return tuple(
        _measure_preference(table, judge, tuple(own[judge]))
        for judge in table.judges
        if own.get(judge)
    )


def own_systems(
    judges: Sequence[str], systems: Sequence[str], same: Sequence[tuple[str, str]] = ()
) -> dict[str, tuple[str, ...]]:
    """Return which judges are which systems.

    Names are compared without case and without the part before a slash: LiteLLM's provider, a
    model's publisher.

    Args:
        judges: Names of judges.
        systems: Names of systems.
        same: Further pairs of judge and system.

    Raises:
        InputError: A pair names no judge or no system.

    Example:
        >>> own_systems(["hosted_vllm/Qwen/Qwen2.5-72B"], ["qwen2.5-72b", "other"])
        {'hosted_vllm/Qwen/Qwen2.5-72B': ('qwen2.5-72b',)}
    """
    for judge, system in same:
        for name, known, what in ((judge, judges, "judge"), (system, systems, "system")):
            if name not in known:
                raise InputError(f"there is no {what} {name!r}; there are {', '.join(known)}")
    found = {
        judge: tuple(s for s in systems if _bare(s) == _bare(judge) or (judge, s) in same)
        for judge in judges
    }
    return {judge: names for judge, names in found.items() if names}


def _measure_preference(table: RatingTable, judge: str, systems: tuple[str, ...]) -> SelfPreference:
    rest = tuple(system for system in table.systems if system not in systems)
    mine, peers = _gaps(table, judge, systems, rest)
    return SelfPreference(
        judge,
        systems,
        difference_score(mine, table, judge),
        difference_score(peers, table, "the other judges"),
        difference_score(mine - peers, table, judge, most=2),
        tuple((system, _excess(table, judge, systems, system)) for system in rest),
    )


def _excess(table: RatingTable, judge: str, systems: tuple[str, ...], other: str) -> Score:
    mine, peers = _gaps(table, judge, systems, (other,))
    return difference_score(mine - peers, table, judge, most=2)


def _gaps(
    table: RatingTable, judge: str, systems: tuple[str, ...], others: tuple[str, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the judge's differences, and for each those of another judge, shape (n, n_units).

    Where one of the two is missing, both are nan.
    """
    import numpy as np

    place = table.judges.index(judge)
    mine, rest = table.values[place], np.delete(table.values, place, axis=0)
    pairs = [(table.systems.index(o), table.systems.index(s)) for o in systems for s in others]
    gaps = np.array(
        [(mine[o] - mine[s], peer[o] - peer[s]) for o, s in pairs for peer in rest], dtype=float
    ).reshape(-1, 2, len(table.units))
    both = np.isfinite(gaps).all(axis=1)
    own, peers = (np.where(both, gaps[:, side], np.nan) for side in (0, 1))
    return own, peers


def _bare(name: str) -> str:
    return name.rpartition("/")[2].lower()


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

"""The four scores of the nuggetizer: gold nuggets assigned to an answer by a judge.

With N the gold nuggets and N_v the vital ones (Pradeep et al. 2025, arXiv 2504.15068):

- strict_vital = |{n in N_v : a(n) = support}| / |N_v|
- strict_all = |{n in N : a(n) = support}| / |N|
- vital = (|{n in N_v : a(n) = support}| + |{n in N_v : a(n) = partial_support}| / 2) / |N_v|
- all = (|{n in N : a(n) = support}| + |{n in N : a(n) = partial_support}| / 2) / |N|
"""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import build_score, mean_of, round_score, share_interval
from ragassay.records import Assignment, Importance, Score

PARTIAL_CREDITS = {"strict_vital": 0.0, "strict_all": 0.0, "vital": 0.5, "all": 0.5}
"""Credit of a partly supported nugget, by score."""

Labels = Sequence[Assignment | None]


def assignment_credits(labels: Labels, vital: Sequence[bool]) -> dict[str, list[float | None]]:
    """Return the credit of each nugget that counts in a score, by score.

    Args:
        labels: shape (n_nuggets,); None where unscored.
        vital: shape (n_nuggets,).

    Returns:
        Credits in [0, 1]; None where unscored.

    Raises:
        InputError: The lengths differ.
    """
    if len(labels) != len(vital):
        raise InputError(
            f"{len(labels)} labels for {len(vital)} nuggets: there must be one for each nugget"
        )
    found: dict[str, list[float | None]] = {}
    for name, partial in PARTIAL_CREDITS.items():
        worth = {"support": 1.0, "partial_support": partial, "not_support": 0.0, None: None}
        wanted = vital if name.endswith("vital") else [True] * len(labels)
        found[name] = [worth[one] for one, counts in zip(labels, wanted, strict=True) if counts]
    return found


def assignment_values(labels: Labels, vital: Sequence[bool]) -> dict[str, float | None]:
    """Return the four scores, in [0, 1]; unscored nuggets are left out, None is a score of none.

    Raises:
        InputError: The lengths differ.

    Example:
        >>> assignment_values(["support", "not_support", "partial_support"], [True, True, False])
        {'strict_vital': 0.5, 'strict_all': 0.3333333333333333, 'vital': 0.5, 'all': 0.5}
    """
    credits = assignment_credits(labels, vital)
    return {name: mean_of(one for one in own if one is not None) for name, own in credits.items()}


def assignment_scores(
    labels: Labels, importance: Sequence[Importance | None], judge: str
) -> dict[str, Score]:
    """Return the four scores with bounds; an unscored nugget may be fully supported, or not at all.

    Args:
        labels: shape (n_nuggets,); None where unscored.
        importance: shape (n_nuggets,). A nugget without one counts among all nuggets only.
        judge: The model that assigned them.

    Returns:
        Keyed "nuggets.strict_vital", "nuggets.strict_all", "nuggets.vital", "nuggets.all"; without
        the vital ones where no nugget is vital, empty without nuggets.

    Raises:
        InputError: The lengths differ.
    """
    credits = assignment_credits(labels, [one == "vital" for one in importance])
    return {f"nuggets.{name}": _score(own, judge) for name, own in credits.items() if own}


def nuggetizer_scores(labels: Labels, importance: Sequence[Importance | None]) -> dict[str, Score]:
    """Return the four scores as the nuggetizer's own program gives them, for published tables.

    A nugget whose assignment failed counts as not supported, and an answer without nuggets, or
    without vital ones, has 0. `assignment_scores` leaves both out.

    Returns:
        Keyed "nuggetizer.strict_vital", "nuggetizer.strict_all", "nuggetizer.vital" and
        "nuggetizer.all".

    Raises:
        InputError: The lengths differ.

    Example:
        >>> nuggetizer_scores(["support", None], ["vital", "vital"])["nuggetizer.vital"].value
        0.5
    """
    known: Labels = [label or "not_support" for label in labels]
    vital = [one == "vital" for one in importance]
    return {
        f"nuggetizer.{name}": round_score(
            build_score(value or 0.0, sum(vital) if name.endswith("vital") else len(vital))
        )
        for name, value in assignment_values(known, vital).items()
    }


def _score(credits: Sequence[float | None], judge: str) -> Score:
    known = [one for one in credits if one is not None]
    n_unscored, total = len(credits) - len(known), sum(known)
    bounds = total / len(credits), (total + n_unscored) / len(credits)
    interval = share_interval(total, len(known))
    return round_score(
        build_score(mean_of(known), len(known), n_unscored, interval, bounds, judge=judge)
    )

"""The four scores of the nuggetizer: gold nuggets assigned to an answer by a judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ragassay.errors import InputError
from ragassay.metrics.stats.intervals import build_score, round_score, share_interval
from ragassay.records import Assignment, Importance, Score

STRICT: Mapping[Assignment, float] = {
    "support": 1.0,
    "partial_support": 0.0,
    "not_support": 0.0,
}
PARTIAL: Mapping[Assignment, float] = {
    "support": 1.0,
    "partial_support": 0.5,
    "not_support": 0.0,
}

Labels = Sequence[Assignment | None]


def strict_vital_score(labels: Labels, vital: Sequence[bool]) -> float | None:
    """Return the fraction of vital nuggets that the answer supports in full.

    V_strict = |{n in N_v : a(n) = support}| / |N_v|   (Pradeep et al. 2025, arXiv 2504.15068)

    Args:
        labels: shape (n_nuggets,); an unscored nugget is None and is left out.
        vital: shape (n_nuggets,).

    Returns:
        In [0, 1]; None where no vital nugget was scored.

    Raises:
        InputError: The lengths differ.

    Example:
        >>> strict_vital_score(["support", "not_support", "partial_support"], [True, True, False])
        0.5
    """
    return _mean(_credits(_pick_vital(labels, vital), STRICT))


def strict_all_score(labels: Labels) -> float | None:
    """Return the fraction of all nuggets that the answer supports in full.

    A_strict = |{n in N : a(n) = support}| / |N|   (Pradeep et al. 2025, arXiv 2504.15068)

    Args:
        labels: shape (n_nuggets,); an unscored nugget is None and is left out.

    Returns:
        In [0, 1]; None where no nugget was scored.

    Example:
        >>> strict_all_score(["support", "partial_support"])
        0.5
    """
    return _mean(_credits(labels, STRICT))


def vital_score(labels: Labels, vital: Sequence[bool]) -> float | None:
    """Return the mean credit of vital nuggets: 1 for support, 0.5 for partial support, else 0.

    V = (|{n in N_v : a(n) = support}| + |{n in N_v : a(n) = partial_support}| / 2) / |N_v|
    (Pradeep et al. 2025, arXiv 2504.15068)

    Args:
        labels: shape (n_nuggets,); an unscored nugget is None and is left out.
        vital: shape (n_nuggets,).

    Returns:
        In [0, 1]; None where no vital nugget was scored.

    Raises:
        InputError: The lengths differ.

    Example:
        >>> vital_score(["support", "partial_support"], [True, True])
        0.75
    """
    return _mean(_credits(_pick_vital(labels, vital), PARTIAL))


def all_score(labels: Labels) -> float | None:
    """Return the mean credit of all nuggets: 1 for support, 0.5 for partial support, else 0.

    A = (|{n in N : a(n) = support}| + |{n in N : a(n) = partial_support}| / 2) / |N|
    (Pradeep et al. 2025, arXiv 2504.15068)

    Args:
        labels: shape (n_nuggets,); an unscored nugget is None and is left out.

    Returns:
        In [0, 1]; None where no nugget was scored.

    Example:
        >>> all_score(["support", "partial_support", "not_support"])
        0.5
    """
    return _mean(_credits(labels, PARTIAL))


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
    vital = _pick_vital(labels, [one == "vital" for one in importance])
    chosen = {
        "nuggets.strict_vital": (vital, STRICT),
        "nuggets.strict_all": (labels, STRICT),
        "nuggets.vital": (vital, PARTIAL),
        "nuggets.all": (labels, PARTIAL),
    }
    return {key: _score(*parts, judge) for key, parts in chosen.items() if parts[0]}


def nuggetizer_scores(labels: Labels, importance: Sequence[Importance | None]) -> dict[str, Score]:
    """Return the four scores as the nuggetizer's own program gives them, for published tables.

    A nugget whose assignment failed counts as not supported, and an answer without nuggets, or
    without vital ones, has 0. `assignment_scores` leaves both out.

    Args:
        labels: shape (n_nuggets,); None where the assignment failed.
        importance: shape (n_nuggets,).

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
    values = {
        "strict_vital": (strict_vital_score(known, vital), sum(vital)),
        "strict_all": (strict_all_score(known), len(known)),
        "vital": (vital_score(known, vital), sum(vital)),
        "all": (all_score(known), len(known)),
    }
    return {
        f"nuggetizer.{name}": round_score(build_score(value or 0.0, n))
        for name, (value, n) in values.items()
    }


def _score(labels: Labels, worth: Mapping[Assignment, float], judge: str) -> Score:
    credits = _credits(labels, worth)
    n_unscored = len(labels) - len(credits)
    interval = share_interval(sum(credits), len(credits))
    bounds = sum(credits) / len(labels), (sum(credits) + n_unscored) / len(labels)
    n = len(credits)
    return round_score(build_score(_mean(credits), n, n_unscored, interval, bounds, judge=judge))


def _pick_vital(labels: Labels, vital: Sequence[bool]) -> Labels:
    if len(labels) != len(vital):
        raise InputError(
            f"{len(labels)} labels for {len(vital)} nuggets: there must be one for each nugget"
        )
    return [label for label, is_vital in zip(labels, vital, strict=True) if is_vital]


def _credits(labels: Iterable[Assignment | None], worth: Mapping[Assignment, float]) -> list[float]:
    return [worth[label] for label in labels if label is not None]


def _mean(credits: Sequence[float]) -> float | None:
    return sum(credits) / len(credits) if credits else None

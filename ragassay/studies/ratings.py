"""Compare judges' ratings of systems: means, each judge's favourite, and its self-preference."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import Matrix, clustered_score
from ragassay.metrics.stats.intervals import build_score, ratio_interval, round_score
from ragassay.records import Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Place = tuple[str, str]
"""An answer's id, and a rubric."""

ALL_RUBRICS = "all"
"""Key of the matrix over all rubrics."""


SelfVerdict = Literal["none_seen", "prefers_own", "prefers_others", "unknown"]


@dataclass(frozen=True)
class Rating:
    """One judge's rating of an answer (its id) on a rubric; `value` is None where it is missing."""

    judge: str
    system: str
    question: str
    answer: str
    rubric: str
    value: float | None
    scale: tuple[float, float] = (1.0, 5.0)


@dataclass(frozen=True)
class Favourite:
    """The system with a judge's highest mean, and the second.

    `margin` is their mean difference, over the questions and rubrics that the judge rated for both;
    its `n` counts them.
    """

    judge: str
    system: str
    second: str
    margin: Score


@dataclass(frozen=True)
class RatingTable:
    """Ratings arranged for comparisons that pair units: questions and rubrics.

    Attributes:
        judges, systems: In the order of first appearance.
        units: Question and rubric.
        values: shape (n_judges, n_systems, n_units), the mean over a system's answers to the
            question; nan where there is no rating.
        scale: The least and the greatest rating.
    """

    judges: tuple[str, ...]
    systems: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    values: NDArray[np.float64]
    scale: tuple[float, float]


def rating_matrix(
    ratings: Sequence[Rating],
    rubric: str | None = None,
    own: Mapping[str, Collection[str]] | None = None,
) -> Matrix:
    """Return the mean rating that each judge gives to each system.

    A mean is over ratings, as in the paper. A rating that another judge gave and this one did not
    is unscored; intervals resample questions.

    Args:
        ratings: At least one, all on the same scale, none twice.
        rubric: Only this one; None for all.
        own: Each judge that is also a system, with those systems.

    Raises:
        InputError: The ratings are not on the same scale.
    """
    import numpy as np

    chosen = [r for r in ratings if rubric in (None, r.rubric)]
    scale = _scale(chosen)
    judges, systems = _names(r.judge for r in ratings), _names(r.system for r in ratings)
    places: dict[str, dict[Place, str]] = {system: {} for system in systems}
    given: dict[tuple[str, str], dict[Place, float]] = {}
    for r in chosen:
        places[r.system][r.answer, r.rubric] = r.question
        if r.value is not None and np.isfinite(r.value):
            given.setdefault((r.judge, r.system), {})[r.answer, r.rubric] = r.value

    def cell(judge: str, system: str) -> Score:
        rated, units = given.get((judge, system), {}), sorted(places[system])
        questions = [places[system][unit] for unit in units]
        return clustered_score([rated.get(unit) for unit in units], questions, scale, judge)

    cells = tuple(tuple(cell(judge, system) for system in systems) for judge in judges)
    return Matrix(
        key=rubric or ALL_RUBRICS,
        title=f"Mean rating: {rubric.replace('_', ' ') if rubric else 'all rubrics'}",
        rows=judges,
        columns=systems,
        cells=cells,
        row_title="judge",
        column_title="system",
        unit="ratings",
        n_questions=len({r.question for r in chosen}),
        own=frozenset(
            (judges.index(judge), systems.index(system))
            for judge, same in (own or {}).items()
            for system in same
        ),
    )


def rating_table(ratings: Sequence[Rating]) -> RatingTable:
    """Arrange ratings by judge, system and unit.

    Raises:
        InputError: The ratings are not on the same scale.
    """
    import numpy as np

    judges, systems = _names(r.judge for r in ratings), _names(r.system for r in ratings)
    units = tuple(sorted({(r.question, r.rubric) for r in ratings}))
    place = {unit: i for i, unit in enumerate(units)}
    shape = (len(judges), len(systems), len(units))
    sums, counts = np.zeros(shape), np.zeros(shape)
    for r in ratings:
        if r.value is not None and np.isfinite(r.value):
            cell = judges.index(r.judge), systems.index(r.system), place[r.question, r.rubric]
            sums[cell] += r.value
            counts[cell] += 1
    with np.errstate(invalid="ignore"):
        return RatingTable(judges, systems, units, sums / counts, _scale(ratings))


def favourites(table: RatingTable) -> tuple[Favourite, ...]:
    """Return the system that each judge rates best; a judge of fewer than two systems has none."""
    import numpy as np

    found: list[Favourite] = []
    for judge, values in zip(table.judges, table.values, strict=True):
        rated = [i for i in range(len(table.systems)) if np.isfinite(values[i]).any()]
        means = {i: float(np.nanmean(values[i])) for i in rated}
        order = sorted(rated, key=lambda i: (-means[i], table.systems[i]))
        if len(order) < 2:
            continue
        first, second = order[:2]
        differences = (values[first] - values[second])[None]
        margin = difference_score(differences, table, judge)
        found.append(Favourite(judge, table.systems[first], table.systems[second], margin))
    return tuple(found)


def difference_score(
    differences: NDArray[np.float64], table: RatingTable, judge: str, most: int = 1
) -> Score:
    """Return the mean difference between ratings, with a bootstrap interval over questions.

    Args:
        differences: shape (n, n_units); nan where undefined.
        most: The largest possible difference, in widths of the scale.

    Returns:
        `n` counts units with a difference, `n_unscored` those without.
    """
    import numpy as np

    defined = np.isfinite(differences)
    sums = np.where(defined, differences, 0.0).sum(axis=0)
    counts = defined.sum(axis=0)
    kept = counts > 0
    questions = [unit[0] for unit, keep in zip(table.units, kept, strict=True) if keep]
    sizes = counts[kept].astype(float).tolist()
    interval = ratio_interval(sums[kept].tolist(), sizes, questions) if questions else None
    width = most * (table.scale[1] - table.scale[0])
    value = float(sums.sum() / counts.sum()) if questions else None
    n, n_unscored = len(questions), len(table.units) - len(questions)
    return round_score(
        build_score(value, n, n_unscored, interval, scale=(-width, width), judge=judge)
    )


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _scale(ratings: Sequence[Rating]) -> tuple[float, float]:
    scales = {r.scale: r.rubric for r in ratings}
    if len(scales) > 1:
        shown = ", ".join(
            f"{low:g} to {high:g} ({rubric})" for (low, high), rubric in scales.items()
        )
        raise InputError(f"ratings on several scales have no mean: {shown}; choose rubrics")
    return next(iter(scales), (1.0, 5.0))


@dataclass(frozen=True)
class SelfPreference:
    """A judge, which is also some of the systems, compared with other judges on its own answers.

    All three means are over the same ratings: those of questions and rubrics for which this judge
    and another one both rated an answer of its own and one of another system.

    Attributes:
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

    def excess(others: tuple[str, ...]) -> Score:
        own, theirs = _gaps(table, judge, systems, others)
        return difference_score(own - theirs, table, judge, most=2)

    return SelfPreference(
        judge,
        systems,
        own_gap=difference_score(mine, table, judge),
        peer_gap=difference_score(peers, table, "the other judges"),
        excess=excess(rest),
        against=tuple((system, excess((system,))) for system in rest),
    )


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

"""Compare judges by their mean ratings, favourite systems and self-preference."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import Matrix, build_clustered_score
from ragassay.metrics.stats.intervals import build_score, compute_ratio_interval, round_score
from ragassay.records import Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALL_RUBRICS = "all"


SelfVerdict = Literal["none_seen", "prefers_own", "prefers_others", "unknown"]


@dataclass(frozen=True)
class Rating:
    """A judge's rating of an answer on a rubric. `value` is None if there is no rating."""

    judge: str
    system: str
    question: str
    answer: str
    rubric: str
    value: float | None
    scale: tuple[float, float] = (1.0, 5.0)


@dataclass(frozen=True)
class Favourite:
    """Systems to which a judge gave the highest and second highest mean rating.

    `margin` is the mean difference between the two systems, over the questions and rubrics on which
    both were rated.
    """

    judge: str
    system: str
    second: str
    margin: Score


@dataclass(frozen=True)
class RatingTable:
    """Mean ratings by judge, system and unit. A unit is a question and a rubric.

    Attributes:
        values: Mean ratings, shape (n_judges, n_systems, n_units). NaN means missing.
        scale: Lowest and highest possible rating.
    """

    judges: tuple[str, ...]
    systems: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    values: NDArray[np.float64]
    scale: tuple[float, float]


def build_rating_matrix(
    ratings: Sequence[Rating],
    rubric: str | None = None,
    own: Mapping[str, Collection[str]] | None = None,
) -> Matrix:
    """Return the mean rating of each system by each judge.

    As in YESciEval, each rating has the same weight. For each judge, answers that only other judges
    rated count as unscored. Intervals are computed by resampling questions.

    Args:
        ratings: One or more ratings without duplicates, all on the same scale.

    Raises:
        InputError: If the ratings are not on the same scale.
    """
    import numpy as np

    used = [r for r in ratings if rubric in (None, r.rubric)]
    scale = _find_scale(used)
    judges, systems = _list_names(r.judge for r in ratings), _list_names(r.system for r in ratings)
    # Both are keyed by answer and rubric.
    questions: dict[str, dict[tuple[str, str], str]] = {system: {} for system in systems}
    values: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for r in used:
        questions[r.system][r.answer, r.rubric] = r.question
        if r.value is not None and np.isfinite(r.value):
            values.setdefault((r.judge, r.system), {})[r.answer, r.rubric] = r.value

    def build_cell(judge: str, system: str) -> Score:
        rated, units = values.get((judge, system), {}), sorted(questions[system])
        clusters = [questions[system][unit] for unit in units]
        return build_clustered_score([rated.get(unit) for unit in units], clusters, scale, judge)

    cells = tuple(tuple(build_cell(judge, system) for system in systems) for judge in judges)
    return Matrix(
        key=rubric or ALL_RUBRICS,
        title=f"Mean rating: {rubric.replace('_', ' ') if rubric else 'all rubrics'}",
        rows=judges,
        columns=systems,
        cells=cells,
        row_title="judge",
        column_title="system",
        unit="ratings",
        n_questions=len({r.question for r in used}),
        own=frozenset(
            (judges.index(judge), systems.index(system))
            for judge, same in (own or {}).items()
            for system in same
        ),
    )


def build_rating_table(ratings: Sequence[Rating]) -> RatingTable:
    """Arrange ratings by judge, system and unit (question and rubric).

    Raises:
        InputError: If the ratings are not on the same scale.
    """
    import numpy as np

    judges, systems = _list_names(r.judge for r in ratings), _list_names(r.system for r in ratings)
    units = tuple(sorted({(r.question, r.rubric) for r in ratings}))
    index = {unit: i for i, unit in enumerate(units)}
    shape = (len(judges), len(systems), len(units))
    sums, counts = np.zeros(shape), np.zeros(shape)
    for r in ratings:
        if r.value is not None and np.isfinite(r.value):
            cell = judges.index(r.judge), systems.index(r.system), index[r.question, r.rubric]
            sums[cell] += r.value
            counts[cell] += 1
    with np.errstate(invalid="ignore"):
        return RatingTable(judges, systems, units, sums / counts, _find_scale(ratings))


def find_favourites(table: RatingTable) -> tuple[Favourite, ...]:
    """Return the favourite system of each judge that rated at least two systems."""
    import numpy as np

    best: list[Favourite] = []
    for judge, values in zip(table.judges, table.values, strict=True):
        rated = [i for i in range(len(table.systems)) if np.isfinite(values[i]).any()]
        means = {i: float(np.nanmean(values[i])) for i in rated}
        order = sorted(rated, key=lambda i: (-means[i], table.systems[i]))
        if len(order) < 2:
            continue
        first, second = order[:2]
        differences = (values[first] - values[second])[None]
        margin = average_differences(differences, table, judge)
        best.append(Favourite(judge, table.systems[first], table.systems[second], margin))
    return tuple(best)


def average_differences(
    differences: NDArray[np.float64], table: RatingTable, judge: str, most: int = 1
) -> Score:
    """Return a mean difference of ratings, with an interval computed by resampling questions.

    Args:
        differences: Differences, shape (n, n_units). NaN means undefined.
        most: Largest possible difference, as a multiple of the width of the scale.

    Returns:
        The mean difference. `n` and `n_unscored` are the numbers of units (question and rubric)
        with and without a difference.
    """
    import numpy as np

    defined = np.isfinite(differences)
    sums = np.where(defined, differences, 0.0).sum(axis=0)
    counts = defined.sum(axis=0)
    used = counts > 0
    questions = [unit[0] for unit in itertools.compress(table.units, used)]
    sizes = counts[used].astype(float).tolist()
    interval = compute_ratio_interval(sums[used].tolist(), sizes, questions) if questions else None
    width = most * (table.scale[1] - table.scale[0])
    value = float(sums.sum() / counts.sum()) if questions else None
    n, n_unscored = len(questions), len(table.units) - len(questions)
    return round_score(
        build_score(value, n, n_unscored, interval, scale=(-width, width), judge=judge)
    )


def _list_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _find_scale(ratings: Sequence[Rating]) -> tuple[float, float]:
    scales = {r.scale: r.rubric for r in ratings}
    if len(scales) > 1:
        shown = ", ".join(
            f"{low:g} to {high:g} ({rubric})" for (low, high), rubric in scales.items()
        )
        raise InputError(
            f"ratings on different scales cannot be averaged: {shown}; select rubrics with the "
            "same scale"
        )
    return next(iter(scales), (1.0, 5.0))


@dataclass(frozen=True)
class SelfPreference:
    """Preference of a judge for its own answers, compared with other judges.

    All means are over the same questions and rubrics: those on which the judge and another judge
    rated both the judge's own answer and an answer by another system.

    Attributes:
        systems: Names of the systems that are the same model as the judge.
        own_gap: Mean rating of the judge's own answers minus the mean rating of other answers.
        against: Excess compared with each of the other systems alone. If only one of these is
            positive, the judge may rate that system low rather than prefer its own answers.
    """

    judge: str
    systems: tuple[str, ...]
    own_gap: Score
    peer_gap: Score
    excess: Score
    against: tuple[tuple[str, Score], ...] = ()

    @property
    def verdict(self) -> SelfVerdict:
        """Verdict on whether the judge prefers its own answers, from the interval of the excess."""
        return classify_excess(self.excess)

    @property
    def seen_against(self) -> tuple[str, ...]:
        """Systems for which the verdict is the same if only this system is compared."""
        return tuple(s for s, excess in self.against if classify_excess(excess) == self.verdict)


def classify_excess(excess: Score) -> SelfVerdict:
    """Return the verdict for an excess, which is "unknown" if the excess has no interval."""
    if excess.low is None or excess.high is None:
        return "unknown"
    if excess.low > 0:
        return "prefers_own"
    return "prefers_others" if excess.high < 0 else "none_seen"


def measure_self_preferences(
    table: RatingTable, own: Mapping[str, Sequence[str]]
) -> tuple[SelfPreference, ...]:
    """Measure the self-preference of each judge that is also a system.

    The excess is the mean of (r_j(o) - r_j(s)) - (r_k(o) - r_k(s)) over own systems o, other
    systems s, other judges k, and the questions and rubrics with all four ratings r. A judge whose
    ratings are more spread out has larger gaps than other judges, and therefore an excess even
    without self-preference. Interpret the excess together with the gaps.

    Returns:
        The self-preferences in the order of the judges. An excess is undefined if there is no other
        judge or no other system.
    """
    return tuple(
        _measure_preference(table, judge, tuple(own[judge]))
        for judge in table.judges
        if own.get(judge)
    )


def find_own_systems(
    judges: Sequence[str], systems: Sequence[str], same: Sequence[tuple[str, str]] = ()
) -> dict[str, tuple[str, ...]]:
    """Return the names of each judge's own systems, for judges that are also systems.

    The comparison of names ignores case and prefixes that end with a slash, such as a LiteLLM
    provider or a publisher. `same` lists additional pairs of judge and system.

    Raises:
        InputError: If a pair contains an unknown judge or system.

    Example:
        >>> find_own_systems(["hosted_vllm/Qwen/Qwen2.5-72B"], ["qwen2.5-72b", "other"])
        {'hosted_vllm/Qwen/Qwen2.5-72B': ('qwen2.5-72b',)}
    """
    for judge, system in same:
        for name, known, kind in ((judge, judges, "judge"), (system, systems, "system")):
            if name not in known:
                raise InputError(f"unknown {kind} {name!r}; use one of {', '.join(known)}")
    own = {
        judge: tuple(
            s for s in systems if _strip_prefix(s) == _strip_prefix(judge) or (judge, s) in same
        )
        for judge in judges
    }
    return {judge: names for judge, names in own.items() if names}


def _measure_preference(table: RatingTable, judge: str, systems: tuple[str, ...]) -> SelfPreference:
    rest = tuple(system for system in table.systems if system not in systems)
    mine, peers = _compute_gaps(table, judge, systems, rest)

    def compute_excess(others: tuple[str, ...]) -> Score:
        own, theirs = _compute_gaps(table, judge, systems, others)
        return average_differences(own - theirs, table, judge, most=2)

    return SelfPreference(
        judge,
        systems,
        own_gap=average_differences(mine, table, judge),
        peer_gap=average_differences(peers, table, "the other judges"),
        excess=compute_excess(rest),
        against=tuple((system, compute_excess((system,))) for system in rest),
    )


def _compute_gaps(
    table: RatingTable, judge: str, systems: tuple[str, ...], others: tuple[str, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return paired rating differences for a judge and for other judges, shape (n, n_units).

    If one of two paired differences is missing, both are NaN.
    """
    import numpy as np

    index = table.judges.index(judge)
    mine, rest = table.values[index], np.delete(table.values, index, axis=0)
    pairs = [(table.systems.index(o), table.systems.index(s)) for o in systems for s in others]
    gaps = np.array(
        [(mine[o] - mine[s], peer[o] - peer[s]) for o, s in pairs for peer in rest], dtype=float
    ).reshape(-1, 2, len(table.units))
    both = np.isfinite(gaps).all(axis=1)
    own, peers = (np.where(both, gaps[:, side], np.nan) for side in (0, 1))
    return own, peers


def _strip_prefix(name: str) -> str:
    return name.rpartition("/")[2].lower()

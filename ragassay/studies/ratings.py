"""Compare several judges' ratings of several systems: means, and each judge's favourite."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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


@dataclass(frozen=True)
class Rating:
    """One judge's rating of one answer on one rubric.

    Attributes:
        judge: The judge.
        system: The system that wrote the answer.
        question: The question.
        answer: The answer's id.
        rubric: The rubric's name.
        value: None where it is missing.
        scale: The least and the greatest rating.
    """

    judge: str
    system: str
    question: str
    answer: str
    rubric: str
    value: float | None
    scale: tuple[float, float] = (1.0, 5.0)


@dataclass(frozen=True)
class Favourite:
    """The system that a judge rates best.

    Attributes:
        judge: The judge.
        system: The system with the highest mean.
        second: The system with the second highest.
        margin: Mean difference between the two, over the questions and rubrics that the judge
            rated for both; `n` counts them.
    """

    judge: str
    system: str
    second: str
    margin: Score


@dataclass(frozen=True)
class RatingTable:
    """Ratings arranged for comparisons that pair questions and rubrics.

    Attributes:
        judges: In the order of first appearance.
        systems: In the order of first appearance.
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
    cells = tuple(
        tuple(_cell(given.get((judge, s), {}), places[s], scale, judge) for s in systems)
        for judge in judges
    )
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
        table: The table of the units.
        judge: The judge whose ratings they are.
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


def _cell(
    given: Mapping[Place, float],
    places: Mapping[Place, str],
    scale: tuple[float, float],
    judge: str,
) -> Score:
    units = sorted(places)
    values, questions = [given.get(unit) for unit in units], [places[unit] for unit in units]
    return clustered_score(values, questions, scale, judge)


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

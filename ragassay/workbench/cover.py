"""Rubric-Cover: the share of a test bank that a system's passages cover (Dietz 2024, 4.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from ragassay.errors import InputError
from ragassay.formats.items import Place, content_of
from ragassay.formats.problems import (
    Problem,
    describe_value,
    found_text,
    is_object,
    join_path,
    nothing_in,
)
from ragassay.formats.retrieval import RetrievalRun, read_columns
from ragassay.formats.topics import whole_bytes
from ragassay.formats.values import parse_json
from ragassay.formats.workbench.paragraphs import QueryParagraphs
from ragassay.metrics.stats.intervals import build_score, mean_interval
from ragassay.records import Rejection, Score
from ragassay.workbench.grades import GradeFilter, grade_of

Rankings = Mapping[str, Mapping[str, Mapping[str, int]]]
"""System to query to passage to rank, best passage first."""


def rankings_in(queries: Sequence[QueryParagraphs]) -> Rankings:
    """Return the rankings that a graded file has.

    A passage that a system ranks twice, as for two facets, has its best rank. Passages of the same
    rank, as of a generated text, keep the file's order.
    """
    found: dict[str, dict[str, dict[str, int]]] = {}
    for query in queries:
        for one in query.paragraphs:
            for ranking in one.paragraph_data.rankings:
                ranks = found.setdefault(ranking.method, {}).setdefault(query.query_id, {})
                best = min(ranking.rank, ranks.get(one.paragraph_id, ranking.rank))
                ranks[one.paragraph_id] = best
    return {
        system: {
            query: dict(sorted(ranks.items(), key=lambda pair: pair[1]))
            for query, ranks in by_query.items()
        }
        for system, by_query in found.items()
    }


def rankings_of(runs: Iterable[RetrievalRun]) -> Rankings:
    """Return the rankings of run files: by score, as trec_eval does, equal scores by id descending.

    Raises:
        InputError: Two runs have the same tag.
    """
    found: dict[str, dict[str, dict[str, int]]] = {}
    for run in runs:
        if run.tag in found:
            raise InputError(f"two runs have the tag {run.tag!r}: each system needs its own")
        found[run.tag] = {}
        for query, ranking in run.rankings.items():
            order = sorted(ranking, key=lambda one: (one.score, one.id), reverse=True)
            found[run.tag][query] = {one.id: rank for rank, one in enumerate(order, start=1)}
    return found


def read_official(path: Path) -> tuple[dict[str, float], list[Rejection]]:
    """Read an official leaderboard, as scores: higher is better.

    Args:
        path: JSON `{system: rank}`, 1 the best; or two columns, system and score.

    Returns:
        Scores by system, and what could not be read. Ranks are negated, so that the best rank is
        the highest score.

    Raises:
        InputError: The file cannot be opened, or has no system.
    """
    if path.name.endswith(".json"):
        return _ranks(path)
    scores: dict[str, float] = {}

    def add(number: int, columns: list[str]) -> Problem | None:
        if len(columns) != 2:
            return Problem("", f"found {len(columns)} columns", "`system score`")
        score = _number(columns[1])
        if score is None and number == 1:
            return None
        if score is None:
            return Problem("score", f"found {describe_value(columns[1])}", "a number")
        if columns[0] in scores:
            text = f"{found_text(columns[0])} is there above, with the score that counts"
            return Problem("system", text, "each system once")
        scores[columns[0]] = score
        return None

    rejections = read_columns(path, add)
    if not scores:
        raise nothing_in(path, "system", rejections)
    return scores, rejections


def _ranks(path: Path) -> tuple[dict[str, float], list[Rejection]]:
    value = parse_json(whole_bytes(path))
    if isinstance(value, Problem) or not is_object(value) or not value:
        raise InputError(f"{path}: expected one object {{system: rank}}")
    ranks = {name: _number(rank) for name, rank in value.items()}
    rejections = [
        Place(str(path), 0, name, content_of({name: value[name]})).reject(
            Problem(join_path((name,)), f"found {describe_value(value[name])}", "a rank: a number")
        )
        for name, rank in ranks.items()
        if rank is None
    ]
    scores = {name: -rank for name, rank in ranks.items() if rank is not None}
    if not scores:
        raise nothing_in(path, "system", rejections)
    return scores, rejections


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


OVERALL = "_overall_"
"""The name of what all graded passages of a query cover together."""


@dataclass(frozen=True)
class OriginalCover:
    """The original's four numbers (EXAM and n-EXAM), defined as its program has them.

    A query whose items nobody covers has an n-EXAM of 0; a grader without ratings has an EXAM of 0
    at any minimum rating; an item without a grade is not counted; the standard error of one query
    is 0.
    """

    exam: float
    exam_se: float
    n_exam: float
    n_exam_se: float


@dataclass(frozen=True)
class SystemCover:
    """The share of the test banks that a system covers.

    Attributes:
        system: Its name, or `OVERALL`.
        cover: Mean over queries of covered items by asked items. `n` counts the items of all
            queries that have a verdict, `n_unscored` those that have none and are left out.
        cover_se: Its standard error over queries; None for fewer than two.
        normalised: Mean over queries of covered items by the items that any graded passage covers;
            a query where none is covered has no value and is left out. None where all are.
        n_queries: Queries for which the system has a passage in the top k.
        n_ungraded: Passages in the top k without a grade: they cover nothing.
    """

    system: str
    cover: Score
    cover_se: float | None
    normalised: Score
    normalised_se: float | None
    n_queries: int
    n_ungraded: int
    original: OriginalCover


@dataclass(frozen=True)
class _CoverItems:
    """The items of some passages: asked, covered by one of them, without a verdict."""

    asked: frozenset[str]
    covered: frozenset[str]
    unscored: frozenset[str]

    @staticmethod
    def of(grades: Iterable[Mapping[str, bool | None]]) -> _CoverItems:
        """Return the items of passages by their verdicts on each."""
        pairs = [pair for grade in grades for pair in grade.items()]
        covered = frozenset(item for item, verdict in pairs if verdict)
        unscored = frozenset(item for item, verdict in pairs if verdict is None) - covered
        return _CoverItems(frozenset(item for item, _ in pairs), covered, unscored)


@dataclass(frozen=True)
class _QueryCover:
    """One query of one system.

    Attributes:
        others: Of the passages that are not the system's.
        n_verdicts: Items that some passage has a verdict on.
    """

    own: _CoverItems
    every: _CoverItems
    others: _CoverItems
    n_verdicts: int


def rubric_cover(
    queries: Sequence[QueryParagraphs],
    chosen: GradeFilter,
    k: int = 20,
    min_rating: int | None = None,
    rankings: Rankings | None = None,
) -> tuple[SystemCover, ...]:
    """Return what each system covers with its top k passages.

    Cover@k = |{items that a passage of rank k or better covers}| / |{items asked}|, a mean over
    queries (Dietz 2024, 4.5; EXAM in Sander and Dietz 2021). An item that the system's passages do
    not cover and that one of them has no grade for is unscored: it is left out of both counts, and
    worst and best case count it as missed and as covered.

    The original's numbers are in `original`. `cover` and `normalised` equal them where every item
    has a grade, every query has an item that somebody covers, and ratings are there where a minimum
    is asked for. On the oracles' data they differ for a minimum of 5 (nobody covers an item of one
    query: n-EXAM@20 of system-a's questions is .646, `normalised` of the seven others .738) and for
    any minimum of the classes without ratings (EXAM 0, `cover` None).

    Args:
        chosen: The grades that count; of several for a passage the first does.
        k: The last rank that counts.
        min_rating: The least rating that covers an item; None takes what is marked as correct.
        rankings: Of the systems; by default those in the file.

    Returns:
        `OVERALL` first, then systems by name.

    Example:
        >>> rubric_cover([], GradeFilter())
        ()
    """
    ranked = rankings_in(queries) if rankings is None else rankings
    found: dict[str, list[_QueryCover]] = {}
    n_ungraded: dict[str, int] = {}
    for query in queries:
        grades = {
            one.paragraph_id: grade.check_cover(min_rating)
            for one in query.paragraphs
            if (grade := grade_of(one, chosen)) is not None
        }
        tops = {
            name: [passage for passage, rank in by_query[query.query_id].items() if rank <= k]
            for name, by_query in sorted(ranked.items())
            if query.query_id in by_query
        }
        for name, top in {OVERALL: list(grades), **tops}.items():
            if top or name == OVERALL:
                found.setdefault(name, []).append(_query_cover(grades, top))
                missing = sum(passage not in grades for passage in top)
                n_ungraded[name] = n_ungraded.get(name, 0) + missing
    return tuple(_system(name, found[name], n_ungraded[name]) for name in found)


def _query_cover(
    grades: Mapping[str, Mapping[str, bool | None]], top: Sequence[str]
) -> _QueryCover:
    own = set(top)
    pairs = [pair for grade in grades.values() for pair in grade.items()]
    return _QueryCover(
        own=_CoverItems.of(grades[passage] for passage in top if passage in grades),
        every=_CoverItems.of(grades.values()),
        others=_CoverItems.of(grade for passage, grade in grades.items() if passage not in own),
        n_verdicts=len({item for item, verdict in pairs if verdict is not None}),
    )


def _system(name: str, queries: Sequence[_QueryCover], n_ungraded: int) -> SystemCover:
    cover, cover_se = _score(queries, lambda one: one.every.asked, lambda one: one.every.asked)
    normalised, normalised_se = _score(
        queries,
        lambda one: one.every.covered,
        lambda one: one.every.covered | (one.every.unscored & one.others.unscored),
    )
    return SystemCover(
        system=name,
        cover=cover,
        cover_se=cover_se,
        normalised=normalised,
        normalised_se=normalised_se,
        n_queries=len(queries),
        n_ungraded=n_ungraded,
        original=_original(name, queries),
    )


ItemSet = Callable[[_QueryCover], frozenset[str]]


def _score(
    queries: Sequence[_QueryCover], base: ItemSet, worst_base: ItemSet
) -> tuple[Score, float | None]:
    """Return a mean over queries and its standard error.

    Args:
        queries: Of one system.
        base: The items that the covered ones are divided by.
        worst_base: The same, if everything without a verdict were the worst for the system.
    """
    counted = [base(one) - one.own.unscored for one in queries]
    values = [
        len(one.own.covered) / len(items)
        for one, items in zip(queries, counted, strict=True)
        if items
    ]
    n_left_out = sum(len(base(one) & one.own.unscored) for one in queries)
    worst = [len(one.own.covered) / len(items) for one in queries if (items := worst_base(one))]
    best = [
        len(one.own.covered | one.own.unscored) / len(items)
        for one in queries
        if (items := base(one) | one.own.unscored)
    ]
    bounds = (fmean(worst) if worst else None, fmean(best) if best else None)
    score = build_score(
        fmean(values) if values else None,
        sum(map(len, counted)),
        n_left_out,
        mean_interval(values),
        bounds,
    )
    return score, standard_error(values)


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of a mean; None for fewer than two values.

    Example:
        >>> standard_error([0.0, 1.0])
        0.5
    """
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def _original(name: str, queries: Sequence[_QueryCover]) -> OriginalCover:
    exam = [_ratio(len(one.own.covered), one.n_verdicts) for one in queries]
    n_exam = [
        1.0 if name == OVERALL else _ratio(len(one.own.covered), len(one.every.covered))
        for one in queries
    ]
    return OriginalCover(
        exam=fmean(exam),
        exam_se=standard_error(exam) or 0.0,
        n_exam=fmean(n_exam),
        n_exam_se=standard_error(n_exam) or 0.0,
    )


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0

"""Compute Rubric-Cover, the share of test bank items that a system covers (Dietz 2024, 4.5)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from ragassay.errors import InputError
from ragassay.formats.items import Place, format_content
from ragassay.formats.problems import (
    Problem,
    build_empty_file_error,
    describe_value,
    is_object,
    join_path,
    quote_text,
)
from ragassay.formats.retrieval import RetrievalRun, read_columns
from ragassay.formats.topics import read_small_file
from ragassay.formats.values import parse_json
from ragassay.formats.workbench.paragraphs import QueryParagraphs
from ragassay.metrics.stats.intervals import build_score, compute_mean_interval
from ragassay.records import Rejection, Score
from ragassay.workbench.grades import GradeFilter, find_grade

Rankings = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Ranks, keyed by system, query id and passage id. Passages are ordered by rank."""


def collect_rankings(queries: Sequence[QueryParagraphs]) -> Rankings:
    """Return the rankings that a graded file contains.

    If a system ranks a passage several times (for example for two facets), the best rank is used.
    Passages with equal ranks keep their order in the file.
    """
    rankings: dict[str, dict[str, dict[str, int]]] = {}
    for query in queries:
        for paragraph in query.paragraphs:
            for ranking in paragraph.paragraph_data.rankings:
                ranks = rankings.setdefault(ranking.method, {}).setdefault(query.query_id, {})
                best = min(ranking.rank, ranks.get(paragraph.paragraph_id, ranking.rank))
                ranks[paragraph.paragraph_id] = best
    return {
        system: {
            query: dict(sorted(ranks.items(), key=lambda pair: pair[1]))
            for query, ranks in by_query.items()
        }
        for system, by_query in rankings.items()
    }


def build_run_rankings(runs: Iterable[RetrievalRun]) -> Rankings:
    """Return the rankings in run files, ordered by descending score and id, as trec_eval does.

    Raises:
        InputError: Two runs have the same tag.
    """
    rankings: dict[str, dict[str, dict[str, int]]] = {}
    for run in runs:
        if run.tag in rankings:
            raise InputError(f"two runs have the tag {run.tag!r}; give each system a unique tag")
        rankings[run.tag] = {}
        for query, ranking in run.rankings.items():
            order = sorted(ranking, key=lambda hit: (hit.score, hit.id), reverse=True)
            rankings[run.tag][query] = {hit.id: rank for rank, hit in enumerate(order, start=1)}
    return rankings


def read_official(path: Path) -> tuple[dict[str, float], list[Rejection]]:
    """Read an official leaderboard.

    Args:
        path: JSON file `{system: rank}` (1 is best), or file with columns system and score.

    Returns:
        Scores by system (higher is better), and the rejected entries. The score of a rank is the
        negated rank.

    Raises:
        InputError: The file cannot be opened, or has no systems.
    """
    if path.name.endswith(".json"):
        return _read_ranks(path)
    scores: dict[str, float] = {}

    def add(number: int, columns: list[str]) -> Problem | None:
        if len(columns) != 2:
            return Problem("", f"found {len(columns)} columns", "`system score`")
        score = _parse_number(columns[1])
        if score is None and number == 1:  # a header
            return None
        if score is None:
            return Problem("score", f"found {describe_value(columns[1])}", "a number")
        if columns[0] in scores:
            text = f"{quote_text(columns[0])} is a duplicate; the first score is used"
            return Problem("system", text, "each system only once")
        scores[columns[0]] = score
        return None

    rejections = read_columns(path, add)
    if not scores:
        raise build_empty_file_error(path, "system", rejections)
    return scores, rejections


def _read_ranks(path: Path) -> tuple[dict[str, float], list[Rejection]]:
    value = parse_json(read_small_file(path))
    if isinstance(value, Problem) or not is_object(value) or not value:
        raise InputError(f"{path}: expected a JSON object {{system: rank}}")
    ranks = {name: _parse_number(rank) for name, rank in value.items()}
    rejections = [
        Place(str(path), 0, name, format_content({name: value[name]})).reject(
            Problem(join_path((name,)), f"found {describe_value(value[name])}", "a number as rank")
        )
        for name, rank in ranks.items()
        if rank is None
    ]
    scores = {name: -rank for name, rank in ranks.items() if rank is not None}
    if not scores:
        raise build_empty_file_error(path, "system", rejections)
    return scores, rejections


def _parse_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


OVERALL = "_overall_"
"""Name used instead of a system's for all graded passages of a query together."""


@dataclass(frozen=True)
class OriginalCover:
    """EXAM and n-EXAM scores, computed as in the original program.

    n-EXAM is 0 for queries without covered items. EXAM is 0 if a minimum rating is set but the
    grader assigns no ratings. Items without a grade are ignored. The standard error of a single
    query is 0.
    """

    exam: float
    exam_se: float
    n_exam: float
    n_exam_se: float


@dataclass(frozen=True)
class SystemCover:
    """Test bank coverage of a system.

    Attributes:
        system: System name, or `OVERALL`.
        cover: Mean over queries of the share of items that the system covers. `n` counts the scored
            items of all queries, and `n_unscored` the items that are left out because they have no
            verdict.
        cover_se: Standard error of `cover` over queries, or None for fewer than two queries.
        normalised: Same as `cover`, but counts only items that some graded passage covers. Queries
            without covered items are left out.
        n_queries: Number of queries with a passage of this system in the top k.
        n_ungraded: Number of passages in the top k without a grade, which count as covering
            nothing.
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
    asked: frozenset[str]
    covered: frozenset[str]
    unscored: frozenset[str]

    @staticmethod
    def combine_verdicts(grades: Iterable[Mapping[str, bool | None]]) -> _CoverItems:
        """Combine the verdicts on several passages."""
        pairs = [pair for grade in grades for pair in grade.items()]
        covered = frozenset(item for item, verdict in pairs if verdict)
        unscored = frozenset(item for item, verdict in pairs if verdict is None) - covered
        return _CoverItems(frozenset(item for item, _ in pairs), covered, unscored)


@dataclass(frozen=True)
class _QueryCover:
    """Items of a query that a system's passages, all passages, and all other passages cover.

    Attributes:
        n_verdicts: Number of items with a verdict for at least one passage.
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
    """Compute the share of test bank items that each system's top k passages cover.

    Cover@k = |{items covered by a passage of rank k or better}| / |{items asked}|, averaged over
    queries (Dietz 2024, 4.5; called EXAM in Sander and Dietz 2021). An item is unscored if no
    passage of the system covers it and a grade is missing. The score leaves unscored items out. Its
    worst case counts them as missed, and its best case as covered.

    `original` contains the scores of the original program. `cover` and `normalised` equal those
    scores if all items are graded, each query has a covered item, and ratings exist whenever
    `min_rating` is set. For a query without covered items, the original program's n-EXAM is 0.

    Args:
        chosen: Filter that selects the first matching grade of each passage.
        k: Number of top-ranked passages to use for each system and query.
        min_rating: Lowest rating that covers an item, or None to use correctness.
        rankings: Rankings of the systems, by default the rankings in the graded file.

    Returns:
        Coverage of all passages together (`OVERALL`), then of each system, sorted by name.

    Example:
        >>> rubric_cover([], GradeFilter())
        ()
    """
    ranked = collect_rankings(queries) if rankings is None else rankings
    covers: dict[str, list[_QueryCover]] = {}
    n_ungraded: Counter[str] = Counter()
    for query in queries:
        grades = {
            paragraph.paragraph_id: grade.check_cover(min_rating)
            for paragraph in query.paragraphs
            if (grade := find_grade(paragraph, chosen)) is not None
        }
        tops = {
            name: [passage for passage, rank in by_query[query.query_id].items() if rank <= k]
            for name, by_query in sorted(ranked.items())
            if query.query_id in by_query
        }
        for name, top in {OVERALL: list(grades), **tops}.items():
            if top or name == OVERALL:
                covers.setdefault(name, []).append(_compute_query_cover(grades, top))
                n_ungraded[name] += sum(passage not in grades for passage in top)
    return tuple(_summarize(name, covers[name], n_ungraded[name]) for name in covers)


def _compute_query_cover(
    grades: Mapping[str, Mapping[str, bool | None]], top: Sequence[str]
) -> _QueryCover:
    own = set(top)
    pairs = [pair for grade in grades.values() for pair in grade.items()]
    return _QueryCover(
        own=_CoverItems.combine_verdicts(grades[passage] for passage in top if passage in grades),
        every=_CoverItems.combine_verdicts(grades.values()),
        others=_CoverItems.combine_verdicts(
            grade for passage, grade in grades.items() if passage not in own
        ),
        n_verdicts=len({item for item, verdict in pairs if verdict is not None}),
    )


def _summarize(name: str, queries: Sequence[_QueryCover], n_ungraded: int) -> SystemCover:
    cover, cover_se = _average_shares(
        queries, lambda one: one.every.asked, lambda one: one.every.asked
    )
    normalised, normalised_se = _average_shares(
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
        original=_compute_original(name, queries),
    )


ItemSet = Callable[[_QueryCover], frozenset[str]]


def _average_shares(
    queries: Sequence[_QueryCover], base: ItemSet, worst_base: ItemSet
) -> tuple[Score, float | None]:
    """Return the mean over queries of the share of covered items, and its standard error.

    Args:
        base: Function that returns the items of a query that form the denominator.
        worst_base: Function that returns the items in the denominator of the worst case.
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
        compute_mean_interval(values),
        bounds,
    )
    return score, standard_error(values)


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean, or None for fewer than two values.

    Example:
        >>> standard_error([0.0, 1.0])
        0.5
    """
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def _compute_original(name: str, queries: Sequence[_QueryCover]) -> OriginalCover:
    exam = [_compute_ratio(len(one.own.covered), one.n_verdicts) for one in queries]
    n_exam = [
        1.0 if name == OVERALL else _compute_ratio(len(one.own.covered), len(one.every.covered))
        for one in queries
    ]
    return OriginalCover(
        exam=fmean(exam),
        exam_se=standard_error(exam) or 0.0,
        n_exam=fmean(n_exam),
        n_exam_se=standard_error(n_exam) or 0.0,
    )


def _compute_ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0

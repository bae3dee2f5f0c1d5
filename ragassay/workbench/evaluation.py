"""Evaluate retrieval systems with the grades of their passages. Implements `ragassay grades`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ragassay.errors import InputError
from ragassay.formats.retrieval import (
    RetrievalRun,
    read_qrels,
    read_run,
    write_columns,
    write_qrels,
)
from ragassay.formats.workbench.paragraphs import QueryParagraphs
from ragassay.records import Rejection
from ragassay.runs.banks import GradedFile
from ragassay.workbench.cover import (
    OVERALL,
    Rankings,
    build_run_rankings,
    collect_rankings,
    read_official,
    rubric_cover,
)
from ragassay.workbench.evaluation_tables import CoverTable
from ragassay.workbench.grades import GradeFilter, select_grades
from ragassay.workbench.leaderboards import (
    RubricBoard,
    RubricQrels,
    TopicOf,
    add_official,
    build_facet_finder,
    build_rubric_boards,
    find_covered_items,
    get_query_topic,
    label_by_covered_count,
    label_by_highest_rating,
)

LabelBy = Literal["rating", "covered"]
"""What the label of a passage is: its highest rating, or its number of covered items."""

DEFAULT_MEASURES = ("nDCG@10", "RR")


def list_accepted_graders(file: GradedFile, chosen: GradeFilter) -> tuple[str, ...]:
    """Return the graders that a filter accepts, each as "PROMPT CLASS by MODEL".

    Raises:
        InputError: No grades match the filter.
    """

    def name_graders(accepted: GradeFilter) -> tuple[str, ...]:
        names = {
            f"{grade.prompt_class or 'unnamed prompt'} by {grade.model or 'unnamed model'}": 0
            for query in file.queries
            for paragraph in query.paragraphs
            for grade in select_grades(paragraph, accepted)
        }
        return tuple(names)

    names = name_graders(chosen)
    if not names:
        available = "; ".join(name_graders(GradeFilter())) or "none"
        raise InputError(f"no grades match the filter '{chosen}'; available graders: {available}")
    return names


@dataclass(frozen=True)
class SystemFiles:
    """Rankings, passage labels and official leaderboard that were read from separate files.

    Attributes:
        rankings: Rankings from run files, or None to use the rankings in the graded file.
        labels: Labels of passages, or None to derive labels from grades.
        official: Scores of the official leaderboard, or None if there is none.
    """

    rankings: Rankings | None = None
    labels: Mapping[str, Mapping[str, int]] | None = None
    official: Mapping[str, float] | None = None
    rejections: tuple[Rejection, ...] = ()


def read_system_files(
    runs: Sequence[Path] = (), qrels: Path | None = None, official: Path | None = None
) -> SystemFiles:
    """Read run files, passage labels and an official leaderboard.

    Args:
        runs: Paths of run files, and of folders with files that end in `.run`.
        official: Path of the official leaderboard. See `read_official`.

    Raises:
        InputError: A file cannot be opened or is empty, or the folders contain no run files.
    """
    paths = [
        path for run in runs for path in (sorted(run.glob("*.run")) if run.is_dir() else [run])
    ]
    if runs and not paths:
        raise InputError(f"no *.run files in {', '.join(map(str, runs))}")
    rejections: list[Rejection] = []

    def read_runs() -> Iterator[RetrievalRun]:
        for path in paths:
            run, rejected = read_run(path)
            rejections.extend(rejected)
            yield run

    rankings = build_run_rankings(read_runs()) if paths else None
    labels, bad_labels = read_qrels(qrels) if qrels else (None, [])
    scores, bad_scores = read_official(official) if official else (None, [])
    return SystemFiles(rankings, labels, scores, (*rejections, *bad_labels, *bad_scores))


def _get_rankings(queries: Sequence[QueryParagraphs], systems: SystemFiles) -> Rankings:
    rankings = collect_rankings(queries) if systems.rankings is None else systems.rankings
    if not rankings:
        raise InputError("the graded passages have no rankings; pass --runs RUN for each system")
    return rankings


def compute_cover_tables(
    file: GradedFile,
    chosen: GradeFilter,
    systems: SystemFiles = SystemFiles(),
    *,
    ks: Sequence[int] = (20,),
    min_ratings: Sequence[int] = (),
) -> tuple[CoverTable, ...]:
    """Compute Rubric-Cover for each cutoff and minimum rating.

    Args:
        systems: Official leaderboard, and rankings to use instead of those in the graded file.
        min_ratings: Lowest ratings that cover an item, with one table for each. By default, the
            tables use correctness and, if there are ratings, each minimum from 1 to 5.

    Raises:
        InputError: No grades match the filter, or there are no rankings.
    """
    list_accepted_graders(file, chosen)
    rankings = _get_rankings(file.queries, systems)
    tables: list[CoverTable] = []
    for k in ks:
        for least in min_ratings or (None, *(range(1, 6) if _has_ratings(file, chosen) else ())):
            rows = rubric_cover(file.queries, chosen, k, least, rankings)
            means = {row.system: row.cover.value for row in rows if row.system != OVERALL}
            official = systems.official
            correlation = None if official is None else add_official(means, official)
            tables.append(CoverTable(k, least, rows, correlation))
    return tuple(tables)


def _has_ratings(file: GradedFile, chosen: GradeFilter) -> bool:
    return any(
        grade.ratings is not None
        for query in file.queries
        for paragraph in query.paragraphs
        for grade in select_grades(paragraph, chosen)[:1]
    )


def compute_rubric_qrels(
    file: GradedFile,
    chosen: GradeFilter,
    by: LabelBy = "rating",
    min_rating: int | None = None,
    *,
    by_facet: bool = False,
) -> RubricQrels:
    """Label passages by their grades.

    Args:
        file: Graded passages. The test banks in the file, or else the item ids, name the facets.
        min_rating: Lowest rating that covers an item, if `by` is "covered".
        by_facet: Whether each facet of a query is a topic of its own.

    Raises:
        InputError: No grades match the filter, or ratings are required but missing.
    """
    list_accepted_graders(file, chosen)
    topic_of: TopicOf = build_facet_finder(file.banks) if by_facet else get_query_topic
    if by == "covered":
        return label_by_covered_count(file.queries, chosen, min_rating, topic_of)
    return label_by_highest_rating(file.queries, chosen, topic_of)


def write_rubric_qrels(found: RubricQrels, out: Path) -> int:
    """Write labels to a file in trec_eval format, and return their number.

    Raises:
        InputError: The file cannot be written.
    """
    write_qrels(found.labels, out)
    return sum(map(len, found.labels.values()))


def write_item_qrels(
    file: GradedFile, chosen: GradeFilter, out: Path, min_rating: int | None = None
) -> int:
    """Write which items each passage covers in ndeval format, and return the number of lines.

    Raises:
        InputError: No grades match the filter, or the file cannot be written.
    """
    list_accepted_graders(file, chosen)
    rows = [
        (query, item, passage, "1")
        for query, passages in find_covered_items(file.queries, chosen, min_rating).items()
        for passage, items in passages.items()
        for item in sorted(items)
    ]
    write_columns(rows, out)
    return len(rows)


def build_leaderboards(
    file: GradedFile | None,
    chosen: GradeFilter,
    systems: SystemFiles = SystemFiles(),
    *,
    measures: Sequence[str] = (),
    by: LabelBy = "rating",
    min_rating: int | None = None,
    skips_empty: bool = False,
) -> tuple[RubricBoard, ...]:
    """Rank systems by passage labels.

    Args:
        file: Graded passages, or None if `systems` has labels.
        systems: Official leaderboard, and labels and rankings to use instead of those in the graded
            file.
        measures: Names in ir_measures notation, by default `DEFAULT_MEASURES`.
        min_rating: Lowest rating that counts as relevant.
        skips_empty: Whether to skip queries without relevant passages instead of scoring them 0.

    Raises:
        InputError: There are no rankings, or a measure cannot be computed.
    """
    if (file is None) == (systems.labels is None):
        raise InputError("pass either graded passages or --qrels FILE")
    rankings = _get_rankings(file.queries if file else (), systems)
    subtopics = None
    n_uncertain = 0
    level = min_rating or 1
    labels = systems.labels or {}
    if file is not None:
        qrels = compute_rubric_qrels(file, chosen, by, min_rating)
        labels, n_uncertain = qrels.labels, qrels.n_unlabelled + qrels.n_uncertain
        least = level if by == "rating" else min_rating
        subtopics = find_covered_items(file.queries, chosen, least)
        level = level if by == "rating" else 1
    boards = build_rubric_boards(
        labels,
        rankings,
        list(measures or DEFAULT_MEASURES),
        level=level,
        subtopics=subtopics,
        official=systems.official,
        skips_empty=skips_empty,
    )
    return tuple(replace(board, n_uncertain=n_uncertain) for board in boards)

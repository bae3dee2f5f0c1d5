"""Evaluate systems by graded files: the work behind `ragassay grades`."""

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
    rankings_in,
    rankings_of,
    read_official,
    rubric_cover,
)
from ragassay.workbench.evaluation_tables import CoverTable
from ragassay.workbench.grades import GradeFilter, grades_of
from ragassay.workbench.leaderboards import (
    RubricBoard,
    RubricQrels,
    TopicOf,
    covered_items,
    facets_of_banks,
    highest_rating,
    number_covered,
    rubric_boards,
    whole_query,
    with_official,
)

LabelBy = Literal["rating", "covered"]
"""How a passage is labelled: by its highest rating, or by the number of items it covers."""

DEFAULT_MEASURES = ("nDCG@10", "RR")


def graders_of(file: GradedFile, chosen: GradeFilter) -> tuple[str, ...]:
    """Return the graders of the grades that a filter accepts, as "class by model".

    Raises:
        InputError: It accepts none.
    """

    def name_graders(accepts: GradeFilter) -> tuple[str, ...]:
        names = {
            f"{grade.prompt_class or 'unnamed prompt'} by {grade.model or 'unnamed model'}": 0
            for query in file.queries
            for one in query.paragraphs
            for grade in grades_of(one, accepts)
        }
        return tuple(names)

    names = name_graders(chosen)
    if not names:
        there = "; ".join(name_graders(GradeFilter())) or "none at all"
        raise InputError(f"no grade is {chosen}: there are grades of {there}")
    return names


@dataclass(frozen=True)
class SystemFiles:
    """Rankings, labels and an official leaderboard, as files have them beside graded passages.

    Attributes:
        rankings: Those of run files; None for those in the graded file.
        labels: Labels of passages, in place of grades; None for grades.
        official: The official leaderboard; None where it is not known.
    """

    rankings: Rankings | None = None
    labels: Mapping[str, Mapping[str, int]] | None = None
    official: Mapping[str, float] | None = None
    rejections: tuple[Rejection, ...] = ()


def read_system_files(
    runs: Sequence[Path] = (), qrels: Path | None = None, official: Path | None = None
) -> SystemFiles:
    """Read what systems are ranked by.

    Args:
        runs: Run files, and folders of files that end in `.run`.
        qrels: Labels of passages.

    Raises:
        InputError: A file cannot be opened or has nothing in it, or a folder has no run.
    """
    paths = [
        path for one in runs for path in (sorted(one.glob("*.run")) if one.is_dir() else [one])
    ]
    if runs and not paths:
        raise InputError(f"there is no *.run file in {', '.join(map(str, runs))}")
    rejections: list[Rejection] = []

    def read_runs() -> Iterator[RetrievalRun]:
        for path in paths:
            run, rejected = read_run(path)
            rejections.extend(rejected)
            yield run

    rankings = rankings_of(read_runs()) if paths else None
    labels, odd_labels = read_qrels(qrels) if qrels else (None, [])
    known, odd_scores = read_official(official) if official else (None, [])
    return SystemFiles(rankings, labels, known, (*rejections, *odd_labels, *odd_scores))


def _rankings(queries: Sequence[QueryParagraphs], systems: SystemFiles) -> Rankings:
    found = rankings_in(queries) if systems.rankings is None else systems.rankings
    if not found:
        raise InputError("the graded passages have no rankings: give --runs RUN, once for each")
    return found


def cover_tables(
    file: GradedFile,
    chosen: GradeFilter,
    systems: SystemFiles = SystemFiles(),
    *,
    ks: Sequence[int] = (20,),
    min_ratings: Sequence[int] = (),
) -> tuple[CoverTable, ...]:
    """Return Rubric-Cover for what is correct and for each minimum rating.

    Args:
        chosen: The grades that count.
        systems: Rankings in place of those in the graded file; the official leaderboard, which
            means are correlated with.
        ks: The last ranks that count, one after the other.
        min_ratings: The minimum ratings; by default what is marked as correct, and 1 to 5 where
            items were rated.

    Raises:
        InputError: No grade counts, or there are no rankings.
    """
    graders_of(file, chosen)
    rankings = _rankings(file.queries, systems)
    known = systems.official
    found: list[CoverTable] = []
    for k in ks:
        for least in min_ratings or (None, *(range(1, 6) if _has_ratings(file, chosen) else ())):
            rows = rubric_cover(file.queries, chosen, k, least, rankings)
            means = {one.system: one.cover.value for one in rows if one.system != OVERALL}
            correlation = None if known is None else with_official(means, known)
            found.append(CoverTable(k, least, rows, correlation))
    return tuple(found)


def _has_ratings(file: GradedFile, chosen: GradeFilter) -> bool:
    return any(
        grade.ratings is not None
        for query in file.queries
        for one in query.paragraphs
        for grade in grades_of(one, chosen)[:1]
    )


def rubric_qrels(
    file: GradedFile,
    chosen: GradeFilter,
    by: LabelBy = "rating",
    min_rating: int | None = None,
    *,
    by_facet: bool = False,
) -> RubricQrels:
    """Return the labels of passages.

    Args:
        file: Graded passages; its banks name the facets, else the items' ids do.
        chosen: The grades that count.
        by: How a passage is labelled.
        min_rating: The least rating that covers an item; for "covered" only.
        by_facet: Whether each facet is a topic of its own.

    Raises:
        InputError: No grade counts, or ratings are asked for that a grade does not have.
    """
    graders_of(file, chosen)
    topic_of: TopicOf = facets_of_banks(file.banks) if by_facet else whole_query
    if by == "covered":
        return number_covered(file.queries, chosen, min_rating, topic_of)
    return highest_rating(file.queries, chosen, topic_of)


def write_rubric_qrels(found: RubricQrels, out: Path) -> int:
    """Write labels as trec_eval reads them; return how many.

    Raises:
        InputError: The file cannot be written.
    """
    write_qrels(found.labels, out)
    return sum(map(len, found.labels.values()))


def write_item_qrels(
    file: GradedFile, chosen: GradeFilter, out: Path, min_rating: int | None = None
) -> int:
    """Write which items each passage covers, as ndeval reads it; return how many lines.

    Raises:
        InputError: No grade counts, or the file cannot be written.
    """
    graders_of(file, chosen)
    rows = [
        (query, item, passage, "1")
        for query, passages in covered_items(file.queries, chosen, min_rating).items()
        for passage, items in passages.items()
        for item in sorted(items)
    ]
    write_columns(rows, out)
    return len(rows)


def leaderboards(
    file: GradedFile | None,
    chosen: GradeFilter,
    systems: SystemFiles = SystemFiles(),
    *,
    measures: Sequence[str] = (),
    by: LabelBy = "rating",
    min_rating: int | None = None,
    skips_empty: bool = False,
) -> tuple[RubricBoard, ...]:
    """Rank systems by labels of passages.

    Args:
        file: Graded passages; None where there are labels in their place.
        chosen: The grades that count.
        systems: Labels in place of grades, rankings in place of those in the graded file, the
            official leaderboard.
        measures: Names in the notation of ir_measures; by default `DEFAULT_MEASURES`.
        by: How a passage is labelled.
        min_rating: The least rating that is relevant.
        skips_empty: Whether queries without a relevant passage are left out; else they count 0.

    Raises:
        InputError: There are no rankings, or a measure cannot be computed.
    """
    if (file is None) == (systems.labels is None):
        raise InputError("give graded passages, or --qrels FILE in their place")
    rankings = _rankings(file.queries if file else (), systems)
    subtopics = None
    n_uncertain = 0
    level = min_rating or 1
    labels = systems.labels or {}
    if file is not None:
        found = rubric_qrels(file, chosen, by, min_rating)
        labels, n_uncertain = found.labels, found.n_unlabelled + found.n_uncertain
        least = level if by == "rating" else min_rating
        subtopics = covered_items(file.queries, chosen, least)
        level = level if by == "rating" else 1
    boards = rubric_boards(
        labels,
        rankings,
        list(measures or DEFAULT_MEASURES),
        level=level,
        subtopics=subtopics,
        official=systems.official,
        skips_empty=skips_empty,
    )
    return tuple(replace(board, n_uncertain=n_uncertain) for board in boards)

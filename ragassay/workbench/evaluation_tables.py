"""Tables for evaluating systems with test banks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.metrics.stats.correlation import RankCorrelation
from ragassay.reports.display import NOT_DEFINED
from ragassay.reports.sheets import (
    NEEDS_BOOKTABS,
    Cell,
    Column,
    Sheet,
    build_number_column,
    build_score_cells,
    build_score_columns,
    render_sheet_latex,
)
from ragassay.workbench.agreement import AnnotatorTables, GradeTable
from ragassay.workbench.cover import SystemCover
from ragassay.workbench.leaderboards import RubricBoard


@dataclass(frozen=True)
class CoverTable:
    """Rubric-Cover of all systems at one cutoff.

    Attributes:
        min_rating: Lowest rating that covers an item, or None if correctness decides.
        correlation: Correlation with the official leaderboard, or None if there is none.
    """

    k: int
    min_rating: int | None
    systems: tuple[SystemCover, ...]
    correlation: RankCorrelation | None = None


def build_cover_sheet(table: CoverTable) -> Sheet:
    """Return a table of each system's Rubric-Cover, and the original program's EXAM scores."""
    columns = (
        *(build_number_column("k"), build_number_column("min_rating"), Column("system", "System")),
        *(*build_score_columns("cover", "Cover"), build_number_column("cover_se", "se")),
        *(
            *build_score_columns("normalised", "Normalised"),
            build_number_column("normalised_se", "se"),
        ),
        *(
            build_number_column("n_queries", "Queries"),
            build_number_column("n_ungraded", "Ungraded"),
        ),
        *(
            build_number_column("exam"),
            build_number_column("exam_se"),
            build_number_column("n_exam"),
            build_number_column("n_exam_se"),
        ),
    )
    rows = tuple(
        (
            *(table.k, table.min_rating, one.system, *build_score_cells(one.cover), one.cover_se),
            *(*build_score_cells(one.normalised), one.normalised_se, one.n_queries, one.n_ungraded),
            *(one.original.exam, one.original.exam_se),
            *(one.original.n_exam, one.original.n_exam_se),
        )
        for one in table.systems
    )
    criterion = "correct" if table.min_rating is None else f"rating {table.min_rating} or more"
    scores = [score for one in table.systems for score in (one.cover, one.normalised)]
    n_unscored = max((score.n_unscored for score in scores), default=0)
    notes = [_describe_correlation(table.correlation)] if table.correlation else []
    if n_unscored:
        notes.append("unscored items are left out; --csv includes the worst and best case")
    return Sheet(f"Rubric-Cover@{table.k}, {criterion}", columns, rows, "; ".join(notes))


def build_board_sheet(found: RubricBoard) -> Sheet:
    """Return a leaderboard as a table, best system first, with the official ranks."""
    columns = (
        *(Column("measure"), build_number_column("rank", "Rank"), Column("system", "System")),
        *(*build_score_columns("score", "Mean", "Queries"), build_number_column("se", "se")),
        *(
            build_number_column("official", "Official"),
            build_number_column("n_unlabelled", "Unlabelled"),
        ),
    )
    rows = tuple(
        (
            *(found.measure, row.rank, row.system, *build_score_cells(row.score)),
            *(row.score_se, row.official, row.n_unlabelled),
        )
        for row in found.rows
    )
    notes = [_describe_correlation(found.correlation)] if found.correlation else []
    if found.only_official:
        notes.append(f"not ranked here: {', '.join(found.only_official)}")
    if found.n_uncertain:
        notes.append(
            f"labels missing or possibly too low because of ungraded items: {found.n_uncertain}"
        )
    return Sheet(found.measure, columns, rows, "; ".join(notes))


def build_correlation_sheet(rows: Sequence[tuple[str, RankCorrelation]]) -> Sheet:
    """Return a table of each leaderboard's rank correlations with the official leaderboard."""
    columns = (
        *(Column("leaderboard", "Leaderboard"), *build_score_columns("spearman", "Spearman")),
        *build_score_columns("kendall", "Kendall", "Systems", "Left out"),
        *build_score_columns("tau_ap", "AP correlation"),
    )
    empty = (None,) * len(build_score_columns("tau_ap", ""))
    cells = tuple(
        (
            name,
            *build_score_cells(correlation.spearman),
            *build_score_cells(correlation.kendall),
            *(build_score_cells(correlation.tau_ap) if correlation.tau_ap else empty),
        )
        for name, correlation in rows
    )
    return Sheet("Correlation with the official leaderboard", columns, cells)


def _describe_correlation(correlation: RankCorrelation) -> str:
    kendall = correlation.kendall
    pairs = (
        *(("Spearman", correlation.spearman), ("Kendall", kendall)),
        ("AP correlation", correlation.tau_ap),
    )
    parts = [
        f"{name} {NOT_DEFINED if score.value is None else format(score.value, '.3f')}"
        for name, score in pairs
        if score is not None
    ]
    omitted = f", {kendall.n_unscored} left out" if kendall.n_unscored else ""
    return f"{', '.join(parts)} with the official leaderboard ({kendall.n} systems{omitted})"


def build_grade_sheet(table: GradeTable, title: str) -> Sheet:
    """Return the contingency table of labels and human judgments, with row totals."""
    columns = (
        *(
            build_number_column("label", "Label"),
            *(build_number_column(f"judged_{j}", str(j)) for j in table.judgments),
        ),
        build_number_column("total", "Total"),
    )
    rows = tuple(
        (label, *counts, sum(counts))
        for label, counts in zip(table.labels, table.counts, strict=True)
    )
    return Sheet(title, columns, rows, f"{table.n_unscored} judged passages have no label")


def build_annotator_sheets(tables: AnnotatorTables, min_relevant: int) -> tuple[Sheet, Sheet]:
    """Return a table of labels and judgments, and one of Cohen's kappa by lowest relevant label."""
    columns = (
        *(
            build_number_column("min_answers"),
            build_number_column("min_label", "Minimum"),
            Column("label", "Label"),
        ),
        *(
            build_number_column("relevant", "Relevant"),
            build_number_column("other", "Not"),
            build_number_column("total", "Total"),
        ),
        *build_score_columns("kappa", "Kappa", "n", "Unscored"),
    )
    rows: list[tuple[Cell, ...]] = []
    for cut, result in tables.binary.items():
        (both, missed), (added, neither) = result.confusion
        kappa = build_score_cells(result.kappa)
        minimums = (tables.min_answers, cut)
        rows += [
            (*minimums, f"{cut} or more", both, added, both + added, *kappa),
            (*minimums, f"below {cut}", missed, neither, missed + neither, *kappa),
        ]
    answers = f"by {tables.min_answers} item{'s' if tables.min_answers > 1 else ''}"
    return (
        build_grade_sheet(tables.by_grade, f"Labels {answers} (rows), judgments (columns)"),
        Sheet(f"Labels {answers}, judged {min_relevant} or more is relevant", columns, tuple(rows)),
    )


def render_annotators_latex(found: Sequence[AnnotatorTables], min_relevant: int, who: str) -> str:
    r"""Return tables of labels and judgments as LaTeX (Dietz 2024, table 5).

    Requires \usepackage{booktabs}.
    """
    parts: list[str] = []
    for tables in found:
        for name, sheet in zip(
            ("grade", "binary"), build_annotator_sheets(tables, min_relevant), strict=True
        ):
            label = f"tab:annotators-{name}-{tables.min_answers}"
            parts.append(render_sheet_latex(sheet, label, f"{who}. {sheet.title}."))
    return NEEDS_BOOKTABS + "\n".join(parts)

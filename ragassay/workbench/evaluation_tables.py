"""Tables for the evaluation of systems by a test bank."""

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
    number,
    score_cells,
    score_columns,
    sheet_latex,
)
from ragassay.workbench.agreement import AnnotatorTables, GradeTable
from ragassay.workbench.cover import SystemCover
from ragassay.workbench.leaderboards import RubricBoard


@dataclass(frozen=True)
class CoverTable:
    """The cover of all systems at one cut-off.

    Attributes:
        k: The last rank that counts.
        min_rating: The least rating that covers an item; None for what is marked as correct.
        correlation: With the official leaderboard; None without one.
    """

    k: int
    min_rating: int | None
    systems: tuple[SystemCover, ...]
    correlation: RankCorrelation | None = None


def cover_sheet(table: CoverTable) -> Sheet:
    """Return systems with their cover, standard errors, and the original's numbers."""
    columns = (
        *(number("k"), number("min_rating"), Column("system", "System")),
        *(*score_columns("cover", "Cover"), number("cover_se", "se")),
        *(*score_columns("normalised", "Normalised"), number("normalised_se", "se")),
        *(number("n_queries", "Queries"), number("n_ungraded", "Ungraded")),
        *(number("exam"), number("exam_se"), number("n_exam"), number("n_exam_se")),
    )
    rows = tuple(
        (
            *(table.k, table.min_rating, one.system, *score_cells(one.cover), one.cover_se),
            *(*score_cells(one.normalised), one.normalised_se, one.n_queries, one.n_ungraded),
            *(one.original.exam, one.original.exam_se),
            *(one.original.n_exam, one.original.n_exam_se),
        )
        for one in table.systems
    )
    which = "correct" if table.min_rating is None else f"rating {table.min_rating} or more"
    scores = [score for one in table.systems for score in (one.cover, one.normalised)]
    n_unscored = max((score.n_unscored for score in scores), default=0)
    notes = [_correlation_text(table.correlation)] if table.correlation else []
    if n_unscored:
        notes.append("unscored items are left out; --csv has worst and best case")
    return Sheet(f"Rubric-Cover@{table.k}, {which}", columns, rows, "; ".join(notes))


def board_sheet(found: RubricBoard) -> Sheet:
    """Return systems, the best first, with their official rank."""
    columns = (
        *(Column("measure"), number("rank", "Rank"), Column("system", "System")),
        *(*score_columns("score", "Mean", "Queries"), number("se", "se")),
        *(number("official", "Official"), number("n_unlabelled", "Unlabelled")),
    )
    rows = tuple(
        (
            *(found.measure, row.rank, row.system, *score_cells(row.score)),
            *(row.score_se, row.official, row.n_unlabelled),
        )
        for row in found.rows
    )
    notes = [_correlation_text(found.correlation)] if found.correlation else []
    if found.only_official:
        notes.append(f"not ranked here: {', '.join(found.only_official)}")
    if found.n_uncertain:
        notes.append(
            f"labels that are missing or may be too low: {found.n_uncertain}; items have no grade"
        )
    return Sheet(found.measure, columns, rows, "; ".join(notes))


def correlation_sheet(rows: Sequence[tuple[str, RankCorrelation]]) -> Sheet:
    """Return rho, tau and AP correlation of each leaderboard with the official one."""
    columns = (
        *(Column("leaderboard", "Leaderboard"), *score_columns("spearman", "Spearman")),
        *score_columns("kendall", "Kendall", "Systems", "Left out"),
        *score_columns("tau_ap", "AP correlation"),
    )
    no_cells = (None,) * len(score_columns("tau_ap", ""))
    cells = tuple(
        (
            name,
            *score_cells(found.spearman),
            *score_cells(found.kendall),
            *(score_cells(found.tau_ap) if found.tau_ap else no_cells),
        )
        for name, found in rows
    )
    return Sheet("Correlation with the official leaderboard", columns, cells)


def _correlation_text(found: RankCorrelation) -> str:
    pairs = (
        *(("Spearman", found.spearman), ("Kendall", found.kendall)),
        ("AP correlation", found.tau_ap),
    )
    parts = [
        f"{name} {NOT_DEFINED if score.value is None else format(score.value, '.3f')}"
        for name, score in pairs
        if score is not None
    ]
    n = found.kendall
    left = f", {n.n_unscored} left out" if n.n_unscored else ""
    return f"{', '.join(parts)} with the official one ({n.n} systems{left})"


def grade_table_sheet(table: GradeTable, title: str) -> Sheet:
    """Return passages by label and judgment, with each row's total."""
    columns = (
        *(number("label", "Label"), *(number(f"judged_{j}", str(j)) for j in table.judgments)),
        number("total", "Total"),
    )
    rows = tuple(
        (label, *counts, sum(counts))
        for label, counts in zip(table.labels, table.counts, strict=True)
    )
    return Sheet(title, columns, rows, f"{table.n_unscored} judged passages have no label")


def annotator_sheets(tables: AnnotatorTables, min_relevant: int) -> tuple[Sheet, Sheet]:
    """Return the table by grade, and each minimum's counts and Cohen's kappa."""
    columns = (
        *(number("min_answers"), number("min_label", "Minimum"), Column("label", "Label")),
        *(number("relevant", "Relevant"), number("other", "Not"), number("total", "Total")),
        *score_columns("kappa", "Kappa", "n", "Unscored"),
    )
    rows: list[tuple[Cell, ...]] = []
    for cut, found in tables.binary.items():
        (both, missed), (added, neither) = found.confusion
        kappa = score_cells(found.kappa)
        least = (tables.min_answers, cut)
        rows += [
            (*least, f"{cut} or more", both, added, both + added, *kappa),
            (*least, f"below {cut}", missed, neither, missed + neither, *kappa),
        ]
    answers = f"by {tables.min_answers} item{'s' if tables.min_answers > 1 else ''}"
    return (
        grade_table_sheet(tables.by_grade, f"Labels {answers} (rows), judgments (columns)"),
        Sheet(f"Labels {answers}, judged {min_relevant} or more is relevant", columns, tuple(rows)),
    )


def annotators_latex(found: Sequence[AnnotatorTables], min_relevant: int, who: str) -> str:
    r"""Return all tables as LaTeX (Dietz 2024, table 5); they need \usepackage{booktabs}."""
    parts: list[str] = []
    for tables in found:
        for name, sheet in zip(
            ("grade", "binary"), annotator_sheets(tables, min_relevant), strict=True
        ):
            label = f"tab:annotators-{name}-{tables.min_answers}"
            parts.append(sheet_latex(sheet, label, f"{who}. {sheet.title}."))
    return NEEDS_BOOKTABS + "\n".join(parts)

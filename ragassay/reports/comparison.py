"""Build tables of leaderboards and significance tests."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.metrics.stats.leaderboard import ALPHA, Leaderboard, LeaderboardRow
from ragassay.reports.display import (
    EN_DASH,
    NOT_DEFINED,
    format_decimals,
    format_decimals_span,
    format_interval,
)
from ragassay.reports.sheets import (
    NEEDS_BOOKTABS,
    Column,
    Sheet,
    Shown,
    build_number_column,
    build_number_columns,
    build_score_cell,
    build_text_columns,
    build_unscored_cell,
    render_sheet_latex,
)
from ragassay.reports.text import find_score_title

OVERLAP = "ranges overlap"
"""Text for a difference that cannot be determined because of undecided verdicts."""


def build_leaderboard_sheet(board: Leaderboard) -> Sheet:
    """Return the systems from best to worst with ranks, means and intervals."""
    columns = (
        *(Column("score"), *build_text_columns("Rank", "Tied"), Column("system", "System")),
        *(
            build_number_column("rank"),
            build_number_column("rank_low"),
            build_number_column("rank_high"),
        ),
        *(build_number_column("value", "Mean"), *build_number_columns("95 % interval")),
        *(
            build_number_column("low"),
            build_number_column("high"),
            build_number_column("worst"),
            build_number_column("best"),
        ),
        *(
            build_number_column("n_questions", "Questions"),
            build_number_column("n_unscored", "Unscored"),
        ),
        *(
            build_number_column("n_answers"),
            Column("judge"),
            Column("tied_with"),
            Column("overlaps_with"),
        ),
    )
    rows = tuple(
        (
            *(board.key, NOT_DEFINED if row.rank is None else str(row.rank)),
            *(tie_text(row), row.system),
            *(row.rank, row.rank_low, row.rank_high),
            *(build_score_cell(row.score, has_interval=False), format_interval(row.score)),
            *(row.score.low, row.score.high, row.score.worst, row.score.best),
            *(row.score.n, build_unscored_cell(row.score), row.n_answers, row.score.judge),
            *("; ".join(row.ties), "; ".join(row.overlaps)),
        )
        for row in board.rows
    )
    direction = " (lower is better)" if board.lower_is_better else ""
    title = f"{find_score_title(board.key)}{direction}, mean over questions"
    return Sheet(title, columns, rows, describe_board_coverage(board))


def build_pair_test_sheet(board: Leaderboard) -> Sheet:
    """Return the mean difference and p-values of each pair of systems."""
    columns = (
        *(Column("score"), Column("first", "First"), Column("second", "Second")),
        *(
            build_number_column("n_questions", "Questions"),
            build_number_column("difference", "Difference"),
        ),
        *(
            *build_number_columns("95 % interval"),
            build_number_column("low"),
            build_number_column("high"),
        ),
        *(build_number_column("p_value", "p"), build_number_column("p_holm", "p (Holm)")),
        *(Column("is_exact"), Column("is_significant")),
    )
    rows = tuple(
        (
            *(board.key, test.first, test.second, test.n_questions),
            *(
                Shown(format_decimals(test.difference, 3, True), test.difference),
                format_decimals_span(test, 3, True),
                test.low,
                test.high,
            ),
            Shown(format_p_value(test.p_value), test.p_value),
            Shown(
                format_p_value(test.p_holm),
                test.p_holm,
                "strong" if test.is_significant else "missing",
            ),
            *(test.is_exact, test.is_significant),
        )
        for test in board.tests
    )
    caption = (
        "The tests are two-sided paired permutation tests over questions. Bold values are "
        "significant at "
        f"{ALPHA:g} after Holm's correction over all pairs"
    )
    return Sheet(f"{find_score_title(board.key)}: pairs", columns, rows, caption)


def describe_board_coverage(board: Leaderboard) -> str:
    """Describe how ties are determined and how many questions all systems share."""
    text = (
        f"The column Tied shows the ranks that are possible according to the paired tests (at "
        f"{ALPHA:g}, with Holm's correction). {board.n_shared} of {board.n_questions} questions "
        f"have a score for all systems"
    )
    if board.n_shared < board.n_questions:
        text += (
            ". Each mean covers all questions for which the system has a score, and each test only "
            "the questions for which both systems have one"
        )
    if any(row.overlaps for row in board.rows):
        text += ". Systems without a rank have overlapping ranges, so it is unknown which is better"
    return text


def tie_text(row: LeaderboardRow) -> str:
    """Return the range of possible ranks, such as "1-3", or "no" for a single rank."""
    if row.rank_low is None or row.rank_high is None:
        return NOT_DEFINED
    return "no" if row.rank_low == row.rank_high else f"{row.rank_low}{EN_DASH}{row.rank_high}"


def format_p_value(p_value: float | None) -> str:
    """Format a p-value with three decimals, or as "<0.001" if it is below 0.001."""
    if p_value is None:
        return NOT_DEFINED
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def render_leaderboards_latex(boards: Sequence[Leaderboard]) -> str:
    r"""Return all leaderboards as LaTeX tables, which need \usepackage{booktabs}."""
    tables = (
        render_sheet_latex(build_leaderboard_sheet(board), f"tab:{board.key}") for board in boards
    )
    return NEEDS_BOOKTABS + "\n".join(tables)

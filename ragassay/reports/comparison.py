"""Leaderboards and their tests for the terminal, as CSV and as LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.metrics.leaderboard import Leaderboard, LeaderboardRow
from ragassay.metrics.significance import ALPHA, PairTest
from ragassay.reports.tables import cell_text, plain_table, value_text
from ragassay.reports.tabular import Cell, csv_text, latex_text
from ragassay.reports.text import (
    EN_DASH,
    NOT_DEFINED,
    format_bounds,
    format_interval,
    is_number,
    score_text,
    score_title,
)

if TYPE_CHECKING:
    from rich.table import Table

OVERLAP = "ranges overlap"
"""Stands in place of a rank or a difference that undecided verdicts leave open."""

BOARD_COLUMNS = (
    *("score", "system", "rank", "rank_low", "rank_high", "value", "low", "high"),
    *("worst", "best", "n_questions", "n_unscored", "n_answers", "judge", "tied_with"),
    "overlaps_with",
)
TEST_COLUMNS = (
    *("score", "first", "second", "n_questions", "difference", "low", "high"),
    *("p_value", "p_holm", "is_exact", "is_significant"),
)


def leaderboard_table(board: Leaderboard) -> Table:
    """Return systems, the best first: rank, possible ranks by the tests, mean, interval, n."""
    way = " (lower is better)" if board.lower_is_better else ""
    numbers = ("Mean", "95 % interval", "Questions", "Unscored")
    title = f"{score_title(board.key)}{way}, mean over questions"
    table = plain_table(title, ("Rank", "Tied", "System"), numbers)
    for row in board.rows:
        unscored = cell_text(str(row.score.n_unscored) if row.score.n_unscored else "none")
        if bounds := format_bounds(row.score):
            unscored.append(f"\n{bounds.replace(', ', chr(10))}", style="dim")
        table.add_row(
            cell_text(_rank(row)),
            cell_text(tie_text(row)),
            cell_text(row.system),
            value_text(score_text(row.score), is_number(row.score.value)),
            cell_text(format_interval(row.score)),
            cell_text(str(row.score.n)),
            unscored,
        )
    table.caption = cell_text(coverage_text(board))
    return table


def pair_test_table(board: Leaderboard) -> Table:
    """Return each pair of systems: mean difference on shared questions, p-value, corrected one."""
    table = plain_table(
        f"{score_title(board.key)}: pairs",
        ("First", "Second"),
        ("Questions", "Difference", "95 % interval", "p", "p (Holm)"),
    )
    for test in board.tests:
        words = (test.first, test.second, str(test.n_questions), _signed(test.difference))
        span = f"{_signed(test.low)} to {_signed(test.high)}"
        table.add_row(
            *map(cell_text, words),
            cell_text(span if test.low is not None else NOT_DEFINED),
            cell_text(p_text(test.p_value)),
            value_text(p_text(test.p_holm), test.is_significant),
        )
    table.caption = cell_text(
        "Paired permutation tests over questions, two-sided; "
        f"bold: told apart at {ALPHA:g} after Holm's correction over all pairs"
    )
    return table


def coverage_text(board: Leaderboard) -> str:
    """Explain how ties are found, and on how many questions systems are compared."""
    text = (
        "Tied: the ranks that the paired tests leave open (Holm, "
        f"{ALPHA:g}); all systems share {board.n_shared} of {board.n_questions} questions"
    )
    if board.n_shared < board.n_questions:
        text += "; a mean is over a system's own, a test over what the pair shares"
    return text


def tie_text(row: LeaderboardRow) -> str:
    """Return the possible ranks by the tests, as "1-3"; "no" for a single one."""
    if row.rank_low is None or row.rank_high is None:
        return NOT_DEFINED
    return "no" if row.rank_low == row.rank_high else f"{row.rank_low}{EN_DASH}{row.rank_high}"


def p_text(p_value: float | None) -> str:
    """Return a p-value with three decimals; never a zero."""
    if p_value is None:
        return NOT_DEFINED
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def leaderboards_csv(boards: Sequence[Leaderboard]) -> str:
    """Return all leaderboards, one row for each score and system."""
    return csv_text(BOARD_COLUMNS, [_board_row(b.key, r) for b in boards for r in b.rows])


def tests_csv(boards: Sequence[Leaderboard]) -> str:
    """Return all tests, one row for each score and pair."""
    return csv_text(TEST_COLUMNS, [_test_row(b.key, t) for b in boards for t in b.tests])


def leaderboards_latex(boards: Sequence[Leaderboard]) -> str:
    r"""Return all leaderboards as LaTeX tables; they need \usepackage{booktabs}."""
    return "% Needs \\usepackage{booktabs}.\n" + "\n".join(_board_latex(b) for b in boards)


def _board_latex(board: Leaderboard) -> str:
    way = ", lower is better" if board.lower_is_better else ""
    caption = f"{score_title(board.key)}{way}: mean over questions. {coverage_text(board)}."
    rows = [
        (
            _rank(row),
            row.system,
            tie_text(row),
            score_text(row.score),
            format_interval(row.score),
            str(row.score.n),
            str(row.score.n_unscored),
        )
        for row in board.rows
    ]
    header = ("Rank", "System", "Tied", "Mean", "95 % interval", "Questions", "Unscored")
    return latex_text(header, rows, caption, f"tab:{board.key}")


def _board_row(key: str, row: LeaderboardRow) -> tuple[Cell, ...]:
    score = row.score
    return (
        *(key, row.system, row.rank, row.rank_low, row.rank_high),
        *(score.value, score.low, score.high, score.worst, score.best),
        *(score.n, score.n_unscored, row.n_answers, score.judge, "; ".join(row.ties)),
        "; ".join(row.overlaps),
    )


def _test_row(key: str, test: PairTest) -> tuple[Cell, ...]:
    return (
        *(key, test.first, test.second, test.n_questions, test.difference, test.low, test.high),
        *(test.p_value, test.p_holm, test.is_exact, test.is_significant),
    )


def _rank(row: LeaderboardRow) -> str:
    if row.overlaps:
        return OVERLAP
    return NOT_DEFINED if row.rank is None else str(row.rank)


def _signed(value: float | None) -> str:
    return NOT_DEFINED if value is None else f"{value:+.3f}"

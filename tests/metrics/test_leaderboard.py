"""Ranks and ties."""

from __future__ import annotations

from answers import answer

from ragassay.metrics.stats.leaderboard import Leaderboard, rank_systems
from ragassay.records import Evaluation, Score

KEY = "nuggets.recall"


def system(values: list[float | None], key: str = KEY) -> list[Evaluation]:
    """One answer a question; None is unscored."""
    return [
        answer(f"r{i}", topic=f"q{i}").model_copy(
            update={"scores": {key: Score(value=v, n=int(v is not None), n_unscored=v is None)}}
        )
        for i, v in enumerate(values)
    ]


def ranks(board: Leaderboard) -> dict[str, tuple[int | None, int | None, int | None]]:
    return {row.system: (row.rank, row.rank_low, row.rank_high) for row in board.rows}


def test_clear_differences_give_ranks_of_their_own():
    # 10 questions, every difference of the same sign: p = 2/1024, times 3 is below .05.
    board = rank_systems(
        {"low": system([0.1] * 10), "high": system([0.9] * 10), "mid": system([0.5] * 10)}, KEY
    )
    assert [row.system for row in board.rows] == ["high", "mid", "low"]
    assert ranks(board) == {"high": (1, 1, 1), "mid": (2, 2, 2), "low": (3, 3, 3)}
    assert all(row.ties == () for row in board.rows)
    assert (board.n_questions, board.n_shared) == (10, 10)


def test_what_cannot_be_told_apart_is_tied():
    # With 3 questions no p-value is below 2/8: all three may have any rank.
    board = rank_systems(
        {"a": system([0.9] * 3), "b": system([0.5] * 3), "c": system([0.1] * 3)}, KEY
    )
    assert ranks(board) == {"a": (1, 1, 3), "b": (2, 1, 3), "c": (3, 1, 3)}
    assert board.rows[0].ties == ("b", "c")


def test_equal_means_share_a_rank():
    board = rank_systems(
        {"b": system([0.5, 0.7]), "a": system([0.7, 0.5]), "c": system([0.1, 0.1])}, KEY
    )
    assert [(row.system, row.rank) for row in board.rows] == [("a", 1), ("b", 1), ("c", 3)]


def test_ties_are_not_transitive():
    # top beats bottom on all ten questions; middle's differences to either have mixed signs.
    top, bottom = [0.6] * 10, [0.4] * 10
    middle = [0.9, 0.1] * 5
    board = rank_systems(
        {"top": system(top), "middle": system(middle), "bottom": system(bottom)}, KEY
    )
    assert ranks(board) == {"top": (1, 1, 2), "middle": (2, 1, 3), "bottom": (3, 2, 3)}
    assert board.rows[1].ties == ("top", "bottom")


def test_less_is_better_turns_the_order():
    key = "citations.contradict"
    board = rank_systems({"a": system([0.9] * 9, key), "b": system([0.1] * 9, key)}, key)
    assert board.lower_is_better
    assert ranks(board) == {"b": (1, 1, 1), "a": (2, 2, 2)}


def test_unscored_questions_are_counted_and_systems_without_a_mean_stand_last():
    board = rank_systems({"a": system([None, None]), "b": system([0.5, None])}, KEY)
    first, last = board.rows
    assert (first.system, first.score.n, first.score.n_unscored, first.n_answers) == ("b", 1, 1, 2)
    assert (first.score.worst, first.score.best) == (0.25, 0.75)
    assert (last.rank, last.rank_low, last.rank_high, last.score.value) == (None, None, None, None)
    assert board.tests == ()


def test_missing_questions_are_said():
    board = rank_systems({"a": system([0.5, 0.5, 0.5]), "b": system([0.5])}, KEY)
    assert (board.n_questions, board.n_shared) == (3, 1)
    assert board.tests[0].n_questions == 1


def test_several_answers_to_a_question_are_averaged_first():
    twice = [*system([1.0]), *system([0.0]), *system([0.5, 1.0])[1:]]
    board = rank_systems({"a": twice}, KEY)
    # Question 0: (1 + 0) / 2; question 1: 1.
    assert (board.rows[0].score.value, board.rows[0].score.n, board.rows[0].n_answers) == (
        0.75,
        2,
        3,
    )


def test_no_system_and_no_score():
    assert rank_systems({}, KEY).rows == ()
    board = rank_systems({"a": [], "b": system([0.5])}, KEY)
    assert ranks(board) == {"b": (1, 1, 1), "a": (None, None, None)}
    assert rank_systems({"a": []}, KEY).n_shared == 0

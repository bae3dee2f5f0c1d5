"""A score whose range is wide has no value, and no system is ranked by it."""

from __future__ import annotations

from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.metrics.papers.answer_scores import score_share
from ragassay.metrics.stats.aggregates import average_scores
from ragassay.metrics.stats.changes import find_changes
from ragassay.metrics.stats.leaderboard import rank_systems
from ragassay.records import Evaluation, Finding, Score
from ragassay.reports.changes import change_text

KEY = "citations.support"


def evaluation(name: str, n_hits: int, n: int, n_unscored: int, question: str = "Q?") -> Evaluation:
    return Evaluation(
        record_id=f"{name}-{question}",
        question=question,
        answer="A.",
        system=name,
        scores={KEY: score_share(KEY, n_hits, n, n_unscored, "judge")},
    )


@each_case(
    ("n_hits", "n", "n_unscored", "value"),
    [(5, 10, 0, 0.5), (5, 10, 1, 0.5), (5, 10, 2, None), (0, 3, 7, None), (0, 0, 0, None)],
)
def test_a_score_has_a_value_where_its_range_is_narrow(n_hits, n, n_unscored, value):
    score = evaluation("a", n_hits, n, n_unscored).scores[KEY]
    assert score.value == value
    assert score.decided == (n_hits / n if n else None)
    assert score.is_open == (value is None and n > 0)


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6
    )
)
def test_the_mean_over_answers_lies_within_its_range(counts: list[tuple[int, int, int]]):
    found = [
        evaluation("a", hits, hits + misses, missing, f"Q{i}?")
        for i, (hits, misses, missing) in enumerate(counts)
    ]
    score = average_scores(found)[KEY].reported
    assert score.range is None or score.range[0] <= score.range[1]
    if score.value is not None and score.range is not None:
        assert score.range[1] - score.range[0] < 0.1
        assert score.range[0] - 1e-3 <= score.value <= score.range[1] + 1e-3


def test_a_score_of_an_earlier_version_is_read_by_the_same_rule():
    old = {"value": 0.0, "n": 3, "n_unscored": 7, "worst": 0.0, "best": 0.7}
    given = {"record_id": "r", "question": "Q?", "answer": "A.", "scores": {KEY: old}}
    score = Evaluation.model_validate(given).scores[KEY]
    assert (score.value, score.decided, score.range) == (None, 0.0, (0.0, 0.7))


def systems(*counts: tuple[int, int, int]) -> dict[str, list[Evaluation]]:
    return {
        name: [evaluation(name, *each, f"Q{i}?") for i in range(8)]
        for name, each in zip("abc", counts, strict=False)
    }


@each_case(
    ("counts", "ranks"),
    [
        (((9, 10, 0), (2, 10, 0)), [1, 2]),
        (((3, 3, 7), (3, 10, 0)), [None, None]),
        (((9, 10, 0), (1, 3, 3)), [1, 2]),
        (((9, 10, 0), (8, 8, 2), (0, 3, 3)), [None, None, 3]),
        (((19, 20, 0), (18, 19, 1)), [None, None]),
        (((19, 20, 0), (19, 20, 0)), [1, 1]),
    ],
)
def test_systems_whose_ranges_overlap_have_no_rank(counts, ranks: list[int | None]):
    board = rank_systems(systems(*counts), KEY)
    found = {row.system: row.rank for row in board.rows}
    assert [found[name] for name in "abc"[: len(counts)]] == ranks
    assert [bool(row.overlaps) for row in board.rows] == [row.rank is None for row in board.rows]
    tested = {frozenset((test.first, test.second)) for test in board.tests}
    ranked = [name for name in found if found[name] is None]
    assert len(ranked) != 2 or frozenset(ranked) not in tested


def test_two_runs_whose_ranges_overlap_are_not_compared():
    given = systems((3, 3, 7), (3, 10, 0))
    old, new = (
        [one.model_copy(update={"record_id": one.question}) for one in given[name]] for name in "ab"
    )

    def is_serious(finding: Finding) -> bool:
        return False

    (change,) = find_changes(("a", old), [("b", new)], (KEY,), is_serious)
    assert change.scores[0].overlaps
    assert (change.scores[0].gain, change.scores[0].direction) == (None, "same")
    told = change_text(change.scores[0]).replace("\u00a0", " ")
    assert told == "30 to 100 % -> 30 %, ranges overlap"


def test_a_judged_mean_keeps_its_value_and_its_range():
    score = Score(value=4.0, n=9, n_unscored=1, worst=3.7, best=4.09, scale=(1.0, 5.0))
    assert score.reported.value == 4.0
    assert score.model_copy(update={"worst": 3.6}).reported.value is None

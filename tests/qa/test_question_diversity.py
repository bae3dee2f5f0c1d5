"""How alike the questions of a paper are: table 2 of SciQAG."""

from __future__ import annotations

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.qa.scores import (
    BIN_NAMES,
    convert_intent_scores,
    list_pair_similarities,
    question_diversity,
)
from ragassay.records import Failure
from ragassay.records.qa import IntentSimilarity

SHARES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=30)


def test_worked_by_hand() -> None:
    found = question_diversity([0.0, 0.2, 0.4, 0.6, 0.8], ["a", "a", "a", "b", "b"])
    assert [one.name for one in found.bins] == list(BIN_NAMES)
    assert [one.count for one in found.bins] == [2, 1, 1, 1]
    assert [one.share for one in found.bins] == [0.4, 0.2, 0.2, 0.2]
    score = found.similarity
    assert (score.value, score.n, score.n_unscored) == (0.4, 5, 0)
    # Two papers to draw from: the mean of the first is .2, of the second .7.
    assert (score.low, score.high) == (0.2, 0.7)


@each_case(
    ("similarity", "place"),
    [(-1, 0), (0, 0), (0.29, 0), (0.3, 1), (0.49, 1), (0.5, 2), (0.7, 2), (0.71, 3), (1, 3)],
)
def test_an_edge_belongs_to_one_bin(similarity: float, place: int) -> None:
    counts = [one.count for one in question_diversity([similarity]).bins]
    assert counts.index(1) == place


@given(SHARES)
def test_every_scored_pair_is_in_one_bin_and_the_unscored_are_counted(
    values: list[float | None],
) -> None:
    found = question_diversity(values)
    known = [value for value in values if value is not None]
    assert sum(one.count for one in found.bins) == found.similarity.n == len(known)
    assert found.similarity.n_unscored == len(values) - len(known)


def test_an_unscored_pair_leaves_the_mean_and_bounds_it() -> None:
    score = question_diversity([0.2, None, 0.4, None], judge="m").similarity
    assert score.value == pytest.approx(0.3)
    # The worst case is that both are the same question twice: (.6 + 2) / 4.
    assert (score.worst, score.best, score.judge) == (0.65, 0.15, "m")


def test_cosines_have_their_own_scale() -> None:
    score = question_diversity([-0.5, None], scale=(-1.0, 1.0)).similarity
    assert (score.value, score.worst, score.best, score.scale) == (-0.5, 0.25, -0.75, (-1.0, 1.0))


@pytest.mark.parametrize("values", [[], [None, None]])
def test_nothing_scored_is_no_mean_and_no_share(values: list[float | None]) -> None:
    found = question_diversity(values)
    assert found.similarity.value is None
    assert [(one.count, one.share) for one in found.bins] == [(0, None)] * 4


def test_each_pair_of_questions_counts_once() -> None:
    assert list_pair_similarities([[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]]) == [0.1, 0.2, 0.3]
    assert list_pair_similarities([[1.0]]) == list_pair_similarities([]) == []


def test_a_judges_scores_become_shares() -> None:
    scored = IntentSimilarity(first="a", second="b", score=90, judge="m")
    failed = IntentSimilarity(first="a", second="c", failure=Failure(reason="timeout"), judge="m")
    assert convert_intent_scores([scored, failed]) == [0.9, None]

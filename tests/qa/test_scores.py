"""Means over pairs and papers, and the similarity of a paper's questions (SciQAG, table 2)."""

from __future__ import annotations

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.metrics.stats.aggregates import build_clustered_score
from ragassay.qa.scores import (
    BIN_NAMES,
    average_intents,
    average_racar_ratings,
    compute_qa_scores,
    convert_intent_scores,
    list_pair_similarities,
    question_diversity,
)
from ragassay.records import Failure
from ragassay.records.qa import (
    AnswerNumber,
    ContextMark,
    IntentSimilarity,
    PairMeasures,
    PaperMeasures,
    RacarRating,
)


def number(is_found: bool) -> AnswerNumber:
    return AnswerNumber(text="1", start=0, end=1, is_found=is_found)


MARK = ContextMark(part="question", text="this study", start=0, end=10, kind="paper")
ANSWER_MARK = MARK.model_copy(update={"part": "answer"})
TEN = tuple(0.1 * i for i in range(10))
FIRST = PaperMeasures(
    paper="a",
    n_sentences=10,
    coverage=0.2,
    question_similarity=((1, 0.5), (0.5, 1)),
    pairs=(
        PairMeasures(
            pair="a1", chunks=(10,), similarity=TEN, numbers=(number(True), number(False))
        ),
        PairMeasures(pair="a2", chunks=(1,), similarity=TEN[::-1], context=(MARK, ANSWER_MARK)),
    ),
)
SECOND = PaperMeasures(
    paper="b",
    n_sentences=10,
    coverage=0.0,
    question_similarity=((1.0,),),
    pairs=(PairMeasures(pair="b1", numbers=(number(True),), context=(ANSWER_MARK,)),),
)


def test_worked_by_hand() -> None:
    scores = compute_qa_scores([FIRST, SECOND, PaperMeasures(paper="c", n_sentences=3)], "m")
    values = {key: (score.value, score.n) for key, score in scores.items()}
    assert values == {
        "coverage": (0.1, 2),
        # The best of both ends in a: one of ten sentences, so one chunk; b has no answer.
        "pooled_coverage": (0.05, 2),
        "chunks_per_answer": (0.1, 2),
        "numbers_found": (0.6667, 3),
        "numbers_near": (0.0, 3),
        "answers_with_numbers": (0.6667, 3),
        "context_free_questions": (0.6667, 3),
        "question_similarity": (0.5, 1),
    }
    assert scores["coverage"].judge == "m"
    assert (scores["coverage"].low, scores["coverage"].high) == (0, 0.2)


def test_what_applies_to_nothing_is_left_out() -> None:
    assert (
        compute_qa_scores([]) == compute_qa_scores([PaperMeasures(paper="c", n_sentences=3)]) == {}
    )
    bare = SECOND.model_copy(update={"coverage": None, "pairs": (PairMeasures(pair="b1"),)})
    assert list(compute_qa_scores([bare])) == ["answers_with_numbers", "context_free_questions"]


def test_an_unscored_value_is_bounded_by_the_scales_ends() -> None:
    score = build_clustered_score([1.0, None, 3.0], ["a", "a", "b"], (1.0, 3.0))
    assert (score.value, score.n, score.n_unscored) == (2, 2, 1)
    assert (score.worst, score.best) == pytest.approx((5 / 3, 7 / 3), abs=1e-4)


def test_papers_are_resampled_whole() -> None:
    # Ten values of one paper vary together: of one paper there is no interval.
    assert build_clustered_score([0.0, 1.0] * 5, ["a"] * 10).low is None
    wide = build_clustered_score([0.0] * 5 + [1.0] * 5, ["a"] * 5 + ["b"] * 5)
    assert (wide.low, wide.high) == (0, 1)


def test_ratings_by_dimension() -> None:
    ratings = [
        RacarRating(pair="a1", dimension="accuracy", rating=2, score=2.4, judge="m"),
        RacarRating(pair="b1", dimension="accuracy", rating=3, judge="m"),
        RacarRating(pair="b2", dimension="accuracy", failure=Failure(reason="timeout"), judge="m"),
    ]
    scores = average_racar_ratings(ratings, {"a1": "a", "b1": "b", "b2": "b"})
    assert list(scores) == ["accuracy"]
    assert (scores["accuracy"].value, scores["accuracy"].n_unscored) == (2.7, 1)
    assert (scores["accuracy"].scale, scores["accuracy"].judge) == ((1, 3), "m")


def test_intents() -> None:
    intents = [
        IntentSimilarity(first="a", second=second, score=score, judge="m")
        for second, score in (("b", 20), ("c", 60))
    ]
    found = average_intents(intents, {"a": "p"})["intent_similarity"]
    assert (found.value, found.n, found.judge) == (0.4, 2, "m")
    assert average_intents([], {}) == {}
    failed = IntentSimilarity(first="a", second="c", failure=Failure(reason="timeout"), judge="m")
    assert convert_intent_scores([intents[0], failed]) == [0.2, None]


SHARES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=30)


def test_question_diversity_worked_by_hand() -> None:
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


@each_case("values", [[], [None, None]])
def test_nothing_scored_is_no_mean_and_no_share(values: list[float | None]) -> None:
    found = question_diversity(values)
    assert found.similarity.value is None
    assert [(one.count, one.share) for one in found.bins] == [(0, None)] * 4


def test_each_pair_of_questions_counts_once() -> None:
    assert list_pair_similarities([[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]]) == [0.1, 0.2, 0.3]
    assert list_pair_similarities([[1.0]]) == list_pair_similarities([]) == []

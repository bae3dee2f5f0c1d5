"""Means over pairs and papers."""

from __future__ import annotations

import pytest

from ragassay.metrics.stats.aggregates import build_clustered_score
from ragassay.qa.scores import average_intents, average_racar_ratings, compute_qa_scores
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
    assert (score.worst, score.best) == (
        pytest.approx(5 / 3, abs=1e-4),
        pytest.approx(7 / 3, abs=1e-4),
    )


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
        IntentSimilarity(first="a", second="b", score=20, judge="m"),
        IntentSimilarity(first="a", second="c", score=60, judge="m"),
    ]
    found = average_intents(intents, {"a": "p"})["intent_similarity"]
    assert (found.value, found.n, found.judge) == (0.4, 2, "m")
    assert average_intents([], {}) == {}

"""The scores of one answer: values, bounds, and what could not be had."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.metrics.papers.answer_scores import (
    LOWER_IS_BETTER,
    score_correctness,
    score_evidence,
    score_nuggets,
    score_rubrics,
    score_sentences,
    score_share,
)
from ragassay.records import (
    RELEVANCE_LABELS,
    EvidenceVerdict,
    Failure,
    Judgment,
    Nugget,
    NuggetMatch,
    Score,
    SentenceCorrectness,
    SentenceLabel,
)

TIMEOUT = Failure(reason="timeout")


def nuggets(n: int, n_vital: int = 0) -> list[Nugget]:
    return [Nugget(text=f"N{i}", importance="vital" if i < n_vital else None) for i in range(n)]


def matches(n: int) -> list[NuggetMatch]:
    return [NuggetMatch(gold=i, nugget=i, similarity_score=0.9) for i in range(n)]


def bounds(score: Score) -> tuple[float | None, float | None, float | None]:
    return score.worst, score.value, score.best


def evidence(sentence: int, verdict: str | None, side: str = "for") -> EvidenceVerdict:
    given = {"sentence": sentence, "verdict": verdict, "side": side}
    return EvidenceVerdict.model_validate(given | {"failure": None if verdict else TIMEOUT})


def test_share_and_its_bounds_worked_by_hand():
    # 3 of 4, two unscored: 3/6 if both fail, 5/6 if both hold.
    score = score_share("evidence.support", 3, 4, 2, "j")
    assert bounds(score) == (0.5, 0.75, 0.8333)
    assert (score.n, score.n_unscored, score.judge) == (4, 2, "j")


@pytest.mark.parametrize("key", sorted(LOWER_IS_BETTER))
def test_worst_is_the_upper_bound_where_less_is_better(key: str):
    assert bounds(score_share(key, 3, 4, 2, "")) == (0.8333, 0.75, 0.5)


def test_share_of_nothing():
    assert bounds(score_share("x", 0, 0, 0, "")) == (None, None, None)
    assert bounds(score_share("x", 0, 0, 3, "")) == (0.0, None, 1.0)


def test_rubric_scores():
    judgments = [
        Judgment(rubric="cohesion", rating=4, score=4.25, distribution=(0, 0, 0, 0.75, 0.25)),
        Judgment(rubric="clarity", rating=2, score=2.0),
        Judgment(rubric="depth", failure=TIMEOUT),
    ]
    found = score_rubrics(judgments, "j")
    assert list(found) == ["rubric.cohesion", "rubric.clarity", "rubric.depth"]
    first, second, third = found.values()
    assert (first.value, first.low, first.high, first.scale) == (4.25, 4, 5, (1, 5))
    assert (second.low, second.high) == (None, None)
    assert bounds(third) == (1, None, 5)
    assert (third.n, third.n_unscored) == (0, 1)
    assert score_rubrics([], "j") == {}


def test_nugget_scores_worked_by_hand():
    # 2 of 5 nuggets are gold, 2 of 4 gold nuggets are stated: F1 = 2 x .4 x .5 / .9 = .4444;
    # of 3 vital ones the first two.
    found = score_nuggets(nuggets(5), nuggets(4, n_vital=3), matches(2), 0, "j")
    assert {key: score.value for key, score in found.items()} == {
        "nuggets.precision": 0.4,
        "nuggets.recall": 0.5,
        "nuggets.f1": 0.4444,
        "nuggets.vital_recall": 0.6667,
    }
    assert all(bounds(score) == (score.value,) * 3 for score in found.values())
    assert all(score.n_unscored == 0 for score in found.values())


def test_no_gold_no_nugget_score():
    assert score_nuggets(nuggets(3), [], [], 1, "j") == {}


def test_empty_answer_states_nothing():
    found = score_nuggets([], nuggets(2), [], 0, "j")
    assert found["nuggets.recall"].value == 0.0
    assert found["nuggets.precision"].value is None
    assert found["nuggets.f1"].value is None


def test_failed_sentences_leave_the_bounds_open():
    # Of 3 nuggets 2 match, one sentence failed: precision 2/4 to 3/4; it may state both missed
    # gold nuggets: recall 2/4 to 4/4.
    found = score_nuggets(nuggets(3), nuggets(4), matches(2), 1, "j")
    assert bounds(found["nuggets.precision"]) == (0.5, 0.6667, 0.75)
    assert bounds(found["nuggets.recall"]) == (0.5, 0.5, 1.0)
    # F1 from the bounds: .5 and .5; .75 and 1 give 1.5 / 1.75.
    assert bounds(found["nuggets.f1"]) == (0.5, 0.5714, 0.8571)
    assert {score.n_unscored for score in found.values()} == {1}
    # An answer whose every sentence failed is not scored zero.
    for score in score_nuggets([], nuggets(4, n_vital=1), [], 2, "j").values():
        assert (bounds(score), score.n, score.n_unscored) == ((0.0, None, 1.0), 0, 2)


def test_reference_whose_sentences_failed_is_said_to_be_missing():
    found = score_nuggets(nuggets(3), [], [], 0, "j", n_gold_unscored=2)
    assert list(found) == ["nuggets.precision", "nuggets.recall", "nuggets.f1"]
    assert all(bounds(score) == (0.0, None, 1.0) for score in found.values())
    partly = score_nuggets(nuggets(3), nuggets(1), matches(1), 0, "j", n_gold_unscored=1)
    # Recall 1/2 to 2/2; the two other nuggets may match what is missing.
    assert bounds(partly["nuggets.recall"]) == (0.5, 1.0, 1.0)
    assert bounds(partly["nuggets.precision"]) == (0.3333, 0.3333, 1.0)


@given(st.integers(0, 6), st.integers(1, 6), st.integers(0, 3), st.integers(0, 3), st.data())
def test_nugget_scores_lie_between_their_bounds(n_answer, n_gold, n_open, n_gold_open, data):
    n_hits = data.draw(st.integers(0, min(n_answer, n_gold)))
    given = (nuggets(n_answer), nuggets(n_gold, 2), matches(n_hits))
    found = score_nuggets(*given, n_open, "j", n_gold_open)
    for score in found.values():
        assert score.worst is None or score.best is None or 0 <= score.worst <= score.best <= 1
        if score.value is not None:
            assert score.worst is not None and score.best is not None
            assert score.worst <= score.value <= score.best
            assert score.low is not None and score.high is not None
            assert score.low - 1e-4 <= score.value <= score.high + 1e-4


def test_sentence_scores_add_up_to_one():
    given = ("required", "required", "borderline", "inappropriate")
    labels = [SentenceLabel(sentence=n, label=label) for n, label in enumerate(given, 1)]
    found = score_sentences([*labels, SentenceLabel(sentence=5, failure=TIMEOUT)], "j")
    assert [score.value for score in found.values()] == [0.5, 0.25, 0.0, 0.25]
    assert list(found) == [f"sentences.{label}" for label in RELEVANCE_LABELS]
    # One unscored: harm in 1/5 to 2/5, and less is better.
    assert bounds(found["sentences.inappropriate"]) == (0.4, 0.25, 0.2)


def test_evidence_scores():
    given = ("supports", "contradicts", "neutral", None)
    found = score_evidence([evidence(n, verdict) for n, verdict in enumerate(given, 1)], "j")
    assert bounds(found["evidence.support"]) == (0.25, 0.3333, 0.5)
    assert bounds(found["evidence.contradict"]) == (0.5, 0.3333, 0.25)


def test_a_sentence_counts_once_however_many_passages_it_has():
    verdicts = [
        *(evidence(1, "neutral"), evidence(1, "supports", "against")),
        *(evidence(2, "supports"), evidence(2, "contradicts", "against")),
        # Decided for support by what is there; open for contradiction.
        *(evidence(3, "supports"), evidence(3, None, "against")),
    ]
    found = score_evidence(verdicts, "j")
    support, contradict = found["evidence.support"], found["evidence.contradict"]
    assert (support.value, support.n, support.n_unscored) == (1.0, 3, 0)
    # One of two; with the third in 1/3 to 2/3, and less is better.
    assert (contradict.n, contradict.n_unscored) == (2, 1)
    assert bounds(contradict) == (0.6667, 0.5, 0.3333)


def test_a_sentence_without_a_passage_is_neither_correct_nor_wrong():
    given = [
        SentenceCorrectness(sentence=1, correct=True, score=0.9),
        SentenceCorrectness(sentence=2, correct=False, score=0.1),
        SentenceCorrectness(sentence=3, failure=Failure(reason="no_evidence")),
    ]
    found = score_correctness(given, "checker")["correctness.score"]
    assert (found.value, found.n, found.n_unscored, found.judge) == (0.5, 2, 1, "checker")
    # With the third it is 1/3 to 2/3.
    assert bounds(found) == (0.3333, 0.5, 0.6667)


def test_nothing_to_score_has_no_value():
    measures = (score_sentences, score_evidence, score_correctness)
    found = {key: score for measure in measures for key, score in measure([], "j").items()}
    assert all(bounds(score) == (None, None, None) and score.n == 0 for score in found.values())

"""Averages over answers, over questions and over verdicts, and means with what they rest on."""

from __future__ import annotations

import math
from typing import Any

import pytest
from answers import answer
from case_tables import each_case

from ragassay.metrics.papers.answer_scores import score_share
from ragassay.metrics.stats.aggregates import (
    average_by_question,
    average_question_score,
    average_question_scores,
    average_scores,
    build_clustered_score,
    pool_scores,
)
from ragassay.metrics.stats.intervals import compute_mean_interval
from ragassay.metrics.stats.summary import summarize
from ragassay.records import Evaluation, Finding, Score, Summary, Usage

KEY = "citations.support"


def answered(topic: str, score: Score, key: str = KEY) -> Evaluation:
    return answer(topic=topic).model_copy(update={"scores": {key: score}})


def hits(topic: str, n_hits: int, n: int, n_unscored: int = 0, key: str = KEY) -> Evaluation:
    return answered(topic, score_share(key, n_hits, n, n_unscored, "j"), key)


def test_each_question_counts_once():
    # Question a: (1 + 0) / 2 = .5; question b: 1. Mean .75; over answers it is 2/3.
    found = average_question_scores([hits("a", 1, 1), hits("a", 0, 1), hits("b", 4, 4)])[KEY]
    assert (found.value, found.n, found.n_unscored, found.judge) == (0.75, 2, 0, "j")


def test_unscored_question_is_counted_and_bounds_the_mean():
    # Known: a .5 with bounds 1/3 and 2/3 (one of three missing); b is wholly missing: 0 to 1.
    found = average_question_scores([hits("a", 1, 2, 1), hits("b", 0, 0, 3)])[KEY]
    assert (found.value, found.n, found.n_unscored) == (0.5, 1, 1)
    assert (found.worst, found.best) == (round((0.3333 + 0) / 2, 4), round((0.6667 + 1) / 2, 4))


def test_question_without_anything_to_score_is_not_unscored():
    found = average_question_scores([hits("a", 1, 2), hits("b", 0, 0)])[KEY]
    assert (found.value, found.n, found.n_unscored) == (0.5, 1, 0)


def test_interval_resamples_questions():
    alike = [hits("a", 0, 1)] * 5 + [hits("b", 1, 1)] * 5
    found = average_question_score(KEY, alike)
    assert (found.low, found.high) == (0.0, 1.0)
    assert average_question_score(KEY, alike[:5]).low is None


def test_score_that_nobody_has_has_no_value():
    found = average_question_score("nuggets.recall", [hits("a", 1, 1)])
    assert (found.value, found.n, found.worst) == (None, 0, None)
    assert average_by_question([], KEY) == {}
    assert average_question_scores([]) == {}
    assert pool_scores([]) == {}


@each_case(
    ("evaluations", "pooled"),
    [
        # 1 of 3 (stored as .3333) and 7 of 7: 8 of 10.
        ([hits("a", 1, 3), hits("b", 7, 7)], (0.8, 10, 0, 0.8, 0.8)),
        # 1 of 2 and one missing; 2 of 2: known 3 of 4; of 5 at worst 3, at best 4.
        ([hits("a", 1, 2, 1), hits("b", 2, 2)], (0.75, 4, 1, 0.6, 0.8)),
        ([hits("a", 0, 0, 2)], (None, 0, 2, 0, 1)),
        # Half credits: 1.5 of 3 and .5 of 1 are 2 of 4.
        (
            [answered(t, Score(value=0.5, n=n)) for t, n in (("a", 3), ("b", 1))],
            (0.5, 4, 0, 0.5, 0.5),
        ),
    ],
)
def test_pooled_divides_the_sum_of_hits_by_the_sum_of_n(evaluations, pooled):
    found = pool_scores(evaluations)[KEY]
    assert (found.value, found.n, found.n_unscored, found.worst, found.best) == pooled
    assert found.value is None or found.low <= found.value <= found.high


def test_pooled_f1_is_that_of_pooled_precision_and_recall():
    # Precision 3 of 6, recall 3 of 4: F1 = 2 * .5 * .75 / 1.25 = .6. The mean of F1s is another.
    def evaluated(topic: str, n_hits: int, n: int, n_gold: int) -> Evaluation:
        scores = {
            "nuggets.precision": score_share("", n_hits, n, 0, "j"),
            "nuggets.recall": score_share("", n_hits, n_gold, 0, "j"),
            "nuggets.f1": Score(value=0.1, n=n + n_gold),
        }
        return answer(topic=topic).model_copy(update={"scores": scores})

    found = pool_scores([evaluated("a", 1, 4, 2), evaluated("b", 2, 2, 2)])
    assert list(found) == ["nuggets.precision", "nuggets.recall", "nuggets.f1"]
    assert (found["nuggets.f1"].value, found["nuggets.f1"].n) == (0.6, 10)
    low, high = found["nuggets.f1"].low, found["nuggets.f1"].high
    assert low is not None and high is not None
    # a alone: 2 * .25 * .5 / .75 = 1/3; b alone: 1.
    assert (low, high) == pytest.approx((1 / 3, 1.0), abs=1e-4)


def test_pooled_f1_of_no_hit_is_zero():
    scores = {
        f"nuggets.{name}": score_share("", 0, 2, 0, "j") for name in ("precision", "recall", "f1")
    }
    found = pool_scores([answer(topic=t).model_copy(update={"scores": scores}) for t in "ab"])
    f1 = found["nuggets.f1"]
    assert (f1.value, f1.low, f1.high) == (0.0, 0.0, 0.0)


def test_ratings_are_not_pooled():
    rating = Score(value=4.0, n=1, scale=(1.0, 5.0))
    assert pool_scores([answered("a", rating, "rubric.cohesion")]) == {}


def test_summary_holds_all_three_averages():
    found = summarize([hits("a", 1, 1), hits("a", 0, 1), hits("b", 4, 4)], 3, 0, 0)
    values = [part[KEY].value for part in (found.scores, found.by_question, found.pooled)]
    assert values == [0.6667, 0.75, 0.8333]


def test_summary_of_an_earlier_version_is_read():
    old = '{"n_records": 1, "n_evaluated": 1, "n_failed": 0, "n_rejected": 0}'
    found = Summary.model_validate_json(old)
    assert (found.by_question, found.pooled) == ({}, {})


def scored(
    value: float | None = None,
    n_unscored: int = 0,
    key: str = "evidence.support",
    system: str | None = None,
    topic: str | None = None,
    **fields: float,
) -> Evaluation:
    score = Score(value=value, n=int(value is not None), n_unscored=n_unscored, judge="j", **fields)  # type: ignore[arg-type]
    return Evaluation(
        record_id="r",
        question=f"Q{topic}",
        answer="A.",
        system=system,
        topic=topic,
        scores={key: score},
        findings=(Finding(kind="unscored", message="m"),) if n_unscored else (),
        usage=Usage(n_calls=2),
    )


def mean_of(evaluations: list[Evaluation]) -> Score:
    """The mean of the only score of the first evaluation."""
    (key,) = evaluations[0].scores
    return average_scores(evaluations)[key]


def test_mean_worked_by_hand():
    # (.2 + .6 + 1) / 3
    found = mean_of([scored(v, topic=str(v)) for v in (0.2, 0.6, 1.0)])
    assert (found.value, found.n, found.n_unscored, found.judge) == (0.6, 3, 0, "j")
    assert (found.worst, found.best) == (0.6, 0.6)
    assert found.low is not None and found.high is not None
    assert found.low <= 0.6 <= found.high


CONTRADICT: Any = {"key": "citations.contradict"}
COHESION: Any = {"key": "rubric.cohesion", "scale": (1.0, 5.0)}


@each_case(
    ("evaluations", "mean"),
    [
        # .5 and 1 are known; the third may be 0 or 1: 1.5 / 3 to 2.5 / 3.
        ([scored(0.5), scored(1.0), scored(None, 4)], (0.75, 2, 1, 0.5, 0.8333)),
        # What is unscored within an answer counts too: worst .4 and .8, best .8 and .8.
        ([scored(0.6, 2, worst=0.4, best=0.8), scored(0.8)], (0.7, 2, 0, 0.6, 0.8)),
        # An answer that the score does not apply to is not unscored.
        ([scored(0.5), scored(None), scored(1.0, key="other")], (0.5, 1, 0, 0.5, 0.5)),
        ([scored(None)], (None, 0, 0, None, None)),
        # The worst is high where less is better; the bounds of a rating are its scale.
        ([scored(0.5, **CONTRADICT), scored(None, 1, **CONTRADICT)], (0.5, 1, 1, 0.75, 0.25)),
        ([scored(4.0, **COHESION), scored(None, 1, **COHESION)], (4.0, 1, 1, 2.5, 4.5)),
    ],
)
def test_what_is_unscored_bounds_the_mean_over_answers(evaluations, mean):
    found = mean_of(evaluations)
    assert (found.value, found.n, found.n_unscored, found.worst, found.best) == mean
    assert found.n or found.low is None
    assert average_scores([]) == {}


def test_answers_to_one_question_are_one_cluster():
    # Two questions, five systems each: every resample has a mean of 0, .5 or 1.
    both = [scored(float(t), topic=str(t), system=f"s{n}") for t in (0, 1) for n in range(5)]
    found = mean_of(both)
    assert (found.low, found.high) == (0.0, 1.0)
    one = mean_of(both[:5])
    assert (one.low, one.high) == (None, None)


def test_summary_counts_systems_findings_and_usage():
    named = [scored(0.2, system="b"), scored(0.4, 1, system="a"), scored(0.9, system="b")]
    found = summarize([*named, scored(1.0)], n_records=6, n_failed=2, n_rejected=1)
    assert list(found.systems) == ["a", "b"]
    assert found.systems["b"]["evidence.support"].value == 0.55
    assert found.scores["evidence.support"].value == 0.625
    assert found.findings == {"unscored": 1}
    assert found.usage.n_calls == 8
    assert (found.n_records, found.n_evaluated, found.n_failed, found.n_rejected) == (6, 4, 2, 1)


def test_summary_of_nothing():
    found = summarize([], 0, 0, 0)
    assert (found.scores, found.systems, found.usage) == ({}, {}, Usage())


def test_a_mean_with_its_bounds_by_hand():
    found = build_clustered_score([4.0, 5.0, 3.0, None], ["a", "a", "b", "c"], (1.0, 5.0), "judge")
    # 12/3; the missing one as a 1 or a 5: 13/4 and 17/4.
    assert (found.value, found.worst, found.best) == (4.0, 3.25, 4.25)
    assert (found.n, found.n_unscored, found.judge) == (3, 1, "judge")
    interval = compute_mean_interval([4.0, 5.0, 3.0], ["a", "a", "b"])
    assert interval is not None
    assert (found.low, found.high) == tuple(pytest.approx(end, abs=1e-4) for end in interval)


ENDLESS = (0.0, math.inf)


@each_case(
    ("values", "given", "mean"),
    [
        # Where lower is better, the worst is high; an endless scale leaves no bound there.
        ([1.0, None], {"scale": (0.0, 2.0), "lower_is_better": True}, (1.0, 1.5, 0.5)),
        ([1.0, None], {"scale": ENDLESS, "lower_is_better": True}, (1.0, None, 0.5)),
        ([1.0, 3.0], {"scale": ENDLESS}, (2.0, 2.0, 2.0)),
        ([None, None], {"scale": (1.0, 5.0)}, (None, 1.0, 5.0)),
        ([], {}, (None, None, None)),
    ],
)
def test_what_is_unscored_bounds_a_clustered_mean(values, given, mean):
    found = build_clustered_score(values, list("ab")[: len(values)], **given)
    assert (found.value, found.worst, found.best) == mean
    assert found.n == len(values) - values.count(None)
    assert found.n or found.low is None


def test_one_question_has_no_interval():
    assert build_clustered_score([1.0, 2.0], ["a", "a"]).low is None

"""Means over answers."""

from __future__ import annotations

from ragassay.metrics.stats.aggregates import average_scores
from ragassay.metrics.stats.summary import summarize
from ragassay.records import Evaluation, Finding, Score, Usage


def evaluation(
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


def test_mean_worked_by_hand() -> None:
    # (.2 + .6 + 1) / 3
    found = average_scores([evaluation(v, topic=str(v)) for v in (0.2, 0.6, 1.0)])[
        "evidence.support"
    ]
    assert (found.value, found.n, found.n_unscored, found.judge) == (0.6, 3, 0, "j")
    assert (found.worst, found.best) == (0.6, 0.6)
    assert found.low is not None and found.high is not None
    assert found.low <= 0.6 <= found.high


def test_unscored_answer_is_left_out_counted_and_bounds_the_mean() -> None:
    # .5 and 1 are known; the third may be 0 or 1: 1.5 / 3 to 2.5 / 3.
    found = average_scores([evaluation(0.5), evaluation(1.0), evaluation(None, 4)])[
        "evidence.support"
    ]
    assert (found.value, found.n, found.n_unscored) == (0.75, 2, 1)
    assert (found.worst, found.best) == (0.5, 0.8333)


def test_worst_is_high_where_less_is_better() -> None:
    key = "citations.contradict"
    found = average_scores([evaluation(0.5, key=key), evaluation(None, 1, key=key)])[key]
    assert (found.worst, found.best) == (0.75, 0.25)


def test_what_is_unscored_within_an_answer_bounds_the_mean_too() -> None:
    # Worst .4 and .8, best .8 and .8.
    some = evaluation(0.6, 2, worst=0.4, best=0.8)
    found = average_scores([some, evaluation(0.8)])["evidence.support"]
    assert (found.value, found.n_unscored, found.worst, found.best) == (0.7, 0, 0.6, 0.8)


def test_answer_that_the_score_does_not_apply_to_is_not_unscored() -> None:
    found = average_scores([evaluation(0.5), evaluation(None), evaluation(1.0, key="other")])
    assert (found["evidence.support"].n, found["evidence.support"].n_unscored) == (1, 0)
    assert found["evidence.support"].worst == 0.5


def test_score_that_nobody_has_has_no_value() -> None:
    found = average_scores([evaluation(None)])["evidence.support"]
    assert (found.value, found.n, found.low, found.worst, found.best) == (None, 0, None, None, None)
    assert average_scores([]) == {}


def test_answers_to_one_question_are_one_cluster() -> None:
    # Two questions, five systems each: every resample has a mean of 0, .5 or 1.
    both = [evaluation(float(t), topic=str(t), system=f"s{n}") for t in (0, 1) for n in range(5)]
    found = average_scores(both)["evidence.support"]
    assert (found.low, found.high) == (0.0, 1.0)
    one = average_scores(both[:5])["evidence.support"]
    assert (one.low, one.high) == (None, None)


def test_likert_bounds_are_the_scale() -> None:
    keyed = {"key": "rubric.cohesion", "scale": (1.0, 5.0)}
    found = average_scores([evaluation(4.0, **keyed), evaluation(None, 1, **keyed)])  # type: ignore[arg-type]
    assert (found["rubric.cohesion"].worst, found["rubric.cohesion"].best) == (2.5, 4.5)


def test_summary_counts_systems_findings_and_usage() -> None:
    found = summarize(
        [
            evaluation(0.2, system="b"),
            evaluation(0.4, 1, system="a"),
            evaluation(0.9, system="b"),
            evaluation(1.0),
        ],
        n_records=6,
        n_failed=2,
        n_rejected=1,
    )
    assert list(found.systems) == ["a", "b"]
    assert found.systems["b"]["evidence.support"].value == 0.55
    assert found.scores["evidence.support"].value == 0.625
    assert found.findings == {"unscored": 1}
    assert found.usage.n_calls == 8
    assert (found.n_records, found.n_evaluated, found.n_failed, found.n_rejected) == (6, 4, 2, 1)


def test_summary_of_nothing() -> None:
    found = summarize([], 0, 0, 0)
    assert (found.scores, found.systems, found.usage) == ({}, {}, Usage())

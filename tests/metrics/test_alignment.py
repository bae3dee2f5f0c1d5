"""Labels of people beside verdicts of the judge."""

from __future__ import annotations

import pytest
from answers import answer, changed
from case_tables import each_case

from ragassay.metrics.stats.alignment import align_labels, find_consensus
from ragassay.records import (
    Evaluation,
    HumanLabel,
    Judgment,
    Nugget,
    NuggetAssignment,
    NuggetMatch,
    Score,
)


def run() -> list[Evaluation]:
    first = answer(
        "one",
        topic="t1",
        system="alpha",
        labels=[("a", "required"), ("b", None)],
        citations=[(1, "31180123", "supports"), (2, "PMID 31180124", "neutral")],
        gold_nuggets=(Nugget(text="Aspirin thins  blood."), Nugget(text="It is a tablet.")),
        assignments=(NuggetAssignment(gold=0, assignment="partial_support", confidence=0.6),),
        judgments=(
            Judgment(rubric="cohesion", rating=4, score=4.2, distribution=(0, 0, 0.1, 0.6, 0.3)),
            Judgment(rubric="coherence"),
        ),
    )
    return [first, answer("two", topic="t1", system="beta", labels=[("c", "borderline")])]


def label(task: str = "relevance", said: str = "required", **fields: object) -> HumanLabel:
    given = {"task": task, "label": said, "record_id": "one", "sentence": 1}
    return HumanLabel.model_validate(given | fields)


def predicted(*labels: HumanLabel) -> list[tuple[str | None, str | None]]:
    return [(item.truth, item.predicted) for item in align_labels(labels, run()).items]


def reason(one: HumanLabel) -> str:
    (left_out,) = align_labels([one], run()).unaligned
    return left_out.reason


def test_answers_are_found_by_id_or_by_topic_and_system():
    by_place = {"record_id": None, "topic": "t1", "system": "beta"}
    labels = (label(), label(**by_place))
    assert predicted(*labels) == [("required", "required"), ("required", "borderline")]
    # The id of another file's record, but a topic and a system of this run.
    assert predicted(label(**by_place | {"record_id": "elsewhere"})) == [("required", "borderline")]


def test_question_stands_for_a_missing_topic():
    bare = answer("x", system="alpha", labels=[("a", "required")], topic=None)
    bare = bare.model_copy(update={"topic": None, "question": "Why?"})
    found = align_labels([label(record_id=None, topic="Why?", system="alpha")], [bare])
    assert found.items[0].question == "Why?"


@each_case(
    ("one", "aligned"),
    [
        # An unscored verdict is aligned as such; accuracy needs only the answer.
        (label(sentence=2), ("required", None)),
        (label("accuracy", "no", sentence=None), ("no", None)),
        # Citations are found however the id is written.
        (label("citation", "neutral", item="PMID: 31180123"), ("neutral", "supports")),
        (label("citation", "supports", item="31180124", sentence=2), ("supports", "neutral")),
        (label("rubric", "5", item="coherence"), ("5", None)),
    ],
)
def test_a_label_stands_beside_its_verdict(one, aligned):
    assert predicted(one) == [aligned]


def test_nuggets_are_found_by_their_words():
    (item,) = align_labels([label("nugget", "support", item="aspirin thins blood.")], run()).items
    assert (item.predicted, item.confidence) == ("partial_support", 0.6)


@pytest.mark.parametrize(
    ("n_unscored", "expected"), [(0, ["support", "not_support"]), (1, ["support", None])]
)
def test_nuggets_of_a_run_without_assignments_are_matched_or_not(n_unscored, expected):
    evaluation = changed(
        run()[0],
        assignments=(),
        matches=(NuggetMatch(gold=0, nugget=0, similarity_score=0.9),),
        scores={"nuggets.recall": Score(value=0.5, n=2, n_unscored=n_unscored)},
    )
    texts = ("Aspirin thins blood.", "It is a tablet.")
    labels = [label("nugget", "support", item=text) for text in texts]
    assert [i.predicted for i in align_labels(labels, [evaluation]).items] == expected


def test_ratings_carry_score_and_confidence():
    (item,) = align_labels([label("rubric", "5", item="cohesion")], run()).items
    assert (item.truth, item.predicted, item.score, item.confidence) == ("5", "4", 4.2, 0.6)


def test_ratings_are_read_on_the_scale_of_their_rubric():
    judgment = Judgment(rubric="fits", scale=(0, 1), rating=0, score=0.2, distribution=(0.8, 0.2))
    evaluation = answer("one", topic="t1", system="alpha", judgments=(judgment,))
    found = align_labels([label("rubric", "0", item="fits")], [evaluation])
    (item,) = found.items
    assert (item.truth, item.predicted, item.confidence) == ("0", "0", 0.8)
    assert item.labels == ("0", "1")
    (left_out,) = align_labels([label("rubric", "2", item="fits")], [evaluation]).unaligned
    assert left_out.reason == "'2' is not a label of this task"


@each_case(
    ("one", "expected"),
    [
        (label(record_id="none"), "the answer is not in the run"),
        (label(record_id=None, topic="t1"), "the answer is not in the run"),
        (label(sentence=9), "the sentence is not in the answer"),
        (label("citation", "supports", item="99999999"), "the citation is not in the sentence"),
        (label("citation", "supports"), "the citation is not in the sentence"),
        (label("nugget", "support", item="Else."), "the gold nugget does not exist"),
        (label("nugget", "support", item="It is a tablet."), "the run did not label the nugget"),
        (label("rubric", "3", item="novelty"), "the run did not judge the rubric"),
        (label("rubric", "0", item="cohesion"), "'0' is not a label of this task"),
    ],
)
def test_what_cannot_be_aligned_is_named(one, expected):
    assert reason(one) == expected


def test_sentence_that_was_not_labelled_is_named():
    evaluation = changed(run()[1], labels=())
    found = align_labels([label(record_id="two")], [evaluation])
    assert found.unaligned[0].reason == "the run did not label the sentence"
    assert found.count_reasons() == {("relevance", "the run did not label the sentence"): 1}


def test_two_answers_that_fit_are_not_guessed_between():
    twice = [answer("a", labels=[("x", "required")]), answer("b", labels=[("x", "required")])]
    found = align_labels([label(record_id=None, topic="t")], twice)
    assert found.unaligned[0].reason == "several answers match"


def test_annotators_are_put_together():
    labels = [
        label(annotator="ann"),
        label(said="borderline", annotator="bob"),
        label(said="borderline", annotator="cat"),
        label(said="unnecessary", annotator="ann"),
    ]
    found = align_labels(labels, run())
    (item,) = found.items
    assert item.people == ("required", "borderline", "borderline")
    assert (item.truth, item.predicted) == ("borderline", "required")
    assert found.unaligned[0].reason == "duplicate label by the same annotator"


def test_consensus():
    assert find_consensus("relevance", ["required", "borderline"]) is None
    assert find_consensus("citation", ["supports"]) == "supports"
    tied = ["neutral", "supports", "neutral", "supports", "invalid"]
    assert find_consensus("citation", tied) is None
    assert find_consensus("rubric", ["5", "1", "2", "4"]) == "2"
    assert find_consensus("rubric", ["5", "5", "1"]) == "5"


def test_nothing_to_align():
    assert align_labels([], run()).items == ()
    assert align_labels([label()], []).unaligned[0].reason == "the answer is not in the run"

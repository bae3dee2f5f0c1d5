"""Dialogues of USR and summaries of SummEval: records without ratings, ratings as labels."""

from __future__ import annotations

import json

import pytest

from ragassay.formats import read_labels, read_records
from ragassay.formats.items import Item, Place
from ragassay.formats.rated_texts import RATER_MEAN, USR_SCALES, AnnotatorRow, read_summeval_labels
from ragassay.prompts import load_rubrics
from ragassay.records import Document, HumanLabel

RATINGS = {
    "Understandable": [1, 1, 0],
    "Natural": [3, 2, 3],
    "Maintains Context": [1, 1, 2],
    "Engaging": [2, 2, 2],
    "Uses Knowledge": [0, 0, 1.0],
    "Overall": [5, 4, 3],
}
DIALOGUE = {
    "context": "do you knit ?\nonly scarves .\n",
    "fact": "scarves were once a mark of rank .\n",
    "annotators": ["a", "b", "c"],
    "responses": [
        {"response": "lovely !\n", "model": "Human", **RATINGS},
        {"response": "i do .", "model": "Argmax", "Natural": [1, None, 2], "note": "kept"},
    ],
}
MEANS = {
    "source": "do you knit ?\nonly scarves .\n\n",
    "system_id": "Argmax",
    "system_output": "i do . \n",
    "context": "scarves were once a mark of rank .\n",
    "scores": {
        "understandability": 0.6666666667,
        "naturalness": 2.3333333333,
        "coherence": 2.5,
        "engagingness": 1.0,
        "groundedness": 0.0,
        "overall": 4.6666666667,
    },
}
SUMMARY = {
    "id": "dm-test-1",
    "model_id": "M11",
    "decoded": "A shop opened. It sells thread.",
    "text": "A shop that sells thread opened on Friday.",
    "references": ["A thread shop opened.", "Thread is sold."],
    "filepath": "stories/1.story",
    "expert_annotations": [
        {"coherence": 4, "consistency": 5, "fluency": 5, "relevance": 3},
        {"coherence": 2, "consistency": 5, "fluency": None, "relevance": 4},
    ],
    "turker_annotations": [{"coherence": 1, "consistency": 1, "fluency": 1, "relevance": 1}],
}


def test_scales_of_the_format_are_those_of_the_rubrics():
    assert dict(USR_SCALES) == {name: r.bounds for name, r in load_rubrics("usr").items()}
    assert list(AnnotatorRow.model_fields) == list(load_rubrics("summeval"))
    assert {r.bounds for r in load_rubrics("summeval").values()} == {(1, 5)}


def test_dialogue_becomes_a_record_for_each_turn_and_shows_no_rating(write):
    found = read_records(write(json.dumps([DIALOGUE])))
    assert (found.format, found.rejections) == ("usr", ())
    first, second = found.records
    assert (first.id, second.id) == ("item-1/Human", "item-1/Argmax")
    assert first.question == "do you knit ?\nonly scarves ."
    assert (first.answer, second.answer) == ("lovely !", "i do .")
    assert first.sources == (Document(id="fact", text="scarves were once a mark of rank ."),)
    assert (first.system, second.system) == ("Human", "Argmax")
    assert (first.metadata, second.metadata) == ({}, {"note": "kept"})


def test_each_rater_of_a_turn_gives_a_label_on_the_rubrics_own_scale(write):
    path = write(json.dumps([DIALOGUE]))
    found = read_labels(path)
    assert (found.format, found.rejections[0].field) == ("usr", "Natural.1")
    ids = {record.id for record in read_records(path).records}
    assert {label.record_id for label in found.labels} == ids
    ratings = {
        (one.record_id, one.item, one.annotator): one.label
        for one in found.labels
        if one.item in ("understandable", "uses_knowledge", "natural")
    }
    assert ratings == {
        ("item-1/Human", "understandable", "rater 1"): "1",
        ("item-1/Human", "understandable", "rater 2"): "1",
        ("item-1/Human", "understandable", "rater 3"): "0",
        ("item-1/Human", "natural", "rater 1"): "3",
        ("item-1/Human", "natural", "rater 2"): "2",
        ("item-1/Human", "natural", "rater 3"): "3",
        ("item-1/Human", "uses_knowledge", "rater 1"): "0",
        ("item-1/Human", "uses_knowledge", "rater 2"): "0",
        ("item-1/Human", "uses_knowledge", "rater 3"): "1",
        ("item-1/Argmax", "natural", "rater 1"): "1",
        ("item-1/Argmax", "natural", "rater 3"): "2",
    }


def test_rating_off_the_scale_is_rejected_and_the_others_are_read(write):
    turn = {"response": "x", "model": "m", "Understandable": [2, 1], "Overall": "5"}
    found = read_labels(write(json.dumps([{**DIALOGUE, "responses": [turn]}])))
    assert [one.field for one in found.rejections] == ["Understandable.0", "Overall"]
    assert [(one.item, one.label) for one in found.labels] == [("understandable", "1")]


@pytest.mark.parametrize(
    ("response", "field"), [("text", "responses.1"), ({"model": "m"}, "responses.1.response")]
)
def test_damaged_turn_does_not_take_the_others_with_it(write, response, field):
    path = write(json.dumps([{**DIALOGUE, "responses": [DIALOGUE["responses"][0], response]}]))
    found = read_records(path)
    assert [record.id for record in found.records] == ["item-1/Human"]
    assert [one.field for one in found.rejections] == [field]
    assert [one.field for one in read_labels(path).rejections] == [field]


def test_a_dialogue_without_a_fact_has_no_source(write):
    path = write(json.dumps([MEANS, {**MEANS, "context": "_nofact\n"}]))
    with_fact, without = read_records(path).records
    assert (len(with_fact.sources), without.sources) == (1, ())


def test_averaged_turn_is_a_record_and_shows_no_rating(write):
    found = read_records(write(json.dumps([MEANS, {**MEANS, "system_id": "Human"}])))
    assert (found.format, found.rejections) == ("usr-means", ())
    first, second = found.records
    assert (first.id, first.system, second.system) == ("item-1", "Argmax", "Human")
    assert (first.question, first.answer) == ("do you knit ?\nonly scarves .", "i do .")
    assert first.metadata == {}


def test_mean_of_three_raters_tells_all_of_a_yes_or_no_and_else_one_rounded_rating(write):
    found = read_labels(write(json.dumps([MEANS])))
    assert found.rejections == ()
    # .667 x 3 = 2 raters said 1, one said 0; 2.33 is nearest to 2, a half goes up.
    assert [(one.item, one.label, one.annotator) for one in found.labels] == [
        ("understandable", "1", ""),
        ("understandable", "1", ""),
        ("understandable", "0", ""),
        ("natural", "2", RATER_MEAN),
        ("maintains_context", "3", RATER_MEAN),
        ("interesting", "1", RATER_MEAN),
        ("uses_knowledge", "0", ""),
        ("uses_knowledge", "0", ""),
        ("uses_knowledge", "0", ""),
        ("overall", "5", RATER_MEAN),
    ]
    assert {one.record_id for one in found.labels} == {"item-1"}


def test_mean_that_no_three_raters_have_is_rounded(write):
    scores = {"understandability": 0.5, "groundedness": None}
    (label,) = read_labels(write(json.dumps([{**MEANS, "scores": scores}]))).labels
    assert (label.item, label.label, label.annotator) == ("understandable", "1", RATER_MEAN)


@pytest.mark.parametrize(
    ("scores", "field"),
    [
        ({"naturalness": 3.5}, "scores.naturalness"),
        ({"naturalness": True}, "scores.naturalness"),
        ({"fluency": 3}, "scores.fluency"),
        ([3], "scores"),
    ],
)
def test_wrong_mean_is_named(write, scores, field):
    found = read_labels(write(json.dumps([{**MEANS, "scores": scores}])))
    assert ([one.field for one in found.rejections], found.labels) == ([field], ())


def test_summary_is_a_record_with_its_article_and_shows_no_rating(write):
    found = read_records(write(SUMMARY, {**SUMMARY, "model_id": "M0", "text": None}))
    assert (found.format, found.rejections) == ("summeval", ())
    first, second = found.records
    assert (first.id, first.topic, first.system) == ("dm-test-1/M11", "dm-test-1", "M11")
    assert first.question == "Summarise the article."
    assert first.answer == "A shop opened. It sells thread."
    text = "A shop that sells thread opened on Friday."
    assert first.sources == (Document(id="article", text=text),)
    assert first.reference == "A thread shop opened."
    assert first.metadata == {"filepath": "stories/1.story", "references": '["Thread is sold."]'}
    assert (second.id, second.sources) == ("dm-test-1/M0", ())


def test_summaries_without_a_models_name_have_ids_of_their_own(write):
    path = write(*({**SUMMARY, "model_id": None} for _ in range(2)))
    ids = [record.id for record in read_records(path).records]
    assert ids == ["dm-test-1/line-1", "dm-test-1/line-2"]
    assert {label.record_id for label in read_labels(path).labels} == set(ids)


def test_experts_ratings_are_labels_and_crowd_workers_are_left_out(write):
    found = read_labels(write(SUMMARY))
    assert (found.format, found.rejections) == ("summeval", ())
    assert [(one.annotator, one.item, one.label) for one in found.labels] == [
        ("expert 1", "coherence", "4"),
        ("expert 1", "consistency", "5"),
        ("expert 1", "fluency", "5"),
        ("expert 1", "relevance", "3"),
        ("expert 2", "coherence", "2"),
        ("expert 2", "consistency", "5"),
        ("expert 2", "relevance", "4"),
    ]
    assert found.labels[0] == HumanLabel(
        task="rubric",
        label="4",
        record_id="dm-test-1/M11",
        topic="dm-test-1",
        system="M11",
        item="coherence",
        annotator="expert 1",
    )


def test_crowd_workers_ratings_are_labels_where_they_are_wanted():
    item = Item(Place("f", 1, "line-1", ""), SUMMARY)
    labels = read_summeval_labels(item, turkers=True)
    assert len(labels) == 7 + 4
    assert {one.annotator for one in labels} == {"expert 1", "expert 2", "turker 1"}


def test_rating_of_a_summary_off_the_scale_is_named(write):
    row = {**SUMMARY, "expert_annotations": [{"coherence": 6}]}
    path = write(row)
    (rejection,) = read_labels(path).rejections
    assert rejection.field == "expert_annotations.0.coherence"
    assert len(read_records(path).records) == 1

"""Human labels, in any known form."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from case_tables import each_case
from format_samples import ASSIGNED, NUGGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.errors import InputError
from ragassay.formats import read_labels, read_records
from ragassay.formats.labels import LABELS_OF_TASK
from ragassay.records import HumanLabel

CITATION = {
    "task": "citation",
    "label": "supports",
    "record_id": "q1",
    "sentence": 2,
    "item": "31452104",
    "annotator": "ann",
}
RATED = {
    "question_id": "q1",
    "generator": "gen",
    "variant": "subtle",
    "target_rubric": "Cohesion",
    "answer": "A",
    "ratings": {
        "judge1": {"Cohesion": {"rating": 1, "rationale": "bad"}, "Relevancy": {"rating": None}},
        "judge2": {"Cohesion": {"rating": 5, "rationale": None}},
    },
}
DATA = {
    "judgments": [
        {"paragraphId": "p1", "query": "940547", "relevance": 3, "titleQuery": "x"},
        {"paragraphId": "p1", "query": "940547/f", "relevance": -1},
    ],
    "rankings": [{"method": "sys", "paragraphId": "p1", "queryId": "q", "rank": 1, "score": 2.5}],
}
PARAGRAPHS = [
    "940547",
    [
        {"paragraph_id": "p1", "text": "T", "paragraph_data": DATA},
        {"paragraph_id": "p2", "text": "T", "paragraph_data": {"judgments": [], "rankings": []}},
    ],
]


def test_labels_of_our_own_form_are_read(write):
    other = {"task": "rubric", "label": 4, "topic": 1, "system": "s", "item": "cohesion"}
    result = read_labels(write(CITATION, other))
    assert (result.format, result.rejections) == ("ragassay-labels", ())
    assert result.labels == (
        HumanLabel(**CITATION),
        HumanLabel(task="rubric", label="4", topic="1", system="s", item="cohesion"),
    )


def test_ratings_of_yescieval_are_labels_of_their_judges(write):
    path = write(RATED, {**RATED, "variant": "benign", "ratings": None}, name="b-answers.jsonl")
    result = read_labels(path)
    assert (result.format, result.rejections) == ("yescieval", ())
    assert result.labels == tuple(
        HumanLabel(
            task="rubric",
            label=label,
            record_id="q1/gen/subtle/Cohesion",
            topic="q1",
            system="gen",
            item="cohesion",
            annotator=judge,
            reason=reason,
        )
        for judge, label, reason in (("judge1", "1", "bad"), ("judge2", "5", ""))
    )


@pytest.mark.parametrize("packed", [False, True])
def test_judgments_of_the_workbench_are_grades_of_whole_responses(write, packed):
    path = write(PARAGRAPHS, name="graded")
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    result = read_labels(path)
    assert (result.format, result.rejections) == ("rubric-workbench", ())
    assert result.labels == tuple(
        HumanLabel(
            task="rubric",
            label=label,
            record_id="940547/p1",
            topic="940547",
            system="sys",
            item="relevance",
        )
        for label in ("3", "-1")
    )


def test_responses_of_the_workbench_are_answers_that_do_not_tell_their_judgments(write):
    path = write(PARAGRAPHS, [" ", []], name="graded")
    topics = write({"940547": "Q?"}, name="topics.json")
    result = read_records(path, questions=topics)
    assert result.format == "rubric-workbench"
    assert [(one.line, one.field) for one in result.rejections] == [(2, "")]
    first, second = result.records
    assert (first.id, first.topic, first.system) == ("940547/p1", "940547", "sys")
    assert (first.question, first.answer, first.metadata) == ("Q?", "T", {})
    assert second.system is None
    assert {label.record_id for label in read_labels(path).labels} == {first.id}
    bare = read_records(write(PARAGRAPHS))
    assert [one.field for one in bare.rejections] == ["0", "0"]


@each_case(
    ("line", "field", "problem"),
    [
        ({**CITATION, "label": "agrees"}, "label", '"agrees"'),
        ({**CITATION, "task": "style"}, "task", '"style"'),
        ({**CITATION, "task": "rubric", "label": "good"}, "label", '"good"'),
        ({**CITATION, "sentence": 0}, "sentence", "the number 0"),
        ({**CITATION, "sentence": True}, "sentence", "true"),
        ({**CITATION, "anotator": "x"}, "anotator", 'the text "x"'),
        ({**CITATION, "record_id": None, "topic": "1"}, "record_id", "does not specify an answer"),
        ({**CITATION, "item": 3}, "item", "the number 3"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_bad_label_is_rejected_and_the_others_are_read(write, line, field, problem):
    result = read_labels(write(CITATION, line, CITATION))
    assert len(result.labels) == 2
    (rejection,) = result.rejections
    assert (rejection.line, rejection.field) == (2, field)
    assert problem in rejection.problem
    assert rejection.expected


@pytest.mark.parametrize(
    ("row", "change", "field"),
    [
        (
            ASSIGNED | {"nuggets": NUGGETS[:1]},
            {"nuggets": [{"text": "n", "assignment": None}]},
            "nuggets.0.assignment",
        ),
        (RATED, {"ratings": {"j": {"Cohesion": {"rating": 6}}}}, "ratings.j.Cohesion.rating"),
        (RATED, {"ratings": {"j": {"Cohesion": {"rating": "5"}}}}, "ratings.j.Cohesion.rating"),
        (RATED, {"ratings": [1]}, "ratings"),
        (RATED, {"generator": None}, "generator"),
    ],
)
def test_a_line_of_another_form_that_does_not_fit_is_rejected(write, row, change, field):
    result = read_labels(write(row, {**row, **change}))
    assert result.labels == read_labels(write(row)).labels
    assert [(one.line, one.field) for one in result.rejections] == [(2, field)]


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"116 0 31452104 2\n", b'{"question": "Q", "answer": "A"}', b'["q", "p"]',
     b"\x1f\x8b\x08\x00 no", b"\xff\xfe[\x00"],
)  # fmt: skip
def test_a_file_without_labels_is_an_input_error(write, content):
    path = write(content, name="labels", end=b"")
    with pytest.raises(InputError):
        read_labels(path)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=10)
IDS = TEXT.filter(str.strip)


@st.composite
def labels(draw) -> HumanLabel:
    task = draw(st.sampled_from(["accuracy", "relevance", "citation", "nugget", "rubric"]))
    known = LABELS_OF_TASK.get(task)
    label = draw(st.sampled_from(known) if known else st.integers(-2, 5).map(str))
    by_id = draw(st.booleans())
    return HumanLabel(
        task=task,
        label=label,
        record_id=draw(IDS) if by_id else None,
        topic=draw(IDS) if not by_id else draw(st.none() | IDS),
        system=draw(IDS) if not by_id else draw(st.none() | IDS),
        sentence=draw(st.none() | st.integers(1, 99)),
        item=draw(TEXT),
        annotator=draw(TEXT),
    )


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(labels(), min_size=1, max_size=4))
def test_labels_are_read_back_equal(tmp_path: Path, given_labels: list[HumanLabel]):
    path = tmp_path / "labels.jsonl.gz"
    lines = [label.model_dump_json(exclude_defaults=True) for label in given_labels]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    result = read_labels(path)
    assert (result.labels, result.rejections) == (tuple(given_labels), ())


def test_ratings_of_the_real_yescieval_are_read_whole(shared_data):
    path = shared_data / "yescieval" / "bioasq-train-answers.jsonl.gz"
    result, answers = read_labels(path), read_records(path)
    ids = {record.id for record in answers.records}
    assert result.rejections == answers.rejections == ()
    assert (len(answers.records), len(result.labels)) == (3876, 19910)
    assert {label.record_id for label in result.labels} <= ids
    assert len({label.annotator for label in result.labels}) == 4
    assert len({label.item for label in result.labels}) == 9
    assert {label.label for label in result.labels} == set("12345")

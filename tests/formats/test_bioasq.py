"""BioASQ: the experts' file, and what systems submit.

The submissions are modelled on the JSON format of the participants' area (task b, phases A and B);
their text is invented.
"""

from __future__ import annotations

import json
import re

import pytest
from case_tables import each_case

from ragassay.errors import NoRecordError
from ragassay.formats import read_records

URL = "http://www.ncbi.nlm.nih.gov/pubmed/123"
SNIPPET = {"document": URL, "text": "S", "offsetInBeginSection": 4, "beginSection": "abstract"}
SUBMITTED = {
    "id": "q1",
    "ideal_answer": "It is so.",
    "exact_answer": [["so"]],
    "documents": [URL],
    "snippets": [SNIPPET],
}
GOLD = {"id": "q1", "type": "factoid", "body": "Is it?", "ideal_answer": ["It is."]}


def gold(write):
    return write(json.dumps({"questions": [GOLD]}, indent=2), name="gold.json")


@pytest.mark.parametrize("indent", [None, 1])
def test_a_submission_is_answers_to_the_questions_of_the_gold_file(write, indent):
    path = write(json.dumps({"questions": [SUBMITTED]}, indent=indent))
    found = read_records(path, questions=gold(write))
    assert (found.format, found.rejections) == ("bioasq-submission", ())
    (record,) = found.records
    assert (record.id, record.topic, record.question) == ("q1", "q1", "Is it?")
    assert (record.answer, record.reference, record.system) == ("It is so.", None, None)
    assert [(one.id, one.text) for one in record.sources] == [("123", "S")]
    assert record.metadata == {
        "exact_answer": '[["so"]]',
        "documents": json.dumps([URL]),
        "snippets.0.offsetInBeginSection": "4",
        "snippets.0.beginSection": "abstract",
    }


def test_a_submission_without_questions_is_rejected_with_what_to_do(write):
    found = read_records(write({"questions": [SUBMITTED, SUBMITTED | {"id": "q2"}]}))
    assert found.records == ()
    assert [one.field for one in found.rejections] == ["questions.0.id", "questions.1.id"]
    assert "requires its questions file" in found.rejections[0].problem
    assert "a BioASQ questions file" in found.rejections[0].expected


@each_case("name", ["system", "model", "username", "run_id"])
@each_case("beside", [True, False])
def test_a_named_system_makes_it_a_submission(write, name: str, beside: bool):
    row = SUBMITTED | {"body": "Is it?", "type": "factoid", "ideal_answer": ["It is so."]}
    named = {name: "ours"}
    around = named | {"password": "swordfish"} if beside else {}
    found = read_records(write(around | {"questions": [row if beside else row | named]}))
    (record,) = found.records
    assert (record.id, record.system, record.answer) == ("ours/q1", "ours", "It is so.")
    assert record.question == "Is it?"
    assert "swordfish" not in record.model_dump_json()


def test_a_questions_file_makes_it_a_submission_though_it_looks_like_the_experts(write):
    path = write({"questions": [GOLD]})
    (expert,) = read_records(path).records
    assert (expert.answer, expert.reference) == ("", "It is.")
    (submitted,) = read_records(path, questions=gold(write)).records
    assert (submitted.answer, submitted.reference) == ("It is.", None)


@pytest.mark.parametrize("change", [{"ideal_answer": []}, {"ideal_answer": " "}])
def test_a_question_that_a_submission_leaves_open_is_rejected_alone(write, change):
    rows = [SUBMITTED | {"id": "q2"} | change, SUBMITTED]
    topics = write("q1\tIs it?\nq2\tWas it?", name="topics.tsv")
    found = read_records(write({"questions": rows}), questions=topics)
    assert [record.id for record in found.records] == ["q1"]
    (rejection,) = found.rejections
    assert rejection.field == "questions.0.ideal_answer"


def test_what_may_be_a_submission_is_told_how_it_is_read(write):
    path = write({"questions": [GOLD]})
    told = "a system's submission is read with --questions GOLD.json"
    with pytest.raises(NoRecordError, match=re.escape(told)) as caught:
        read_records(path, answered=True)
    (rejection,) = caught.value.rejections
    assert (rejection.field, rejection.problem) == ("questions.0.answer", "found an empty answer")
    (record,) = read_records(path, questions=gold(write), answered=True).records
    assert record.answer == "It is."


def test_questions_on_lines_as_data_sets_keep_them_are_the_experts(write):
    row = {"id": "q1", "type": "yesno", "question": "Is it?", "ideal_answer": ["It is."]}
    found = read_records(write(row | {"pmids": ["123"]}))
    (record,) = found.records
    assert (record.question, record.answer, record.reference) == ("Is it?", "", "It is.")
    assert record.metadata == {"type": "yesno", "pmids": '["123"]'}


@pytest.mark.parametrize(
    "address",
    [
        "http://www.ncbi.nlm.nih.gov/pubmed/123",
        "https://pubmed.ncbi.nlm.nih.gov/123/",
        "https://pubmed.ncbi.nlm.nih.gov/123",
    ],
)
def test_snippets_of_one_article_are_passages_of_it_under_any_address(write, address: str):
    snippets = [{"document": address, "text": "One."}, {"document": URL, "text": "Two."}]
    path = write(json.dumps({"questions": [SUBMITTED | {"snippets": snippets}]}))
    (record,) = read_records(path, questions=gold(write)).records
    assert [(one.id, one.part_of) for one in record.sources] == [("123", "123"), ("123#2", "123")]

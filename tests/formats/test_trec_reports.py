"""Reports of TREC RAGTIME and AutoJudge, and the requests that they answer."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.formats import read_records
from ragassay.formats.topics import read_topics
from ragassay.records import Document, SentenceInput

REQUEST = {
    "request_id": "28",
    "title": "Shells",
    "problem_statement": "How do shells work?",
    "background": "I teach.",
    "collection_ids": ["c"],
    "limit": 2000,
}
ABOUT = {"team_id": "t", "run_id": "r", "topic_id": "28"}
REPORT = {
    "metadata": ABOUT,
    "responses": [{"text": "A.", "citations": ["d2"]}, {"text": "B.", "citations": []}],
    "references": ["d2"],
}
DOCUMENTS = {
    "d1": {"id": "d1", "text": "One.", "title": "T", "url": "u"},
    "d2": {"id": "d2", "text": "Two.", "title": None},
}


@pytest.fixture
def topics(write):
    return write(REQUEST, {"request_id": 29, "title": "Sails"}, name="topics.jsonl")


def test_a_request_is_a_topic_of_its_title_problem_and_background(topics):
    questions, rejections = read_topics(topics)
    assert questions == {"28": "Shells\nHow do shells work?\nI teach.", "29": "Sails"}
    assert rejections == []


@pytest.mark.parametrize(
    ("change", "question"),
    [
        ({"title": None}, "How do shells work?\nI teach."),
        ({"background": ""}, "Shells\nHow do shells work?"),
        ({"problem_statement": None}, "Shells\nI teach."),
        ({"question": "Own?"}, "Own?"),
    ],
)
def test_a_request_may_lack_some_of_them(write, change, question):
    questions, _ = read_topics(write(REQUEST | change))
    assert questions == {"28": question}


CITATIONS = [
    (["d2", "d1"], ("d2", "d1")),
    ([0, 1], ("d1", "d2")),
    ({"d1": 0.2, "d2": 0.9}, ("d2", "d1")),
    ({}, ()),
    (None, ()),
    (["d9"], ("d9",)),
    ([7], ("references[7]",)),
]


@each_case(("citations", "ids"), CITATIONS)
@each_case("name", ["responses", "answer"])
def test_citations_are_ids_positions_or_ids_with_a_confidence(write, topics, citations, ids, name):
    row = {
        "metadata": ABOUT,
        name: [{"text": "A.", "citations": citations}],
        "references": ["d1", "d2"],
        "documents": DOCUMENTS,
    }
    found = read_records(write(row), questions=topics)
    assert (found.format, found.rejections) == ("trec-report", ())
    (record,) = found.records
    assert record.answer == (SentenceInput(text="A.", citations=ids),)
    assert (record.id, record.system, record.topic) == ("t/r/28", "t/r", "28")
    assert record.question.startswith("Shells")
    assert record.sources == (
        Document(id="d1", text="One.", title="T"),
        Document(id="d2", text="Two."),
    )
    assert record.metadata["documents.d1.url"] == "u"


@pytest.mark.parametrize("name", ["topic_id", "narrative_id", "request_id"])
def test_the_topics_id_has_three_names(write, topics, name):
    about = {"team_id": "t", "run_id": "r", name: "29", "task": "english"}
    (record,) = read_records(write(REPORT | {"metadata": about}), questions=topics).records
    assert (record.topic, record.question) == ("29", "Sails")


def test_a_narrative_is_the_question(write):
    (record,) = read_records(write(REPORT | {"metadata": ABOUT | {"narrative": "N?"}})).records
    assert record.question == "N?"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"metadata": {"team_id": "t", "topic_id": "28"}}, "metadata.run_id"),
        ({"responses": [{"citations": []}]}, "responses.0.text"),
        ({"responses": [{"text": "A.", "citations": "d1"}]}, "responses.0.citations"),
        ({"documents": {"d1": {"id": "d1"}}}, "documents.d1.text"),
        ({"metadata": ABOUT | {"topic_id": "30"}}, "metadata.narrative"),
    ],
)
def test_a_report_that_cannot_be_read_is_named(write, topics, change, field):
    found = read_records(write(REPORT, REPORT | change), questions=topics)
    assert len(found.records) == 1
    assert [(one.line, one.field) for one in found.rejections] == [(2, field)]


def test_other_runs_of_trec_stay_what_they_are(write, topics):
    narrative = {"team_id": "t", "run_id": "r", "narrative_id": "28"}
    rag = {"metadata": narrative, "references": ["a"], "answer": [{"text": "A.", "citations": [0]}]}
    biogen = {"metadata": ABOUT, "responses": [{"text": "A.", "citations": ["1"]}]}
    assert read_records(write(rag), questions=topics).format == "trec-rag-2025"
    assert read_records(write(biogen), questions=topics).format == "biogen-2025-b"

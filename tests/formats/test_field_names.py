"""Question, answer and sources are read under the names, and in the shapes, that people use."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case

from ragassay.applications.apps import read_reply
from ragassay.formats import read_records, read_records_from_rows
from ragassay.formats.fields import ANSWER_NAMES, QUESTION_NAMES, SOURCE_NAMES
from ragassay.formats.named_fields import describe_input, rename_fields
from ragassay.records import Document

TEXT = "Drug A lowered blood pressure by 5 mmHg."
OTHER = "Drug B raised the heart rate in two trials."
QA = {"question": "Does drug A work?", "answer": "Yes [1]."}

SPELLINGS = ("sourceDocuments", "Retrieved Contexts", "retrieved-docs", "searchResults", "CONTEXT")

SHAPES = (
    [TEXT, OTHER],
    [{"text": TEXT}, {"text": OTHER}],
    [{"content": TEXT, "score": 0.9}, {"content": OTHER, "score": 0.4}],
    json.dumps([TEXT, OTHER]),
    str([TEXT, OTHER]),
    [[TEXT], [OTHER]],
    [[{"page_content": TEXT}, 0.9], [{"page_content": OTHER}, 0.4]],
    [[TEXT, 0.9], [OTHER, 0.4]],
    {"documents": [TEXT, OTHER]},
    {"hits": {"hits": [{"_source": {"text": TEXT}}, {"_source": {"text": OTHER}}]}},
    {"matches": [{"metadata": {"text": TEXT}}, {"metadata": {"text": OTHER}}]},
    {"text": [TEXT, OTHER], "title": ["T", "U"]},
)

ENTRIES = (
    {"id": "7", "text": TEXT},
    {"pmid": 7, "abstract": TEXT},
    {"docid": "7", "contents": TEXT},
    {"doc_id": "7", "body": TEXT},
    {"PMID": "7", "passage": TEXT},
    {"_id": "7", "_source": {"text": TEXT}},
    {"source": "7", "snippet": TEXT},
    {"url": "7", "chunk": TEXT},
    {"id": 7.0, "abstract": [TEXT]},
    {"page_content": TEXT, "metadata": {"source": "7"}},
    {"page_content": TEXT, "metadata": {"pmid": 7, "page": 3}},
    {"pageContent": TEXT, "metadata": {"id": "7"}},
    {"document": {"content": TEXT, "id": "7"}, "score": 0.5},
    {"document.content": TEXT, "document.id": "7"},
    {"node": {"text": TEXT, "id_": "5f3c", "metadata": {"pmid": "7"}}, "score": 0.5},
    {"node": {"text": TEXT, "id_": "7"}},
    {"payload": {"text": TEXT}, "id": 7},
    {"id": "7", "content": [{"type": "text", "text": TEXT}]},
    {"docid": "7", "doc": {"segment": TEXT}},
    {"7": TEXT},
)


def read_one(row: dict[str, object]):
    found = read_records_from_rows([row])
    assert found.rejections == ()
    return found.records[0]


def texts(record) -> list[str]:
    return [source.text for source in record.sources]


@each_case("name", [*SOURCE_NAMES, *SPELLINGS])
def test_sources_are_known_by_their_name(name):
    for value in ([TEXT], [{"text": TEXT}], TEXT, json.dumps([TEXT]), {"7": TEXT}):
        assert texts(read_one(QA | {name: value})) == [TEXT], value
    reply = read_reply({"answer": "Yes [1].", name: [TEXT]})
    assert reply.sources == (Document(id="1", text=TEXT),)


@each_case("shape", SHAPES)
def test_sources_are_read_in_their_shape(shape):
    for name in ("context", "retrieved_documents"):
        assert texts(read_one(QA | {name: shape})) == [TEXT, OTHER]


@each_case("entry", ENTRIES)
def test_a_source_has_its_text_and_its_id(entry):
    (source,) = read_one(QA | {"passages": [entry]}).sources
    assert (source.id, source.text) == ("7", TEXT)


def test_ids_of_objects_and_of_columns_beside_are_read():
    by_id = read_one(QA | {"documents": {"31": TEXT, "32": {"title": "T", "text": OTHER}}})
    assert by_id.sources == (Document(id="31", text=TEXT), Document(id="32", text=OTHER, title="T"))
    chroma = {"ids": [["a", "b"]], "documents": [[TEXT, OTHER]], "metadatas": [[{}, {"pmid": 9}]]}
    assert [one.id for one in read_one(QA | {"results": chroma}).sources] == ["a", "9"]


def test_names_and_addresses_are_no_texts_of_sources():
    for value in (
        ["31452104", "31452105"],
        ["https://pubmed.ncbi.nlm.nih.gov/31452104/"],
        [{"id": "1", "title": "A title of a paper that was cited"}],
        [1, 2],
        "",
    ):
        record = read_one(QA | {"references": value, "passages": [TEXT]})
        assert texts(record) == [TEXT], value
    assert read_one(QA | {"documents": ["https://a.org/1", "https://a.org/2"]}).sources == ()


def test_a_source_without_a_text_keeps_its_place_and_a_misspelt_text_is_named():
    record = read_one(QA | {"sources": [{"id": "1", "title": "T"}, {"id": "2", "text": OTHER}]})
    assert [(one.id, one.text) for one in record.sources] == [("1", ""), ("2", OTHER)]
    found = read_records_from_rows([QA | {"sources": [{"id": "1", "txt": TEXT}, {"text": OTHER}]}])
    assert [one.field for one in found.rejections] == ["sources.0.text"]


@each_case("question", QUESTION_NAMES)
def test_question_and_answer_are_known_by_their_names(question):
    for answer in ANSWER_NAMES:
        record = read_one({question: "Does it?", answer: "It does [1].", "docs": [TEXT]})
        assert (record.question, record.answer) == ("Does it?", "It does [1].")
        assert texts(record) == [TEXT], answer


def test_a_more_specific_format_comes_first():
    for row, name in (
        ({"user_input": "Q?", "response": "A."}, "ragas"),
        ({"input": "Q?", "actual_output": "A."}, "deepeval"),
        ({"query": "Q?", "response": "A."}, "ragchecker"),
        ({"question": "Q?", "answer": "A.", "query": "other"}, "ragassay"),
        ({"input": "Q?", "output": "A."}, "named-fields"),
    ):
        found = read_records_from_rows([row | {"passages": [TEXT]}])
        assert found.format == name
        assert found.fields["sources"] == "passages"
        assert texts(found.records[0]) == [TEXT]
        assert "passages" not in found.records[0].metadata


def test_what_was_read_as_what_is_said_once(write):
    rows = [{"query": f"Q{n}?", "output": "A.", "docs": [TEXT]} for n in range(3)]
    found = read_records(write(*rows))
    assert found.fields == {"question": "query", "answer": "output", "sources": "docs"}
    assert describe_input(found.fields, found.records) == (
        "Read `query` as question, `output` as answer, `docs` as sources.",
    )
    plain = read_records(write(QA | {"sources": [TEXT]}))
    assert describe_input(plain.fields, plain.records) == ()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([TEXT, OTHER], "blob"),
        ([{"content": TEXT}], "blob"),
        (json.dumps([TEXT]), "blob"),
        ("A long text. " * 30, "blob"),
        ({"7": TEXT, "8": OTHER}, "blob"),
        ({"found": [TEXT]}, "blob.found"),
        ({"step": {"top": [{"text": TEXT}]}}, "blob.step.top"),
    ],
)
def test_texts_that_were_not_read_are_named(value, path):
    found = read_records_from_rows([QA | {"blob": value}, QA, QA | {"blob": value}])
    assert [record.unread for record in found.records] == [(path,), (), (path,)]
    assert describe_input(found.fields, found.records) == (
        f"2 answers have text in `{path}` that was not read; "
        f"to read it as sources, pass --map sources={path}",
    )
    mapped = read_records_from_rows([QA | {"blob": value}], columns={"sources": path})
    assert mapped.records[0].sources
    assert mapped.records[0].unread == ()


def test_fields_that_are_no_sources_are_not_named():
    row = QA | {
        "tags": ["cardiology", "drug"],
        "rationale": "A long text. " * 30,
        "reference_contexts": [TEXT],
        "nuggets": ["Drug A lowered blood pressure by far."],
        "scores": [0.1, 0.2],
        "comment": "short",
        "follow_up_questions": ["What of drug B in old people?"],
    }
    assert read_one(row).unread == ()


def test_spans_turns_and_unread_names_come_back_and_others_of_the_name_stay(write, tmp_path):
    own = QA | {
        "citations": [{"start": 0, "end": 3, "documents": ["1"]}],
        "turns": [{"role": "user", "text": "Hello?"}],
    }
    record = read_one(own)
    assert record.citations[0].documents == ("1",)
    assert record.turns[0].text == "Hello?"
    other = read_one(QA | {"citations": ["12", "13"], "turns": 3})
    assert (other.citations, other.turns) == ((), ())
    assert other.metadata == {"citations": '["12", "13"]', "turns": "3"}


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_field_gives_way_to_one_of_another_name(empty):
    named = rename_fields({"question": "Does it fall?", "answer": empty, "response": "It falls."})
    assert named.fields == {"question": "Does it fall?", "answer": "It falls."}

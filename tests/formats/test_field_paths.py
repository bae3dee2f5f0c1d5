"""`--map` takes the path to a value."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case

from ragassay.errors import InputError
from ragassay.formats import read_records, read_records_from_rows
from ragassay.formats.fields import find_value, nest_fields
from ragassay.formats.row_mapping import parse_column_map

FIELDS = {
    "inputs": {"question": "Q?", "chat.id": {"no": 3}},
    "messages": [{"content": "Hi"}, {"content": [{"type": "text", "text": "Bye"}]}],
    "retrieved": [{"docs": [{"document": {"content": "one two"}}, {"document": {"content": "b"}}]}],
    "packed": json.dumps({"output": {"answer": "A."}}),
    "attributes.input.value": "dotted",
    "a.b": {"c": 1},
    "none": None,
}


@each_case(
    ("path", "value"),
    [
        ("inputs.question", "Q?"),
        ("inputs.chat.id.no", 3),
        ("messages.0.content", "Hi"),
        ("messages[0].content", "Hi"),
        ("messages.-2.content", "Hi"),
        ("messages[-1].content.0.text", "Bye"),
        ("retrieved.0.docs.1.document.content", "b"),
        ("retrieved.0.docs.*.document.content", ["one two", "b"]),
        ("retrieved[0].docs[].document.content", ["one two", "b"]),
        ("$.inputs.question", "Q?"),
        ("packed.output.answer", "A."),
        ("attributes.input.value", "dotted"),
        ("a.b.c", 1),
        ("messages.7.content", None),
        ("messages.-9.content", None),
        ("messages.content", None),
        ("inputs.answer", None),
        ("inputs.question.more", None),
        ("none.more", None),
        ("...", FIELDS),
    ],
)
def test_a_path_leads_to_a_value(path, value):
    assert find_value(FIELDS, path) == value


def test_dotted_columns_are_put_into_objects():
    flat = {"inputs.question": "Q?", "inputs.user.name": "x", "other.name": 1, "inputs.none": None}
    nested = nest_fields(flat, ["inputs"])
    assert nested == {"other.name": 1, "inputs": {"question": "Q?", "user": {"name": "x"}}}


ROWS = [
    (
        {"inputs": {"question": "Q?"}, "outputs": {"output": "A."}, "retrieved": [{"docs": ["t"]}]},
        "question=inputs.question,answer=outputs.output,sources=retrieved.0.docs",
    ),
    (
        {"messages": [{"content": "Q?"}, {"content": "A."}], "hits": [{"document": "t"}]},
        "question=messages.0.content,answer=messages.-1.content,sources=hits.*.document",
    ),
    (
        {"call": {"q": "Q?"}, "told": {"text": "A."}, "document": {"content": "t"}},
        "question=call.q,answer=told.text,sources=document.content",
    ),
    (
        {"run": json.dumps({"q": "Q?", "a": "A.", "d": ["t"]})},
        "question=run.q,answer=run.a,sources=run.d",
    ),
]


@pytest.mark.parametrize(("row", "text"), ROWS)
def test_fields_are_read_from_paths(row, text, write):
    columns = parse_column_map(text)
    for found in (
        read_records_from_rows([row], columns=columns),
        read_records(write(row), columns=columns),
    ):
        (record,) = found.records
        assert (record.question, record.answer) == ("Q?", "A.")
        assert [source.text for source in record.sources] == ["t"]


def test_messages_and_blocks_at_a_path_are_their_text():
    messages = [
        {"role": "user", "content": "Q?"},
        {"role": "assistant", "content": [{"type": "text", "text": "A."}]},
        {"role": "user", "content": "Thanks."},
    ]
    row = {"call": {"messages": messages[:1]}, "told": {"messages": messages}}
    for answer in ("told.messages", "told.messages.1.content"):
        columns = {"question": "call.messages", "answer": answer}
        (record,) = read_records_from_rows([row], columns=columns).records
        assert (record.question, record.answer) == ("Q?", "A.")


def test_cells_of_a_table_are_followed(write):
    path = write(
        b"inputs,outputs.answer",
        b'"{""question"": ""Q?""}",A.',
        name="a.csv",
    )
    columns = {"question": "inputs.question", "answer": "outputs.answer"}
    (record,) = read_records(path, columns=columns).records
    assert (record.question, record.answer) == ("Q?", "A.")


def test_a_path_that_leads_nowhere_is_named_with_those_there_are(write):
    path = write({"inputs": {"question": "Q?"}, "outputs": {"text": "A."}})
    with pytest.raises(InputError, match=r"no column 'inputs\.query'.*inputs\.question"):
        read_records(path, columns={"question": "inputs.query", "answer": "outputs.text"})


def test_what_is_not_named_is_looked_up_by_its_usual_name():
    row = {"query": "Q?", "told": "A.", "passages": ["t"], "note": "n"}
    found = read_records_from_rows([row], columns={"answer": "told"})
    (record,) = found.records
    assert (record.question, record.answer, record.metadata) == ("Q?", "A.", {"note": "n"})
    assert found.fields == {"question": "query", "sources": "passages"}

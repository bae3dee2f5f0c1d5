"""Exports of other tools are read, or refused by name with the `--map` that reads them."""

from __future__ import annotations

import csv
import io
import json

import pytest
from case_tables import each_case

from ragassay.errors import NoRecordError
from ragassay.formats import read_records, read_records_from_rows
from ragassay.formats.exports import export_shapes
from ragassay.formats.row_mapping import parse_column_map

TEXT = "T one two three."
MESSAGES = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q?"}]
LANGCHAIN = [[{"id": ["langchain", "HumanMessage"], "kwargs": {"type": "human", "content": "Q?"}}]]
REPLY = {"role": "assistant", "content": [{"type": "text", "text": "A."}]}
RETRIEVER = {
    "run_type": "retriever",
    "name": "r",
    "outputs": {"documents": [{"page_content": TEXT}]},
}


@each_case("shape", export_shapes, ids=lambda shape: f"{shape.tool} {shape.marks[-1]}")
def test_each_shape_reads_its_example(shape, write):
    row, text = shape.example, json.dumps(shape.example)
    found = read_records_from_rows([row])
    from_file = read_records(write(row))
    assert from_file.format == found.format == shape.name
    assert len(from_file.records) == len(found.records)
    if shape.refusal:
        assert found.records == ()
        assert f"{shape.tool}: " in found.rejections[0].problem
        assert "--map question=" in found.rejections[0].problem
        return
    (record,) = found.records
    assert (record.question, record.answer) == ("Q?", "A.")
    assert [one.text for one in record.sources] == ([TEXT] if TEXT in text else [])
    assert record.reference == ("G." if '"G."' in text else None)
    assert found.fields["question"] in from_file.fields.values()


KIN = [
    {"inputs": {"input": "Q?"}, "outputs": {"output": "A."}, "run_type": "chain"},
    {"inputs": {"messages": MESSAGES}, "outputs": {"messages": [*MESSAGES, REPLY]}},
    {"inputs": {"messages": LANGCHAIN}, "outputs": {"generation": "A."}},
    {"inputs": {"my_topic": "Q?"}, "outputs": {"my_report": "A."}},
    {"inputs": {"kwargs": {"question": "Q?"}}, "outputs": {"output": {"answer": "A."}}},
    {"inputs": {"question": "Q?"}, "outputs": REPLY},
    {"inputs.question": "Q?", "outputs.answer": "A.", "reference.answer": "G.", "feedback.x": 1},
    {"inputs": '{"question": "Q?"}', "outputs": '{"answer": "A."}'},
    {"id": "t", "input": MESSAGES, "output": REPLY, "observations": []},
    {"id": "o", "traceId": "t", "input": '{"query": "Q?"}', "output": '{"response": "A."}'},
    {"input": {"messages": MESSAGES}, "output": "A.", "expected": {"answer": "G."}},
    {"attributes": {"input": {"value": "Q?"}, "output": {"value": "A."}}, "parent_id": None},
    {"attributes.input.value": '{"query": "Q?"}', "attributes.output.value": '{"answer": "A."}'},
    {"vars": {"question": "Q?"}, "response": {"output": {"answer": "A."}}, "provider": "p"},
    {"vars": {"topic": "Q?"}, "response": {"output": "A."}},
    {"item": {"input": "Q?"}, "sample": {"output": [REPLY]}},
    {"datasource_item": {"query": "Q?", "sample.output_text": "A."}, "sample": {"output": []}},
    {"datasource_item": {"query": "Q?", "response": "A."}, "sample": {"output": []}, "results": []},
    {"request": "Q?", "response": "A.", "retrieved_context": [{"content": TEXT}]},
]


@each_case("row", KIN, ids=lambda row: json.dumps(row)[:60])
def test_kin_shapes_are_read(row, write):
    for found in (
        read_records_from_rows([row]),
        read_records(write(row)),
        read_records(write([row])),
    ):
        assert found.rejections == ()
        (record,) = found.records
        assert (record.question, record.answer) == ("Q?", "A.")


def test_sources_of_retriever_steps_are_read():
    rows = (
        {"inputs": {"question": "Q?"}, "outputs": {"answer": "A."}, "child_runs": [RETRIEVER]},
        {
            "input": "Q?",
            "output": "A.",
            "observations": [
                {"type": "GENERATION", "name": "llm", "output": "A long text of a model."},
                {"type": "SPAN", "name": "vector-search", "output": json.dumps([{"text": TEXT}])},
            ],
        },
    )
    for row in rows:
        (record,) = read_records_from_rows([row]).records
        assert [one.text for one in record.sources] == [TEXT]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (
            {"inputs": {"topic": "a", "reader": "b"}, "outputs": {"report": "R.", "log": "L."}},
            "--map question=inputs.topic,answer=outputs.report",
        ),
        ({"vars": {"a": "x", "b": "y", "c": "z"}, "response": {"output": "A."}}, "question=vars.a"),
        (
            {"item": {"x": 1}, "sample": {"output_text": "A."}},
            "question=item.QUESTION,answer=sample",
        ),
        (
            {"input": {"a": "x", "b": "y", "c": "z"}, "output": "A."},
            "question=input.a,answer=output",
        ),
    ],
)
def test_a_record_that_cannot_be_told_is_refused_with_the_map(row, line, write):
    found = read_records_from_rows([row])
    (rejection,) = found.rejections
    assert line in rejection.expected
    with pytest.raises(NoRecordError, match="--map question="):
        read_records(write(row), answered=True)


def test_the_map_of_a_refusal_reads_the_record():
    row = {"inputs": {"topic": "Q?", "reader": "b"}, "outputs": {"report": "A.", "log": "L."}}
    (rejection,) = read_records_from_rows([row]).rejections
    columns = parse_column_map(rejection.expected.partition("--map ")[2])
    (record,) = read_records_from_rows([row], columns=columns).records
    assert (record.question, record.answer) == ("Q?", "A.")


def test_spans_of_a_trace_are_one_answer(write):
    def span(name, parent, kind, trace="t", **values):
        own = {"context.span_id": name, "context.trace_id": trace, "parent_id": parent}
        return own | {"span_kind": kind} | {f"attributes.{k}.value": v for k, v in values.items()}

    found = [{"document.content": TEXT, "document.id": "7"}]
    rows = [
        span("2", "1", "RETRIEVER", input="Q?", output="raw")
        | {"attributes.retrieval.documents": found},
        span("3", "1", "LLM", input="prompt", output="A draft."),
        span("1", None, "CHAIN", input="Q?", output="A."),
        span("9", None, "CHAIN", "u", input="Q2?", output="A2."),
    ]
    buffer = io.StringIO()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(buffer, columns)
    writer.writeheader()
    writer.writerows(
        {k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows
    )
    table = write(buffer.getvalue(), name="spans.csv", end=b"")
    for read in (read_records(write(*rows)), read_records(table)):
        assert [(one.question, one.answer) for one in read.records] == [
            ("Q?", "A."),
            ("Q2?", "A2."),
        ]
        assert [one.id for one in read.records[0].sources] == ["7"]
        assert read.format == "phoenix"


def test_a_document_with_exported_rows_is_cut_into_them(write):
    rows = [{"inputs": {"question": "Q?"}, "outputs": {"answer": f"A{n}."}} for n in range(3)]
    for name in ("data", "runs", "examples", "traces", "records", "rows"):
        for indent in (None, 1):
            path = write(json.dumps({"object": "list", name: rows}, indent=indent))
            assert [one.answer for one in read_records(path).records] == ["A0.", "A1.", "A2."]


def test_other_lines_of_a_log_are_left_out(write):
    lines = [
        {"spec": {"completion_fns": ["m"]}},
        next(one.example for one in export_shapes() if "data.sampled" in one.marks),
        {"run_id": "r", "event_id": 1, "sample_id": "s.1", "type": "match", "data": {"correct": 1}},
        {"final_report": {"accuracy": 1.0}},
    ]
    found = read_records(write(*lines))
    assert (len(found.records), found.rejections) == (1, ())


def test_messages_of_an_export_before_its_question_are_turns(write):
    messages = [
        {"role": "user", "content": "What is zelcoline?"},
        {"role": "assistant", "content": "A drug."},
        {"role": "user", "content": "What does it do?"},
    ]
    run = {"inputs": {"messages": messages}, "outputs": {"output": "It lowers pressure."}}
    (record,) = read_records(write(run | {"run_type": "chain", "id": "r1"})).records
    assert (record.question, record.answer) == ("What does it do?", "It lowers pressure.")
    assert [turn.text for turn in record.turns] == ["What is zelcoline?", "A drug."]

"""DeepEval's and ragas' files, as the tools write them, and as they are written for them.

The samples are modelled on what DeepEval 4.3 (`EvaluationDataset.save_as` as JSON, JSON lines and
CSV) and ragas 0.4 (`to_csv`, `to_jsonl`, `to_pandas`, `to_hf_dataset`) wrote; the texts are ours.
"""

from __future__ import annotations

import csv
import json

import pytest
from case_tables import each_case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.errors import InputError, NoRecordError
from ragassay.formats import read_records, write_answers
from ragassay.records import Document, Record, SentenceInput

FIELDS = (
    *("input", "actual_output", "expected_output", "retrieval_context", "context", "name"),
    *("source_file", "tools_called", "expected_tools", "token_cost", "additional_metadata"),
    *("custom_column_key_values", "expectations"),
)
GOLDENS: list[dict[str, object]] = [
    dict.fromkeys(FIELDS)
    | {
        "input": "Does iron help?",
        "expected_output": "Yes; it does.",
        "context": ["Ideal a", "Ideal b"],
        "name": "n1",
        "source_file": "f.pdf",
        "expected_tools": [{"name": "search", "inputParameters": {"q": "iron"}}],
        "additional_metadata": {"year": 2024, "x": None},
        "custom_column_key_values": {"k": "v"},
    },
    dict.fromkeys(FIELDS)
    | {
        "input": 'Second, with "quotes"?\nand a line',
        "actual_output": "An answer, here.",
        "retrieval_context": ["P1", "P2", "deepeval_source=s.pdf,deepeval_context=P3, with comma"],
        "context": ["only"],
        "tools_called": [{"name": "search", "inputParameters": {"q": "iron"}}],
        "token_cost": 0.5,
    },
]


def joined(golden: dict[str, object]) -> dict[str, object]:
    """A golden as `save_as("jsonl")` keeps it."""
    return {
        name: "|".join(value) if name in ("context", "retrieval_context") and value else value
        for name, value in golden.items()
    }


def save_as(kind: str, path):
    if kind == "json":
        path.write_text(json.dumps(GOLDENS, indent=4))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(joined(one)) + "\n" for one in GOLDENS))
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(GOLDENS[0])
            for one in map(joined, GOLDENS):
                writer.writerow(
                    json.dumps(v) if isinstance(v, list | dict) else v for v in one.values()
                )
    return path


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv"])
def test_deepevals_three_files_are_read_alike(kind, tmp_path):
    path = save_as(kind, tmp_path / f"goldens.{kind}")
    found = read_records(path)
    assert (found.format, found.rejections) == ("deepeval", ())
    golden, case = found.records
    assert (golden.answer, golden.reference) == ("", "Yes; it does.")
    assert [source.text for source in golden.sources] == ["Ideal a", "Ideal b"]
    assert golden.metadata["metadata.year"] == "2024"
    assert json.loads(golden.metadata["expected_tools"]) == GOLDENS[0]["expected_tools"]
    assert case.question == 'Second, with "quotes"?\nand a line'
    assert case.sources == (
        Document(id="1", text="P1"),
        Document(id="2", text="P2"),
        Document(id="3", text="P3, with comma", title="s.pdf"),
    )
    assert (case.metadata["context"], case.metadata["token_cost"]) == ('["only"]', "0.5")
    (rejected,) = read_records(path, answered=True).rejections
    assert rejected.problem == "found an empty answer"


@each_case("ending", [".json", ".jsonl", ".csv", ".csv.gz"])
@each_case("form", ["deepeval", "ragas"])
def test_what_is_written_for_a_tool_is_read_back(form, ending, tmp_path):
    first = {
        "question": "Q, 1?",
        "answer": 'Yes "it" does [1].\r\nMore.',
        "sources": (Document(id="1", text="It's so,\n"), Document(id="2", text="[x] 'y'")),
        "reference": "R",
    }
    second = {"question": "Q2?", "answer": "No.", "metadata": {"tags": '["a"]'}}
    path = tmp_path / f"out{ending}"
    label = {".json": "item-{}", ".jsonl": "line-{}"}.get(ending, "row-{}")
    records = [
        Record(id=label.format(n), **one).model_copy() for n, one in enumerate((first, second), 1)
    ]
    result = write_answers(records, path, form)
    found = read_records(path)
    assert (found.format, found.rejections) == (form, ())
    assert found.records == tuple(records)
    if ending != ".json":  # Its rows are named by their place in the array.
        assert result.left_out == {}


def test_a_list_is_read_however_a_frame_wrote_it(write):
    lists = ["['a, b', \"it's\"]", "['a, b' \"it's\"]", '["a, b", "it\'s"]', "['a, b'\n \"it's\"]"]
    rows = "".join(
        f'Q{n}?,A.,"{one}","{{\'score1\': None}}"\n'.replace('\\"', '""')
        for n, one in enumerate((text.replace('"', '""') for text in lists), 1)
    )
    path = write("user_input,response,retrieved_contexts,rubrics\n" + rows, name="r.csv", end=b"")
    found = read_records(path)
    assert (found.format, found.rejections) == ("ragas", ())
    assert [[s.text for s in r.sources] for r in found.records] == [["a, b", "it's"]] * 4
    assert found.records[0].metadata["rubrics"] == '{"score1": null}'


def test_sentences_become_text_that_cites_and_what_changed_is_counted(tmp_path):
    cited = SentenceInput(text="It helps.", citations=("31",))
    source = Document(id="31", text="S", title="T")
    record = Record(id="a", question="Q?", answer=(cited,), sources=(source,), system="s")
    ragas, deepeval = tmp_path / "r.jsonl", tmp_path / "d.jsonl"
    assert write_answers([record], ragas, "ragas").left_out == {
        **{"answer": 1, "sources": 1, "system": 1}
    }
    assert json.loads(ragas.read_text()) == {
        "id": "a",
        "user_input": "Q?",
        "retrieved_contexts": ["S"],
        "response": "It helps. [31]",
        "retrieved_context_ids": ["31"],
    }
    write_answers([record], deepeval, "deepeval")
    assert json.loads(deepeval.read_text())["actual_output"] == "It helps. [1]"
    assert json.loads(deepeval.read_text())["retrieval_context"] == [
        "deepeval_source=T,deepeval_context=S"
    ]


def test_a_passage_with_the_joint_is_counted_as_changed_in_csv(tmp_path):
    record = Record(id="row-1", question="Q?", answer="A.", sources=(Document(id="1", text="a|b"),))
    assert write_answers([record], tmp_path / "o.csv", "deepeval").left_out == {"sources": 1}
    record = record.model_copy(update={"id": "line-1"})
    assert write_answers([record], tmp_path / "o.jsonl", "deepeval").left_out == {}


def test_a_table_without_a_record_is_not_written(tmp_path):
    with pytest.raises(InputError, match="at least one"):
        write_answers([], tmp_path / "o.csv", "ragas")
    with pytest.raises(InputError, match="response"):
        write_answers([Record(id="a", question="Q?", answer="")], tmp_path / "o.csv", "ragas")


def test_goldens_alone_are_nothing_to_evaluate(write):
    path = write(json.dumps(joined(GOLDENS[0])), name="g.jsonl")
    assert read_records(path).format == "deepeval"
    with pytest.raises(NoRecordError):
        read_records(path, answered=True)


TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
        st.sampled_from("\n\r\u2028\ufeff\"'|,;[]{} "),
    ),
    max_size=12,
)
DOCUMENTS = st.lists(st.builds(Document, id=TEXT.filter(str.strip), text=TEXT), max_size=3)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(TEXT, TEXT, DOCUMENTS, TEXT), min_size=1, max_size=3),
    form=st.sampled_from(["ragas", "deepeval"]),
    ending=st.sampled_from(["csv", "jsonl", "json"]),
)
def test_whatever_is_written_is_read_as_so_many_answers(tmp_path, rows, form, ending):
    path = tmp_path / f"out.{ending}"
    records = [
        Record(id=f"row-{n}", question=q, answer=a, sources=tuple(s), reference=r)
        for n, (q, a, s, r) in enumerate(rows, 1)
    ]
    try:
        result = write_answers(records, path, form)
    except InputError as error:
        assert "cannot be written" in str(error)
        return
    found = read_records(path)
    assert (len(found.records), found.rejections) == (result.n_records, ())
    if not result.left_out:
        assert found.records == tuple(records)

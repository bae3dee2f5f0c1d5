"""ragassay's own format, and plain rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from case_tables import each_case
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.formats import read_records, read_records_from_rows
from ragassay.records import Document, Nugget, SentenceInput

pd = LazyModule("pandas")

MINIMAL = {"question": "Does it help?", "answer": "It does [1].", "sources": ["It helped."]}


def test_every_field_of_a_line_arrives_in_its_record(write):
    line = {
        "id": "q1",
        "question": "Q?",
        "answer": "A.",
        "sources": [{"id": "31452104", "text": "T", "title": "Title"}],
        "nuggets": ["a fact", {"text": "another", "importance": "vital"}],
        "reference": "R",
        "system": "sys",
        "topic": 116,
        "metadata": {"year": 2024, "lab": "x"},
    }
    result = read_records(write(line))
    assert result.format == "ragassay"
    assert result.rejections == ()
    (record,) = result.records
    assert (record.id, record.question, record.answer) == ("q1", "Q?", "A.")
    assert record.sources == (Document(id="31452104", text="T", title="Title"),)
    assert record.nuggets == (Nugget(text="a fact"), Nugget(text="another", importance="vital"))
    assert (record.reference, record.system, record.topic) == ("R", "sys", "116")
    assert record.metadata == {"year": "2024", "lab": "x"}


def test_plain_sources_are_numbered_and_a_missing_id_is_the_line(write):
    result = read_records(write(MINIMAL, "", MINIMAL))
    assert [record.id for record in result.records] == ["line-1", "line-3"]
    assert result.records[0].sources == (Document(id="1", text="It helped."),)


def test_a_made_up_id_steps_aside_for_an_id_that_is_taken(write):
    result = read_records(write({**MINIMAL, "id": "line-2"}, MINIMAL))
    assert [record.id for record in result.records] == ["line-2", "line-2-2"]
    assert result.rejections == ()


def test_citations_may_be_numbers_or_text(write):
    answer = [{"text": "One.", "citations": [1, "31452104"]}, "Two."]
    (record,) = read_records(write({**MINIMAL, "answer": answer})).records
    assert record.answer == (
        SentenceInput(text="One.", citations=("1", "31452104")),
        SentenceInput(text="Two."),
    )


def test_unknown_fields_are_kept_as_text_wherever_they_stand(write):
    line = {
        **MINIMAL,
        "latency_s": 1.5,
        "tags": ["a", "ä"],
        "note": "plain",
        "nothing": None,
        "sources": [{"text": "T", "year": 2020}],
    }
    (record,) = read_records(write(line)).records
    assert record.metadata == {
        "latency_s": "1.5",
        "tags": '["a", "ä"]',
        "note": "plain",
        "sources.0.year": "2020",
    }


def test_a_field_beside_metadata_and_in_it_is_not_silently_lost(write):
    result = read_records(write({**MINIMAL, "run": "a", "metadata": {"run": "b"}}))
    assert result.records == ()
    assert result.rejections[0].field == "run"


def test_contexts_and_ground_truth_of_old_ragas_files_are_sources_and_reference(write):
    line = {"question": "Q", "answer": "A", "contexts": ["C"], "ground_truth": "G"}
    (record,) = read_records(write(line)).records
    assert record.sources == (Document(id="1", text="C"),)
    assert record.reference == "G"
    assert record.metadata == {}


@each_case(
    ("change", "field", "problem"),
    [
        ({"answer": 3}, "answer", "the number 3"),
        ({"answer": None}, "answer", "missing, or null"),
        ({"question": ["Q"]}, "question", "a list of 1"),
        ({"id": ""}, "id", "an empty id"),
        ({"id": True}, "id", "true"),
        ({"sources": 5}, "sources", "the number 5"),
        ({"sources": ["a", {"id": "x", "txt": "T"}]}, "sources.1.text", "found 'txt'"),
        ({"answer": [{"text": "T", "citations": [None]}]}, "answer.0.citations.0", "null"),
        ({"answer": [{"text": "T", "citations": "1"}]}, "answer.0.citations", 'the text "1"'),
        ({"answer": ["ok", 5]}, "answer.1", "the number 5"),
        ({"nuggets": [""]}, "nuggets.0.text", "empty text"),
        ({"nuggets": [{"text": "f", "importance": "big"}]}, "nuggets.0.importance", '"big"'),
        ({"metadata": []}, "metadata", "an empty list"),
    ],
)
def test_a_field_that_does_not_fit_is_named_and_the_other_lines_are_read(
    write, change, field, problem
):
    path = write({**MINIMAL, "id": "good"}, {**MINIMAL, "id": "bad", **change})
    result = read_records(path)
    assert [record.id for record in result.records] == ["good"]
    (rejection,) = result.rejections
    assert (rejection.file, rejection.line, rejection.field) == (str(path), 2, field)
    assert problem in rejection.problem
    assert rejection.expected
    assert '"answer"' in rejection.content


def test_a_misspelt_required_field_is_rejected_with_the_name_that_was_found(write):
    result = read_records(write({"question": "Q", "anwser": "A"}))
    (rejection,) = result.rejections
    assert rejection.field == "answer"
    assert "found 'anwser'" in rejection.problem
    assert '"answer"' in rejection.expected


def test_several_errors_on_a_line_make_one_rejection_that_counts_them(write):
    line = {"question": 1, "answer": 2, "sources": 3}
    (rejection,) = read_records(write(line)).rejections
    assert rejection.field == "question"
    assert "and 2 more" in rejection.problem


def test_the_second_of_two_equal_ids_is_rejected_and_names_the_first(write):
    result = read_records(write({**MINIMAL, "id": 7}, MINIMAL, {**MINIMAL, "id": "7"}))
    assert [record.id for record in result.records] == ["7", "line-2"]
    (rejection,) = result.rejections
    assert (rejection.line, rejection.field) == (3, "id")
    assert "line 1" in rejection.problem


def test_rows_are_read_like_lines():
    result = read_records_from_rows([MINIMAL, {"question": "Q"}])
    assert result.format == "ragassay"
    assert [record.id for record in result.records] == ["row-1"]
    (rejection,) = result.rejections
    assert (rejection.file, rejection.line, rejection.field) == ("rows", 2, "answer")
    assert rejection.content == '{"question": "Q"}'


def test_a_frame_with_gaps_and_arrays_is_read():
    frame = pd.DataFrame(
        {
            "id": [1.0, float("nan")],
            "question": ["Q1", "Q2"],
            "answer": ["A1", "A2"],
            "sources": [np.array(["S1", "S2"]), None],
            "reference": [pd.NA, "R"],
            "seen": [pd.Timestamp("2024-01-02"), pd.NaT],
            "n": np.array([1, 2], dtype="int64"),
        }
    )
    result = read_records_from_rows(frame.to_dict("records"))
    assert result.rejections == ()
    first, second = result.records
    assert (first.id, second.id) == ("1", "row-2")
    assert [source.text for source in first.sources] == ["S1", "S2"]
    assert (first.reference, second.reference) == (None, "R")
    assert first.metadata == {"seen": "2024-01-02 00:00:00", "n": "1"}
    assert second.metadata == {"n": "2"}


def test_rows_with_values_that_json_has_no_shape_for_are_rejected():
    deep: object = "x"
    for _ in range(500):
        deep = [deep]
    rows = [
        MINIMAL,
        {**MINIMAL, "model": object()},
        {**MINIMAL, "deep": deep},
        {**MINIMAL, "big": 10**6000},
        {**MINIMAL, "question": "\ud800"},
        ["not a mapping"],
    ]
    result = read_records_from_rows(rows)
    assert len(result.records) == 1
    assert [rejection.line for rejection in result.rejections] == [2, 3, 4, 5, 6]
    assert [rejection.field for rejection in result.rejections[:4:3]] == ["model", "question"]
    for rejection in result.rejections:
        assert rejection.content
        rejection.model_dump_json().encode("utf-8")


def test_no_rows_are_an_input_error():
    with pytest.raises(InputError, match="rows is empty"):
        read_records_from_rows([])


def test_limit_stops_after_so_many_records(write):
    path = write(*[{**MINIMAL, "id": str(i)} for i in range(5)])
    assert [record.id for record in read_records(path, limit=2).records] == ["0", "1"]
    with pytest.raises(InputError, match="at least 1"):
        read_records(path, limit=0)


def test_gold_nuggets_from_a_file_go_to_records_without_their_own(write, tmp_path: Path):
    path = write(
        {**MINIMAL, "id": "a", "topic": "116"},
        {**MINIMAL, "id": "b", "topic": "116", "nuggets": ["own"]},
        {**MINIMAL, "id": "117"},
        {**MINIMAL, "id": "c"},
    )
    gold = write({"116": ["f1", {"text": "f2", "importance": "okay"}], "117": ["g"], "118": "x"},
                 name="gold.json")  # fmt: skip
    result = read_records(path, nuggets=gold)
    texts = [[nugget.text for nugget in record.nuggets] for record in result.records]
    assert texts == [["f1", "f2"], ["own"], ["g"], []]
    (rejection,) = result.rejections
    assert (rejection.file, rejection.field) == (str(gold), "118")


def test_gold_nuggets_that_fit_no_answer_are_reported(write):
    result = read_records(write(MINIMAL), nuggets=write({"999": ["f"]}, name="gold.json"))
    (rejection,) = result.rejections
    assert rejection.line == 0
    assert "no nuggets were used" in rejection.problem

"""ragassay's own format, and plain rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from format_samples import sample
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.formats import read_records, read_records_from_rows

pd = LazyModule("pandas")

MINIMAL = {"question": "Does it help?", "answer": "It does [1].", "sources": ["It helped."]}


def test_a_made_up_id_steps_aside_for_an_id_that_is_taken(write):
    result = read_records(write({**MINIMAL, "id": "line-2"}, MINIMAL))
    assert [record.id for record in result.records] == ["line-2", "line-2-2"]
    assert result.rejections == ()


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
    assessed = write(sample("medaesqa"), name="one-question-of-two-answers")
    assert len(read_records(assessed, limit=1).records) == 1
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

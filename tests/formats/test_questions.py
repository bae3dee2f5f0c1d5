"""Questions without answers, for those who bring the answers themselves."""

from __future__ import annotations

import pytest
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.formats import read_records, read_records_from_rows
from ragassay.runs.job import read_job

pd = LazyModule("pandas")


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"id": "a", "question": "Q?"}, "ragassay"),
        ({"question": "Q?", "category": "drugs", "nuggets": ["A fact."]}, "ragassay"),
        ({"question": "Q?", "answer": None}, "ragassay"),
        ({"user_input": "Q?", "reference": "R."}, "ragas"),
        ({"input": "Q?", "expected_output": "R."}, "deepeval"),
    ],
)
def test_a_question_needs_no_answer(row, name, write):
    path = write(row, name="questions.jsonl")
    for found in (
        read_records(path, only_questions=True),
        read_records_from_rows([row], only_questions=True),
    ):
        (record,) = found.records
        assert (found.format, record.question, record.answer) == (name, "Q?", "")
        assert [n.text for n in record.nuggets] == row.get("nuggets", [])
        assert record.reference == (row.get("reference") or row.get("expected_output"))


def test_columns_of_questions_can_be_named():
    frame = pd.DataFrame({"q": ["Q?"], "facts": ['["A fact."]']})
    named = {"question": "q", "nuggets": "facts"}
    (record,) = read_job(frame, answered=False, columns=named).records
    assert (record.question, record.answer, record.nuggets[0].text) == ("Q?", "", "A fact.")


def test_answers_are_read_as_before():
    row = {"question": "Q?", "answer": "A."}
    assert read_records_from_rows([row], only_questions=True) == read_records_from_rows([row])
    found = read_records_from_rows([row, {"question": "Q?"}])
    assert [(r.line, r.field) for r in found.rejections] == [(2, "answer")]
    with pytest.raises(InputError, match="has an unknown format"):
        read_records_from_rows([{"nothing": "Q?"}], only_questions=True)

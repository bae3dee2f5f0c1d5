"""Rows with one passage each are one answer."""

from __future__ import annotations

import pytest

from ragassay.formats import read_records, read_records_from_rows

HEADER = b"query_id,query,query_run,passage_id,passage,generated_answer"


def test_the_csv_of_open_rag_eval_is_grouped_by_query_and_run(write):
    path = write(
        HEADER,
        b"q1,What is it?,1,[1],It is big.,It is big [1] and round [2][3].",
        b"q1,What is it?,1,[2],It is dense.,",
        b"q1,What is it?,1,[3],It is round.,",
        b"q1,What is it?,2,[1],It is big.,It is small [1].",
        b"q2,How many?,1,[1],Seven have one.,",
        b"q2,How many?,1,[2],Eight have none.,Seven [1].",
        name="results.csv",
    )
    found = read_records(path, answered=True)
    assert found.rejections == ()
    assert [(one.answer, [s.id for s in one.sources]) for one in found.records] == [
        ("It is big [1] and round [2][3].", ["1", "2", "3"]),
        ("It is small [1].", ["1"]),
        ("Seven [1].", ["1", "2"]),
    ]
    assert [s.text for s in found.records[2].sources] == ["Seven have one.", "Eight have none."]
    assert {"question": "query", "answer": "generated_answer", "sources": "passage"} == found.fields


def test_the_csv_without_runs_is_grouped_too(write):
    path = write(
        b"query_id,query,passage_id,passage,generated_answer",
        b"q1,What?,[1],One.,A [1].",
        b"q1,What?,[2],Two.,",
        name="results.csv",
    )
    (record,) = read_records(path).records
    assert [s.text for s in record.sources] == ["One.", "Two."]


BASE = {"question": "Q?", "answer": "A [1]."}


@pytest.mark.parametrize(
    "rows",
    [
        [BASE | {"passage": "One two."}, BASE | {"passage": "Three."}],
        [BASE | {"context": "One two."}, BASE | {"context": "Three."}],
        [BASE | {"id": "a", "chunk": "One two."}, BASE | {"id": "a", "chunk": "Three."}],
        [BASE | {"chunk": "One two.", "n": 1}, BASE | {"chunk": "Three.", "n": 2}],
        [
            {"query": "Q?", "output": "A [1].", "document": {"id": "x", "text": "One two."}},
            {"query": "Q?", "output": "A [1].", "document": {"id": "y", "text": "Three."}},
        ],
    ],
)
def test_rows_of_one_answer_but_for_one_passage_are_one(rows):
    found = read_records_from_rows([rows[0], BASE | {"question": "Other?"}, rows[1]])
    assert found.rejections == ()
    assert [len(record.sources) for record in found.records] == [2, 0]
    assert [s.text for s in found.records[0].sources] == ["One two.", "Three."]


def test_chunks_of_one_document_are_its_passages():
    rows = [BASE | {"pmid": "31", "passage": text} for text in ("One.", "Two.")]
    (record,) = read_records_from_rows(rows).records
    assert [(s.id, s.part_of) for s in record.sources] == [("31", "31"), ("31#2", "31")]


@pytest.mark.parametrize(
    "rows",
    [
        [BASE | {"passages": ["One."]}, BASE | {"passages": ["Two."]}],
        [BASE | {"passage": "One."}, BASE | {"passage": "One."}],
        [BASE | {"passage": "One."}, BASE | {"answer": "B.", "passage": "Two."}],
        [BASE | {"id": "a", "passage": "One."}, BASE | {"id": "b", "passage": "Two."}],
        [BASE | {"system": "s", "passage": "One."}, BASE | {"system": "t", "passage": "Two."}],
    ],
)
def test_other_rows_stay_apart(rows):
    found = read_records_from_rows(rows)
    assert [len(record.sources) for record in found.records] == [1, 1]

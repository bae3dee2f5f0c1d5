"""Answers as Python programs hold them: frames, tables, data sets, documents of LangChain."""

from __future__ import annotations

import pandas as pd
import pytest
from langchain_core.documents import Document as LangChainDocument

from ragassay.errors import InputError
from ragassay.records import Document
from ragassay.runs.job import documents_of, read_job

ROWS = [
    {"question": "Q1?", "answer": "A one.", "contexts": ["c1", "c2"], "ground_truth": "G"},
    {"question": "Q2?", "answer": "A two.", "contexts": ["c3"], "ground_truth": "H"},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
CHUNKS = [
    LangChainDocument(page_content="x", metadata={"source": "a.pdf", "title": "T"}),
    LangChainDocument(page_content="y", metadata={"source": "a.pdf"}),
    LangChainDocument(page_content="z", id="7"),
    LangChainDocument(page_content="w"),
]
SOURCES = (
    Document(id="a.pdf", text="x", title="T"),
    Document(id="a.pdf#2", text="y"),
    Document(id="7", text="z"),
    Document(id="4", text="w"),
)


@pytest.mark.parametrize(
    "answers",
    [pd.DataFrame(ROWS), COLUMNS, pd.DataFrame(ROWS).to_dict("series"), iter(ROWS)],
    ids=["pandas", "columns", "series", "iterator"],
)
def test_rows_are_the_same_however_they_are_held(answers):
    assert read_job(answers).records == read_job(ROWS).records


def test_an_arrow_table_is_read():
    arrow = pytest.importorskip("pyarrow")
    assert read_job(arrow.Table.from_pylist(ROWS)).records == read_job(ROWS).records


def test_a_frame_of_polars_is_read():
    polars = pytest.importorskip("polars")
    for frame in (polars.DataFrame(ROWS), polars.LazyFrame(ROWS)):
        assert read_job(frame).records == read_job(ROWS).records


def test_a_data_set_of_hugging_face_is_read():
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_list(ROWS)
    for answers in (made, made.to_iterable_dataset(), made.with_format("numpy")):
        assert read_job(answers).records == read_job(ROWS).records
    with pytest.raises(InputError, match="DatasetDict of test: give one of its data sets"):
        read_job(datasets.DatasetDict(test=made))


def test_lists_in_a_frame_that_was_read_from_csv_are_lists():
    frame = pd.DataFrame([ROWS[0] | {"contexts": "['c1' 'c2']"}])
    assert read_job(frame).records[0].sources == read_job(ROWS).records[0].sources


def test_columns_of_a_frame_can_be_named():
    frame = pd.DataFrame({"q": ["Q?"], "out": ["A."], "docs": ["['a', 'b']"], "n": [1]})
    named = {"question": "q", "answer": "out", "sources": "docs"}
    (record,) = read_job(frame, columns=named).records
    assert [source.text for source in record.sources] == ["a", "b"]
    assert record.metadata == {"n": "1"}


def test_documents_of_langchain_are_sources():
    assert documents_of(CHUNKS) == SOURCES
    (record,) = read_job([{"question": "Q?", "answer": "A.", "sources": CHUNKS}]).records
    assert record.sources == SOURCES
    dumped = [chunk.model_dump() for chunk in CHUNKS]
    (record,) = read_job([{"question": "Q?", "answer": "A.", "sources": dumped}]).records
    assert record.sources == SOURCES
    assert documents_of([CHUNKS[0], {"text": "q"}, "p"]) == (
        SOURCES[0],
        Document(id="2", text="q"),
        Document(id="3", text="p"),
    )


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        (3, "answers are a int"),
        ({"question": ["Q?"], "answer": []}, "columns differ in length: question has 1"),
        ({"question": "Q?", "answer": "A."}, "give one of its data sets, a list of rows"),
    ],
)
def test_what_is_no_table_is_an_error(answers, problem):
    with pytest.raises(InputError, match=problem):
        read_job(answers)

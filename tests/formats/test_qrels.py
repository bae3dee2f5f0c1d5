"""Queries and judgments of retrieval experiments."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ragassay.formats.retrieval import read_qrels, read_queries


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\n",
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n\nq2\td1\t1",
        "q1 d1 2\r\nq1 d2 0\r\nq2 d1 1\r\n",
    ],
)
def test_both_shapes_of_judgments(write, text: str) -> None:
    path = write(gzip.compress(text.encode()), name="qrels.gz", end=b"")
    assert read_qrels(path) == ({"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}, [])


def test_a_first_line_with_a_bad_grade_is_no_header(write) -> None:
    path = write("q1 d1 -x\nq1 d2 1", name="qrels")
    qrels, (rejection,) = read_qrels(path)
    assert qrels == {"q1": {"d2": 1}}
    assert (rejection.line, rejection.field) == (1, "grade")


def test_queries_as_json_lines_or_columns(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": 1, "claim": "a b"}\n{"_id": "x", "text": "c"}\n')
    (tmp_path / "q.tsv").write_text("1\ta b\nx\tc\n")
    expected = ({"1": "a b", "x": "c"}, [])
    assert read_queries(tmp_path / "q.jsonl") == read_queries(tmp_path / "q.tsv") == expected

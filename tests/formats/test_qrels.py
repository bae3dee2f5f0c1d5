"""Queries and judgments of retrieval experiments."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.formats.qrels import read_qrels, read_queries


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\n",
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n\nq2\td1\t1",
        "q1 d1 2\r\nq1 d2 0\r\nq2 d1 1\r\n",
    ],
)
def test_both_shapes_of_judgments(tmp_path: Path, text: str) -> None:
    path = tmp_path / "qrels.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_qrels(path) == {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no judgment"),
        ("q1 d1\n", ":1: found 2 columns"),
        ("q d 1\nq d x\n", ":2: the grade 'x'"),
    ],
)
def test_bad_judgments_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "qrels"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_qrels(path)


def test_queries_as_json_lines_or_columns(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": 1, "claim": "a b"}\n{"_id": "x", "text": "c"}\n')
    (tmp_path / "q.tsv").write_text("1\ta b\nx\tc\n")
    expected = {"1": "a b", "x": "c"}
    assert read_queries(tmp_path / "q.jsonl") == read_queries(tmp_path / "q.tsv") == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.jsonl", '{"id": 1}\n', ":1: expected an id"),
        ("q.jsonl", "{\n", "q.jsonl:1: "),
        ("q.tsv", "1 a b\n", ":1: expected `qid TAB text`"),
        ("q.tsv", "", "no query"),
    ],
)
def test_bad_queries_are_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_queries(tmp_path / name)

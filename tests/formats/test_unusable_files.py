"""A file without a usable line is refused in one error, which names what was expected."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from case_tables import each_case

from ragassay.errors import InputError
from ragassay.formats import (
    read_corpus,
    read_graded_paragraphs,
    read_labels,
    read_nuggets,
    read_qrels,
    read_records,
    read_run,
    read_test_banks,
)
from ragassay.formats.retrieval import read_queries
from ragassay.formats.topics import read_topics

EMPTY = (b"", b"\n \n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0))
FORMATS = "(?s)ragassay.*ragas.*user_input.*biogen-2025-b.*yescieval"
CASES = [
    *[(read, content, "empty") for read in (read_records, read_corpus) for content in EMPTY],
    (read_records, b'{"query": "Q", "qid": "1", "nuggets": []}', FORMATS),
    (read_records, b'{"query_id": "1", "query_text": "Q", "items": []}', FORMATS),
    (read_records, b'{"results": [{"title": "T"}]}', FORMATS),
    (read_records, b'{"id": "1", "question": "Q", "papers": []}', FORMATS),
    (read_records, b"{}", FORMATS),
    (read_records, b"[1, 2, 3]", FORMATS),
    (read_records, b"PK\x03\x04 not text at all", FORMATS),
    (read_records, b"[]", "is empty"),
    (read_records, b'{"run": "t", "results": []}', "is empty"),
    (read_records, b"\xff\xfe{\x00}\x00", ":1: the file is in UTF-16; expected UTF-8: save it as"),
    (read_records, b"\x1f\x8b\x08\x00 no gzip", ":1: the file is truncated or damaged here"),
    *[
        (read_records, b'{"run": "t", "results": ' + rows + b"}", FORMATS)
        for rows in (b"null", b"3", b'["text", 4]', b"[[]]")
    ],
    (read_corpus, b'{"user_input": "Q?", "response": "A."}', "pmid or id or docid"),
    *[
        (read_graded_paragraphs, content, "no graded paragraphs")
        for content in (b"", b"{}", b"q 0 d 1", b"\x1f\x8b\x08\x00")
    ],
    (read_run, b"", "has no rankings$"),
    (read_qrels, b"", "has no judgments$"),
    *[(read, b"q\n", ":1: found 1 columns, expected `qid") for read in (read_run, read_qrels)],
    (read_queries, b'{"id": 1}\n', "no queries.*:1: .* expected an id"),
    (read_queries, b"1 a b\n", ":1: found 1 columns, expected `qid TAB text`"),
    (read_queries, b"", "no queries$"),
    *[
        (read_labels, content, "is empty|ragassay-labels|damaged|UTF-16")
        for content in (
            *(b"[]", b"116 0 31452104 2\n", b'{"question": "Q", "answer": "A"}', b'["q", "p"]'),
            *(b"", b"\x1f\x8b\x08\x00 no", b"\xff\xfe[\x00"),
        )
    ],
    *[
        (read_nuggets, content, "(?s)expected.*nuggetizer-nuggets")
        for content in (
            *(b"", b"\n", b"[]", b"[1]", b"{}", b'{"116": "n1"}', b"n1\nn2"),
            *(b'{"question": "Q", "answer": "A"}', b'{"116": ["a"]}\n{"117": ["b"]}'),
        )
    ],
    (read_nuggets, b'{"116": ["n1"], "116": ["n2"]}', '"116" occurs twice'),
    (read_test_banks, b'{"query": "Q?", "qid": "1", "nuggets": []}', "rubric-test-bank"),
    (read_topics, b"a\t \nb\t", "no topic"),
    (read_topics, b"topic_id,date\n1,t", "no topic"),
    (read_topics, b"{", "not JSON"),
    (read_topics, b'{"topics": 3}', "the number 3"),
    (read_topics, b"\xc3\xbf\xc3\xbe", "no topic"),
]


@each_case(("read", "content", "message"), CASES)
def test_a_file_without_a_usable_line_is_refused(write, read, content, message):
    path = write(content, name="q.jsonl" if content.startswith(b'{"id"') else "file", end=b"")
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)
    if content.startswith((b"\xff\xfe{", b"\x1f\x8b\x08\x00 no gzip")):
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("read", [read_records, read_corpus])
def test_a_missing_file_and_a_folder_are_input_errors(read, tmp_path: Path):
    with pytest.raises(InputError, match=r"nowhere\.jsonl does not exist"):
        read(tmp_path / "nowhere.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)

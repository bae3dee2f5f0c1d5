"""Any bytes, given to any reader: what it says, it says as an error of ours or as a rejection."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from case_tables import each_case
from hostile.hostile_files import CONTENTS, READERS, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NAMES = (
    *("id", "question", "answer", "text", "sources", "citations", "nuggets", "query_id", "items"),
    *("query_text", "question_text", "nugget_text", "paragraph_id", "results", "topics"),
    *("topic_id", "user_input", "response", "retrieved_contexts", "metadata", "responses"),
    *("references", "label", "claim", "evidence", "grade", "title", "abstract", "pmid", "paper"),
    *("body", "machine_generated_answers", "answer_sentences", "citation_assessment"),
    "exam_grades",
)
SPECIAL = ("", " ", "\0", "\ud800", "\ufeff", "\u202e", "1", "PMID 1", "[1-9]", "../x", "9" * 400)

texts = st.one_of(st.sampled_from(SPECIAL), st.text(max_size=12))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(NAMES), texts), inner, max_size=4),
    ),
    max_leaves=12,
)
rows = st.dictionaries(st.sampled_from(NAMES), values, max_size=6)
pieces = (
    *(b"[", b"]", b"{", b"}", b",", b'"', b"\n", b"\r", b"\r\n", b"\t", b";", b"\0", b"\xff", b"<"),
    *(b"id,question,answer\n", b'"a\n', b"PMID- 1\n", b"TI  - T\n", b"      x\n", b"1 0 d 1\n"),
    *(b"q Q0 d 1 2.5 t\n", b"<PubmedArticleSet>", b"<PubmedArticle>", b"<article>", b"</article>"),
    *(b"<!DOCTYPE x [", b"]>", b"&e;", b"<top>", b"</top>", b"%PDF-1.4\n", b"\x1f\x8b\x08\x00"),
    *(b"PK\x03\x04", b"PAR1", b"\xef\xbb\xbf", b"\xff\xfe", b'{"id": "1", "question": "Q"}'),
)


def as_lines(made: list[object]) -> bytes:
    return b"\n".join(json.dumps(one).encode() for one in made)


def cut(content: bytes, start: int, end: int, put: bytes) -> bytes:
    """Return a content with a stretch of it replaced."""
    return content[:start] + put + content[end:]


short = sorted((one for one in CONTENTS.values() if len(one) < 5_000), key=len)
contents = st.one_of(
    st.lists(st.one_of(rows, values), max_size=4).map(as_lines),
    st.lists(rows, max_size=3).map(lambda made: json.dumps(made, indent=1).encode()),
    rows.map(lambda row: json.dumps(row, indent=1).encode()),
    st.lists(st.one_of(st.sampled_from(pieces), st.binary(max_size=8)), max_size=20).map(b"".join),
    st.builds(cut, st.sampled_from(short), *[st.integers(0, 200)] * 2, st.binary(max_size=8)),
)
files = st.one_of(contents, contents, contents.map(lambda data: gzip.compress(data, mtime=0)))


def check(reader: str, path: Path, n_examples: int) -> None:
    @settings(
        max_examples=n_examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(files)
    def reads(content: bytes) -> None:
        path.write_bytes(content)
        outcome(READERS[reader], path)

    reads()


@each_case("reader", READERS)
def test_no_file_raises_anything_but_an_error_of_ours(reader, tmp_path):
    check(reader, tmp_path / "file", 25)


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("reader", READERS)
def test_none_of_ten_thousand_files_raises_anything_else(reader, tmp_path):
    check(reader, tmp_path / "file", 10_000)

"""Files that are damaged, malicious or not what they claim to be."""

from __future__ import annotations

import gzip
import json

import pytest
from case_tables import each_case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.errors import InputError
from ragassay.files import limit_line_length
from ragassay.formats import read_records
from ragassay.formats.items import MAX_CONTENT

GOOD = '{"id": "good", "question": "Q", "answer": "A"}'
LAST = '{"id": "last", "question": "Q", "answer": "A"}'


@each_case(
    ("line", "field", "problem"),
    [
        (b"{", "", "not JSON"),
        (b'{"question": "Q", "answer": "A"', "", "not JSON"),
        (b"not json", "", "not JSON"),
        (b"[1, 2]", "", "a list of 2"),
        (b"42", "", "the number 42"),
        (b"null", "", "null"),
        (b'"text"', "", 'the text "text"'),
        (b"{}", "question", "missing"),
        (b'{"question": "Q", "answer": "\xff\xfe"}', "", "not UTF-8: byte 0xff"),
        (b'{"question": "Q\\u0000", "answer": "A"}', "question", "NUL character"),
        (b'{"question": "Q", "answer": "\\ud800"}', "answer", "lone surrogate (\\ud800)"),
        (b'{"question": "Q", "answer": ["\\udfff"]}', "answer.0", "lone surrogate (\\udfff)"),
        (b'{"question": "Q", "answer": "A", "\\ud800": 1}', "", "lone surrogate"),
        (b'{"question": "Q", "answer": "A", "score": NaN}', "score", "NaN"),
        (b'{"question": "Q", "answer": "A", "x": {"y": -Infinity}}', "x.y", "an infinite number"),
        (b"[" * 100_000, "", "nested too deeply"),
        (b'{"a":' * 100_000, "", "nested too deeply"),
        (b"x" * 5_000_000, "", "not JSON"),
        (b'{"question": "Q", "question": "P", "answer": "A"}', "", '"question" occurs twice'),
        (b'{"question": "Q", "answer": "A", "x": [{"y": 1, "y": 1}]}', "", '"y" occurs twice'),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_bad_line_is_rejected_and_the_others_are_read(write, line, field, problem):
    result = read_records(write(GOOD, line, LAST))
    assert [record.id for record in result.records] == ["good", "last"]
    (rejection,) = result.rejections
    assert (rejection.line, rejection.field) == (2, field)
    assert problem in rejection.problem
    assert rejection.expected
    assert 0 < len(rejection.content) <= MAX_CONTENT
    rejection.model_dump_json().encode("utf-8")


def test_the_bad_line_may_be_the_first(write):
    result = read_records(write("[1, 2]", GOOD, LAST))
    assert [record.id for record in result.records] == ["good", "last"]
    assert [rejection.line for rejection in result.rejections] == [1]


def test_a_long_line_is_read_where_it_is_sound(write):
    long = json.dumps({"id": "long", "question": "Q", "answer": "word " * 1_000_000})
    result = read_records(write(long, GOOD))
    assert result.rejections == ()
    assert len(result.records[0].answer) == 5_000_000


def test_a_line_beyond_the_limit_is_skipped_without_being_held(write):
    with limit_line_length(100):
        result = read_records(write(GOOD, "{" + " " * 3_000_000, LAST))
    assert [record.id for record in result.records] == ["good", "last"]
    (rejection,) = result.rejections
    assert (rejection.line, rejection.problem) == (2, "the line is longer than 100 bytes")


def test_byte_order_mark_blank_lines_and_windows_line_ends_do_no_harm(write):
    path = write(b"\xef\xbb\xbf" + GOOD.encode(), b"", b"  \t", LAST, end=b"\r\n")
    result = read_records(path)
    assert [record.id for record in result.records] == ["good", "last"]
    assert result.rejections == ()


def test_a_line_separator_in_text_ends_no_line(write):
    text = "one\u2028two\u0085three"
    line = json.dumps({"question": "Q", "answer": text}, ensure_ascii=False)
    assert read_records(write(line)).records[0].answer == text


def test_a_damaged_gzip_file_is_reported(write):
    packed = bytearray(gzip.compress((GOOD + "\n").encode()))
    packed[-6] ^= 0xFF
    path = write(bytes(packed), name="damaged.gz", end=b"")
    result = read_records(path)
    assert [record.id for record in result.records] == ["good"]
    assert "damaged" in result.rejections[0].problem


ROW = {"user_input": "Q", "response": "A", "retrieved_contexts": ['a "]" [{ \\ b', "c,d"]}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([ROW, ROW]),
        json.dumps([ROW, ROW], indent=2),
        json.dumps([ROW, ROW], indent=None).replace("}, {", "},\n{"),
        json.dumps([ROW, ROW]).replace("}, {", "}\n,{"),
        "\n\n[\n" + json.dumps(ROW) + ",\n" + json.dumps(ROW) + "\n]\n",
        "\ufeff" + json.dumps([ROW, ROW], indent="\t"),
    ],
)
def test_json_arrays_are_read_however_they_are_laid_out(write, text):
    result = read_records(write(text))
    assert result.format == "ragas"
    assert result.rejections == ()
    assert [record.id for record in result.records] == ["item-1", "item-2"]
    assert [source.text for source in result.records[1].sources] == ROW["retrieved_contexts"]


def test_a_bad_item_of_an_array_is_rejected_with_its_line(write):
    good = json.dumps(ROW)
    result = read_records(write("[", good + ",", '{"user_input": nope},', good + ",", "7", "]"))
    assert len(result.records) == 2
    assert [(one.line, one.content) for one in result.rejections] == [
        (3, '{"user_input": nope}'),
        (5, "7"),
    ]


def test_an_array_that_breaks_off_gives_its_whole_items(write):
    result = read_records(write(json.dumps([ROW, ROW])[:-20]))
    assert len(result.records) == 1
    assert "not closed" in result.rejections[0].problem


def test_text_after_an_array_is_reported(write):
    result = read_records(write("[", json.dumps(ROW), "]", "trailing"))
    assert len(result.records) == 1
    assert "after the end of the array" in result.rejections[0].problem


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([b"", b"{\n"]),
    st.lists(
        st.one_of(
            st.binary(max_size=40).filter(lambda data: b"\n" not in data),
            st.sampled_from([b"[", b"]", b"{", b"},", b'[{"a":', b"[{", GOOD.encode() + b","]),
            st.sampled_from([b"}", b",", b'"results": [', b'"results"', b":", b"]}", b'"\\']),
        ),
        max_size=8,
    ),
)
def test_no_junk_raises_anything_but_an_input_error(write, start: bytes, junk: list[bytes]):
    path = write(start + b"\n".join([*junk, LAST.encode()]), name="junk", end=b"")
    try:
        result = read_records(path)
    except InputError as error:
        assert str(path) in str(error)
    else:
        for rejection in result.rejections:
            assert len(rejection.content) <= MAX_CONTENT
            rejection.model_dump_json().encode("utf-8")

"""JSON documents with a list of rows, however they are laid out and damaged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.formats import read_records
from ragassay.formats.documents import ROW_FIELDS, ROW_LISTS

ROW = {"query_id": "1", "query": 'a "]" [{ \\ b', "response": "c,d", "x": {"results": [1]}}
DOCUMENT = {"note": ["]", {"results": []}], "results": [ROW, {**ROW, "query_id": "2"}], "z": {}}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(DOCUMENT),
        json.dumps(DOCUMENT, indent=0),
        json.dumps(DOCUMENT, indent="\t"),
        json.dumps(DOCUMENT).replace('"results": [{"q', '"results":\n[\n{"q'),
        json.dumps(DOCUMENT).replace('}, {"query_id": "2"', '}\n, {"query_id": "2"'),
        json.dumps(DOCUMENT, indent=1).replace("\n", "\r\n\r\n"),
        "\ufeff\n" + json.dumps(DOCUMENT, indent=1),
    ],
)
def test_a_document_is_read_however_it_is_laid_out(write, text):
    result = read_records(write(text))
    assert result.rejections == ()
    assert [record.id for record in result.records] == ["1", "2"]
    assert result.records[0].question == ROW["query"]
    assert result.records[0].metadata == {"x": '{"results": [1]}'}


def test_a_bad_row_keeps_its_line_and_the_others_are_read(write):
    text = json.dumps(DOCUMENT, indent=0).replace('"query_id": "2"', '"query_id": nope')
    result = read_records(write(text))
    assert [record.id for record in result.records] == ["1"]
    (rejection,) = result.rejections
    assert rejection.field == "results.1"
    assert text.splitlines()[rejection.line] == '"query_id": nope,'


@pytest.mark.parametrize("cut", [30, 60])
def test_a_document_that_breaks_off_gives_its_whole_rows(write, cut):
    result = read_records(write(json.dumps(DOCUMENT, indent=1)[:-cut]))
    assert [record.id for record in result.records] == ["1"]
    assert "not closed" in result.rejections[-1].problem


def test_a_packed_document_that_breaks_off_gives_its_whole_rows(write):
    rows = [{**ROW, "query_id": str(i), "query": f"Q{i * i}"} for i in range(4000)]
    whole = gzip.compress(json.dumps({"results": rows}, indent=1).encode())
    path = write(whole[: len(whole) // 2], name="cut.json", end=b"")
    result = read_records(path)
    assert 0 < len(result.records) < 4000
    assert any("is truncated" in one.problem for one in result.rejections)


def test_a_single_row_may_stand_on_several_lines(write):
    for row in (ROW, {"question": "Q", "answer": [{"text": "S"}], "results": [{}]}):
        result = read_records(write(json.dumps(row, indent=2)))
        assert (len(result.records), result.rejections) == (1, ())


def test_json_lines_whose_first_line_is_broken_are_no_document(write):
    good = json.dumps(ROW)
    for bad in ('{"query": "Q', '{"query":', '{"query": [', '{"query": "Q",', "{"):
        result = read_records(write(bad, good))
        assert [record.id for record in result.records] == ["1"], bad
        assert [one.line for one in result.rejections] == [1], bad


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.dictionaries(TEXT, TEXT, max_size=2), max_size=3),
    st.dictionaries(TEXT, TEXT, max_size=2),
    st.sampled_from([None, 0, 1]),
)
def test_any_document_gives_back_its_rows(tmp_path: Path, extras, header, indent):
    rows = [{**extra, **ROW, "query_id": str(i)} for i, extra in enumerate(extras)]
    header = {key: header[key] for key in header if key not in (*ROW_LISTS, *ROW_FIELDS)}
    path = tmp_path / "document.json"
    text = json.dumps({**header, "results": [*rows, {**ROW, "query_id": "last"}]}, indent=indent)
    path.write_text(text, encoding="utf-8")
    result = read_records(path)
    rejected = [one.field for one in result.rejections]
    ids = [str(i) for i in range(len(rows)) if not hostile(rows[i])]
    assert [record.id for record in result.records] == [*ids, "last"]
    assert len(rejected) == len(rows) - len(ids) + hostile(header)


def hostile(fields) -> bool:
    return "\x00" in "".join([*fields, *(v for v in fields.values() if isinstance(v, str))])


@pytest.mark.parametrize("indent", [None, 1])
def test_a_hostile_row_or_header_does_not_take_the_rows_with_it(write, indent):
    rows = [ROW, {**ROW, "query_id": "2", "x": float("nan")}, {**ROW, "query_id": "3"}]
    document = {"note": "\ud800", "results": rows}
    result = read_records(write(json.dumps(document, indent=indent)))
    assert [record.id for record in result.records] == ["1", "3"]
    assert [one.field for one in result.rejections] == ["note", "results.1.x"]


def test_a_damaged_row_of_a_document_on_one_line_is_rejected_alone(write):
    text = json.dumps(DOCUMENT).replace('"query_id": "2"', '"query_id": nope')
    result = read_records(write(text))
    assert [record.id for record in result.records] == ["1"]
    assert [(one.line, one.field) for one in result.rejections] == [(1, "results.1")]

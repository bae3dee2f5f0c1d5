"""Tables of answers: CSV, TSV, Parquet and Excel, with known columns or a map of them."""

from __future__ import annotations

import gzip
import json
import sys
import zipfile

import pytest

from ragassay.errors import ExtraError, InputError
from ragassay.formats import read_labels, read_records, read_records_from_rows, tables
from ragassay.formats.row_mapping import parse_column_map
from ragassay.formats.tables import iter_table

ROWS = [
    {"query": "Q1?", "output": "A, one.", "passages": "['p1', 'p2']", "n": 1},
    {"query": "Q2?", "output": "A two.", "passages": "only", "n": 2},
]
MAP = {"question": "query", "answer": "output", "sources": "passages"}
TEXT = "query,output,passages,n\nQ1?,\"A, one.\",\"['p1', 'p2']\",1\nQ2?,A two.,only,2\n"


def shape(found):
    return [(r.question, r.answer, [s.text for s in r.sources], r.metadata) for r in found.records]


WANTED = [
    ("Q1?", "A, one.", ["p1", "p2"], {"n": "1"}),
    ("Q2?", "A two.", ["only"], {"n": "2"}),
]


@pytest.mark.parametrize("mark", [",", "\t", ";"])
def test_a_mapped_table_of_text_is_read_by_its_content(mark, tmp_path):
    path = tmp_path / "answers"
    lines = [["query", "output", "passages", "n"], ["Q1?", '"A, one."', "\"['p1', 'p2']\"", "1"]]
    lines.append(["Q2?", "A two.", "only", "2"])
    path.write_text("\n".join(mark.join(line) for line in lines))
    assert shape(read_records(path, columns=MAP)) == WANTED


def test_a_packed_table_with_a_byte_order_mark_is_read(write):
    path = write(gzip.compress(b"\xef\xbb\xbf" + TEXT.encode()), name="answers.csv.gz", end=b"")
    assert shape(read_records(path, columns=MAP)) == WANTED


def test_a_parquet_file_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(tables, "LARGE_BYTES", 100_000)
    path = tmp_path / "answers.parquet"
    column = arrow.table({"question": ["Why? " * 100] * 1_000})
    parquet.write_table(column, path, compression="zstd", use_dictionary=False)
    with pytest.raises(InputError, match=r"is refused because [\d,]+ of its bytes unpack to 50\d,"):
        list(iter_table(path, "parquet"))


def test_a_parquet_file_keeps_its_types(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "answers.parquet"
    rows = [ROWS[0] | {"passages": ["p1", "p2"]}, ROWS[1] | {"passages": ["only"]}]
    parquet.write_table(arrow.Table.from_pylist(rows), path)
    assert shape(read_records(path, columns=MAP)) == WANTED
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_records(path, columns=MAP)


@pytest.mark.parametrize(("library", "content"), [("pyarrow", b"PAR1..PAR1"), ("openpyxl", None)])
def test_a_missing_library_is_named_with_its_extra(library, content, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    path = tmp_path / "answers"
    if content:
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(ExtraError, match=rf'requires {library}: pip install "ragassay\[tables\]"'):
        read_records(path)


def test_known_columns_need_no_map(write):
    path = write(b"id,question,answer,contexts", b"a,Q?,Yes.,\"['c']\"", name="a.csv")
    (record,) = read_records(path).records
    assert (record.id, record.answer, record.sources[0].text) == ("a", "Yes.", "c")
    path = write(b"task,label,record_id,sentence", b"relevance,required,a,1", name="l.csv")
    assert read_labels(path).labels[0].sentence == 1


@pytest.mark.parametrize("cell", [b"{", b"[1] grew", b"{drug} or [2]?"])
def test_a_table_whose_first_cell_begins_like_json_is_a_table(cell, write):
    (record,) = read_records(write(b"question,answer", cell + b",Yes.", name="a.csv")).records
    assert record.question == cell.decode()
    lines = write(b"a title, by somebody", b'{"question": "Q?", "answer": "Yes."}', name="a.jsonl")
    assert [one.question for one in read_records(lines).records] == ["Q?"]


def test_a_bad_row_is_named_by_its_line_and_the_others_are_read(write):
    path = write(
        b"id,question,answer",
        b'a,"Q\n?",Yes.',
        b"b,Q?",
        b"c,Q?,\xff",
        b"d,Q?,",
        b"",
        b",,",
        b"e,Q?,No.",
        name="a.csv",
    )
    found = read_records(path)
    assert [record.id for record in found.records] == ["a", "e"]
    assert [(r.line, r.field, r.problem) for r in found.rejections] == [
        (4, "", "found 2 cells"),
        (
            *(5, "answer"),
            "not UTF-8: byte 0xff; it looks like Windows-1252: save it as UTF-8 "
            "(`iconv -f WINDOWS-1252 -t UTF-8 IN > OUT`)",
        ),
        (
            *(6, "answer"),
            'the field is missing, or null; found the fields "id", "question"',
        ),
    ]


def test_a_column_that_is_named_twice_is_an_error(write):
    with pytest.raises(InputError, match="contains the column 'answer' twice"):
        read_records(write(b"question,answer,answer", b"Q?,A.,B.", name="a.csv"))


def test_a_map_is_checked_against_the_columns(write):
    path = write({"query": "Q?", "output": "A."})
    with pytest.raises(InputError, match="has no column 'out'; the columns are query, output"):
        read_records(path, columns={"question": "query", "answer": "out"})
    assert shape(read_records(path, columns={"question": "query", "answer": "output"})) == [
        ("Q?", "A.", [], {})
    ]


def test_a_column_that_is_not_named_cannot_be_mistaken_for_a_field():
    row = {"query": "Q?", "answer": "A.", "date": "3/5/2024", "question": "other"}
    (record,) = read_records_from_rows([row], columns={"question": "query"}).records
    assert (record.question, record.answer, record.date) == ("Q?", "A.", None)
    assert record.metadata == {"date": "3/5/2024", "question": "other"}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("query", "write FIELD=COLUMN"),
        ("=query", "write FIELD=COLUMN"),
        (["prompt=query"], "unknown field 'prompt'; the fields are id, question, answer"),
        (["answer=a", "answer=b"], "answer is mapped to two columns"),
    ],
)
def test_a_map_that_is_none_is_an_error(given, problem):
    with pytest.raises(InputError, match=problem):
        parse_column_map(given)


def test_a_map_may_be_repeated_or_joined():
    wanted = {"question": "a,b", "answer": "model output"}
    assert parse_column_map("question=a,b,answer=model output") == wanted
    assert (
        parse_column_map(["question=a,b", "answer=model output"])
        == parse_column_map(wanted)
        == wanted
    )
    assert parse_column_map(None) == {}


def test_unknown_columns_are_said_with_what_to_do(write):
    path = write(b"topic,told,R&D", b"Q?,,", b"Q?,A.,", name="a.csv")
    with pytest.raises(InputError, match="--map question=COLUMN"):
        read_records(path)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "columns",
    [
        {"question": ["Q1?", "Q2?"], "answer": ["A1.", "A2."], "contexts": [["c"], []]},
        {
            "question": {"0": "Q1?", "1": "Q2?"},
            "answer": {"0": "A1.", "1": "A2."},
            "contexts": {"0": ["c"], "1": []},
        },
    ],
    ids=["to_dict", "to_json"],
)
def test_an_object_of_columns_is_read_as_its_rows(columns, indent, write):
    path = write(json.dumps(columns, indent=indent), name="a.json")
    found = read_records(path)
    assert [(r.id, r.question, len(r.sources)) for r in found.records] == [
        ("row-1", "Q1?", 1),
        ("row-2", "Q2?", 0),
    ]


def test_columns_of_different_lengths_are_no_rows(write):
    found = read_records(write({"question": ["Q?"], "answer": ["A.", "B."]}))
    assert [r.problem for r in found.rejections] == ["found a list of 1"]


@pytest.mark.parametrize(
    "broken",
    [b'b,Q?,"No.', b'b,"Q?,No.', b'b,Q?,"No" way.'],
    ids=["last cell", "other cell", "text after it"],
)
@pytest.mark.parametrize("after", [b"c,Q?,Yes.", b'c,"Q?","Yes."'], ids=["plain", "quoted"])
def test_a_quotation_mark_that_is_not_closed_costs_its_row_only(broken, after, write):
    path = write(b"id,question,answer", b"a,Q?,A.", broken, after, b"d,Q?,D.", name="a.csv")
    found = read_records(path)
    assert [record.id for record in found.records] == ["a", "c", "d"]
    assert [(r.line, bool(r.problem)) for r in found.rejections] == [(3, True)]


def test_a_packed_table_that_is_cut_off_keeps_its_whole_rows(tmp_path):
    path = tmp_path / "a.csv.gz"
    rows = "".join(f"{n},Q{n * 7919 % 10007}?,A {n * 104729 % 99991}.\n" for n in range(3000))
    path.write_bytes(gzip.compress(f"id,question,answer\n{rows}".encode())[:-4000])
    found = read_records(path)
    assert len(found.records) > 500
    assert "truncated" in found.rejections[-1].problem


def test_all_sheets_of_a_workbook_are_read(tmp_path):
    excel = pytest.importorskip("openpyxl")
    book = excel.Workbook()
    for sheet, row in zip((book.active, book.create_sheet()), ROWS, strict=True):
        sheet.append(list(row))
        sheet.append(list(row.values()))
    book.save(tmp_path / "answers.xlsx")
    assert shape(read_records(tmp_path / "answers.xlsx", columns=MAP)) == WANTED


def test_a_table_names_its_systems_without_being_told(write):
    path = write("q,a,system,topic\nWhy?,Rain.,x,1\nWhy?,It rains.,y,1", name="answers.csv")
    found = read_records(path, columns=parse_column_map("question=q,answer=a"))
    assert [(r.system, r.topic, r.metadata) for r in found.records] == [
        ("x", "1", {}),
        ("y", "1", {}),
    ]

"""Every reader of lines has the same guard: a bad line is rejected alone, damage ends a file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from case_tables import each_case
from format_samples import CASES, Read, both

from ragassay.formats import (
    read_assignments,
    read_corpus,
    read_graded_paragraphs,
    read_labels,
    read_nugget_banks,
    read_qrels,
    read_records,
    read_run,
    read_test_banks,
)
from ragassay.formats.items import MAX_CONTENT
from ragassay.formats.retrieval import read_queries
from ragassay.records import Rejection

NUGGET = {"text": "n", "importance": "vital", "assignment": "support"}


def read_answers(questions: Any) -> Read:
    """A reader of answers that writes their questions beside them."""

    def read(path: Path) -> Any:
        beside = path.with_name("questions")
        lines = questions if isinstance(questions, list) else [questions]
        beside.write_text("\n".join(map(json.dumps, lines)))
        return read_records(path, questions=beside if questions else None)

    return both(read, "records")


banks, documents = both(read_test_banks, "banks"), both(read_corpus, "documents")
labels, graded = both(read_labels, "labels"), both(read_graded_paragraphs, "queries")
RESULTS = [{"topic_id": "116", "answer": "A."}]
READERS: dict[str, tuple[Read, dict[str, Any]]] = {
    **{
        name: (read_answers(case.get("questions")), case["rows"][0])
        for name, case in CASES.items()
        if "records" in case and "rejected" not in case
    },
    "biogen-2024": (
        read_answers({"116": "Q?"}),
        {"team_id": "t", "run_name": "r", "results": RESULTS},
    ),
    "ragassay-labels": (labels, CASES["ragassay-labels"]["rows"][0]),
    "nuggets": (read_nugget_banks, {"query": "Q?", "qid": "1", "nuggets": [NUGGET]}),
    "assignments": (read_assignments, CASES["nuggetizer-assign-retrieval"]["rows"][0]),
    "banks": (banks, {"query_id": "1", "items": [{"nugget_text": "n"}]}),
    "corpus": (documents, {"id": "1", "text": "T"}),
}
BAD = {
    "NaN": b'{"x": NaN, ',
    "an infinite number": b'{"x": 1e999, ',
    "lone surrogate": b'{"x": "\\ud800", ',
    "NUL character": b'{"x": "\\u0000", ',
    "a NUL byte": b'{"x": "\x00", ',
    "too many digits": b'{"x": ' + b"9" * 9000 + b", ",
    "too deeply": b'{"x": ' + b"[" * 400 + b"]" * 400 + b", ",
    "not UTF-8": b'{"x": "\xff", ',
    "not JSON": b'{"x": [, ',
}


@each_case("name", READERS)
@each_case("problem", BAD)
def test_a_hostile_line_is_rejected_alone(tmp_path: Path, name: str, problem: str):
    read, row = READERS[name]
    path, good = tmp_path / "lines", json.dumps(row).encode()
    path.write_bytes(good + b"\n")
    alone, _ = read(path)
    path.write_bytes(BAD[problem] + good[1:] + b"\n" + good + b"\n")
    found, rejections = read(path)
    assert len(found) == len(alone) > 0
    # The rows of a damaged document are read, and those of the second line repeat them.
    is_document = bool({"results", "questions"} & row.keys())
    assert {one.line for one in rejections} <= ({1, 2} if is_document else {1})
    assert problem in rejections[0].problem and rejections[0].expected
    assert all(one.model_dump_json().encode("utf-8") for one in rejections)


def packed(path: Path, lines: Sequence[str]) -> Path:
    whole = gzip.compress("\n".join(lines).encode(), mtime=0)
    path.write_bytes(whole[: len(whole) // 2])
    return path


LINES: dict[str, tuple[Read, Callable[[int], str]]] = {
    **{
        name: (read, lambda n, row=row: json.dumps(with_number(row, n)))
        for name, (read, row) in READERS.items()
    },
    "qrels": (read_qrels, lambda n: f"q{n} 0 {'d' * 90}{n * n} 1"),
    "graded": (
        graded,
        lambda n: json.dumps([str(n), [{"paragraph_id": "p", "text": str(n * n)}] * 9]),
    ),
}


def with_number(row: dict[str, Any], n: int) -> dict[str, Any]:
    ids = ("id", "qid", "query_id", "question_id", "topic_id", "record_id")
    return row | {next((one for one in ids if one in row), "n"): str(n * n)}


@each_case("name", LINES)
def test_a_packed_file_that_is_cut_off_gives_what_stands_before(tmp_path: Path, name: str):
    read, line = LINES[name]
    found, rejections = read(packed(tmp_path / "cut", [line(n) for n in range(1000)]))
    assert 0 < len(found) < 1000
    assert rejections[-1].line > 1 and "is truncated" in rejections[-1].problem


def others_graded(path: Path) -> tuple[Any, Sequence[Rejection]]:
    """Read the queries but q2, which keeps what it has besides a bad paragraph."""
    found, rejections = graded(path)
    return [one for one in found if one.query_id != "q2"], rejections


PARAGRAPH = {"paragraph_id": "p2", "text": "T"}
GRADED = [
    (["q2", [{"paragraph_id": "p"}]], "1.0.text", "missing"),
    (["q2", [PARAGRAPH, PARAGRAPH]], "1.1.paragraph_id", "already appeared"),
    (["q2", [3]], "1.0", "the number 3"),
    (["q2", [PARAGRAPH | {"exam_grades": [{"answers": [["a"]]}]}]],
     "1.0.exam_grades.0.answers.0.1", "missing"),
    (["q2", [PARAGRAPH | {"grades": [{"correctAnswered": "yes"}]}]],
     "1.0.grades.0.correctAnswered", "the text"),
    (["q", []], "0", "already appeared"),
    ({"query_id": "q"}, "", "an object"),
    (["q2"], "", "a list of 1"),
    ([" ", []], "", "a list of 2"),
    (b'["q2", [{"paragraph_id": "p", "text": "\\ud800"}]]', "1.0.text", "surrogate"),
    (b'["q2", [{"paragraph_id": "p", "text": "t", "x": NaN}]]', "1.0.x", "NaN"),
    (b'["q\\ud800", []]', "0", "surrogate"),
    (b'["q2", [' + b"[" * 100_000, "", "too deeply"),
    (b'["q2", [' + b"9" * 9999 + b"]]", "", "too many digits"),
    (b'["q2", ["\x00"]]', "", "NUL"),
    (b'["q2", [', "", "not JSON"),
]  # fmt: skip
RUN = [
    (b"q Q0 d 1 2.5", "", "found 5 columns"),
    (b"q Q0 d one 2.5 t", "rank", '"one"'),
    (b"q Q0 d " + b"9" * 5000 + b" 1 t", "rank", "9…"),
    (b"q Q0 d 1 NaN t", "score", '"NaN"'),
    (b"q Q0 d 1 1e999 t", "score", '"1e999"'),
    (b"q Q0 d 1 high t", "score", '"high"'),
    (b"q Q0 first 2 1 t", "docid", '"q" already ranks "first"'),
    (b"q Q0 e 2 1 u", "tag", '"u"'),
    (b"q Q0 \xff 1 2 t", "", "not UTF-8"),
    (b"q Q0 d\x00 1 2 t", "", "a NUL byte"),
]
QRELS = [
    (b"q 0 first 2", "docid", '"first" already has the grade 1 for "q"'),
    (b"q 0 first 1", "docid", "already has the grade 1"),
    (b"q d", "", "found 2 columns"),
    (b"q d high", "grade", '"high"'),
    (b"q 0 d --1", "grade", '"--1"'),
    ("q 0 d \u00b2".encode(), "grade", "\u00b2"),
    (b"q 0 d " + b"9" * 5000, "grade", "9…"),
    (b"q 0 \xff 1", "", "not UTF-8"),
    (b"q 0 d\x00 1", "", "a NUL byte"),
]
CREATED = {"query": "Q?", "qid": "1", "nuggets": [{"text": "n1"}]}
NUGGETS = [
    (CREATED | {"nuggets": [{"text": ""}]}, "nuggets.0.text", "empty text"),
    (CREATED | {"nuggets": "n1"}, "nuggets", "the text"),
    (CREATED | {"nuggets": [{"text": "n3"}]}, "", "line 1"),
    (CREATED | {"qid": [1]}, "qid", "a list of 1"),
]
ITEMS, ASKED = [{"nugget_text": "n1"}], [{"question_text": "Which?"}]
BANK = {"query_id": "1", "query_text": "Q?", "items": ITEMS}
BANKS = [
    (BANK | {"items": [{"query_id": "1"}]}, "items.0", "neither a nugget nor a question"),
    (BANK | {"items": ITEMS + ASKED}, "items.0", "both nuggets and questions"),
    (BANK | {"items": [{"nugget_text": ""}]}, "items.0.nugget_text", "empty text"),
    (BANK | {"items": {}}, "items", "empty object"),
    (BANK | {"items": [{"query_id": "2", "nugget_text": "n"}]}, "items.0.query_id", "the bank's"),
    (BANK | {"query_id": " "}, "query_id", "empty id"),
    (BANK, "query_id", "line 1"),
]
QUERIES = [
    (b'{"id": 1}', "", "an object"),
    (b"{", "", "not JSON"),
    (b'{"id": "a", "text": "c"}', "", "already appeared"),
]
COLUMNS = [(b"1 a b", "", "found 1 columns"), (b"a\tc", "", "already appeared")]
BAD_LINES: dict[str, tuple[Read, object, object, list[tuple[Any, str, str]]]] = {
    "graded": (others_graded, ["q", [PARAGRAPH]], ["q9", [PARAGRAPH]], GRADED),
    "run": (read_run, b"q Q0 first 1 3 t", b"q Q0 last 3 1 t", RUN),
    "qrels": (read_qrels, b"q 0 first 1", b"q 0 last 0", QRELS),
    "nuggets": (read_nugget_banks, CREATED, CREATED | {"qid": "2"}, NUGGETS),
    "banks": (banks, BANK, BANK | {"facet_id": "f"}, BANKS),
    "queries": (read_queries, {"id": "a", "text": "b"}, {"id": "z", "text": "y"}, QUERIES),
    "columns": (read_queries, b"a\tb", b"z\ty", COLUMNS),
}


@each_case(
    ("kind", "line", "field", "problem"),
    [(kind, *case) for kind, (*_, cases) in BAD_LINES.items() for case in cases],
)
def test_a_line_that_does_not_fit_is_rejected_alone(write, kind, line, field, problem):
    read, first, last, _ = BAD_LINES[kind]
    name = "lines.jsonl" if kind == "queries" else "lines"
    alone, _ = read(write(first, last, name=name))
    found, (rejection,) = read(path := write(first, b"", line, last, name=name))
    assert found == alone and len(str(alone)) > 10
    assert (rejection.file, rejection.line, rejection.field) == (str(path), 3, field)
    assert problem in rejection.problem and rejection.expected
    assert 0 < len(rejection.content) <= MAX_CONTENT
    rejection.model_dump_json().encode("utf-8")

"""An example of each format: all records and labels that its rows give, and rows that do not fit.

A case in `examples` is named after its format, up to a comma. Its bad rows are its first row with a
change, each with the field and the problem that is reported.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from case_tables import each_case
from format_samples import CASES, sample

from ragassay.formats import read_labels, read_records, read_records_from_rows


def list_cases(field: str) -> list[str]:
    return [name for name, case in CASES.items() if field in case]


def list_bad_rows(field: str) -> list[tuple[Any, ...]]:
    return [(name, *row) for name in list_cases(field) for row in CASES[name][field]]


@pytest.fixture
def put_questions(write):
    """Write the questions file of a case, if it has one."""

    def put(questions):
        lines = questions if isinstance(questions, list) else [questions]
        return None if questions is None else write(*lines, name="questions")

    return lambda case: put(case.get("questions"))


def dump(models) -> list[dict[str, Any]]:
    return [one.model_dump(mode="json", exclude_defaults=True) for one in models]


def check_rejections(found, path, expected) -> None:
    places = [[one.file, one.line, one.field] for one in found]
    assert places == [[str(path), *one[:2]] for one in expected]
    for one, (_, _, problem, *more) in zip(found, expected, strict=True):
        assert problem in one.problem and one.expected
        assert not more or more[0] in one.expected


@each_case("name", list_cases("records"))
def test_rows_give_these_records(write, put_questions, name):
    case = CASES[name]
    path, questions = write(*case["rows"]), put_questions(case)
    found = read_records(path, questions=questions)
    assert found.format == name.partition(",")[0]
    assert dump(found.records) == case["records"]
    of_questions = case.get("rejected questions", [])
    check_rejections(found.rejections[: len(of_questions)], questions, of_questions)
    check_rejections(found.rejections[len(of_questions) :], path, case.get("rejected", []))


@each_case("name", list_cases("labels"))
def test_rows_give_these_labels(write, name):
    case = CASES[name]
    found = read_labels(path := write(*case["rows"]))
    assert found.format == name.partition(",")[0]
    records = {one["id"]: one for one in case.get("records", [])}
    wanted = [
        {"task": task, "label": label, "record_id": name, **(more[0] if more else {})}
        | {key: value for key, value in records.get(name, {}).items() if key in ("topic", "system")}
        for name, labels in case["labels"].items()
        for task, label, *more in labels
    ]
    assert sorted(dump(found.labels), key=wanted.index) == wanted
    check_rejections(found.rejections, path, case.get("rejected labels", []))


@each_case("name", list_cases("records"))
def test_rows_are_read_in_any_layout_under_any_name_and_from_memory(write, put_questions, name):
    case = CASES[name]
    rows, questions = case["rows"], put_questions(case)
    layouts = {"rows.csv": gzip.compress("\n".join(map(json.dumps, rows)).encode())}
    if len(rows) == 1:
        layouts["rows"] = json.dumps(rows[0], indent=2).encode()
    if name != "rubric-workbench":  # Its rows are arrays.
        layouts["rows.gz"] = json.dumps(rows).encode()
        layouts["rows.xml"] = json.dumps(rows, indent=1).encode()
    results = [
        read_records(write(data, name=file, end=b""), questions=questions)
        for file, data in layouts.items()
    ]
    if name != "rubric-workbench":
        results.append(read_records_from_rows(rows, questions=questions))
    rejected = case.get("rejected questions", []) + case.get("rejected", [])
    for found in results:
        assert found.format == name.partition(",")[0]
        shown = json.dumps(dump(found.records)).replace("item-", "line-").replace("row-", "line-")
        assert json.loads(shown) == case["records"]
        assert [one.field for one in found.rejections] == [field for _, field, *_ in rejected]


@each_case(("name", "change", "field", "problem"), list_bad_rows("bad"))
def test_a_row_that_does_not_fit_is_rejected_alone(
    write, put_questions, name, change, field, problem
):
    case = CASES[name]
    row, questions = case["rows"][0], put_questions(case)
    good = read_records(write(row), questions=questions)
    found = read_records(path := write(row, row | change), questions=questions)
    assert found.records == good.records
    check_rejections(found.rejections, path, [[2, field, problem]])


@each_case(("name", "change", "field", "problem"), list_bad_rows("bad labels"))
def test_a_label_that_does_not_fit_is_rejected_alone(write, name, change, field, problem):
    row = CASES[name]["rows"][0]
    alone = read_labels(write(row)).labels
    found = read_labels(path := write(row, row | change))
    assert found.labels == alone
    check_rejections(found.rejections, path, [[2, field, problem]])


def test_a_misspelt_field_does_not_hide_the_format(write):
    rated, answer = sample("yescieval"), sample("biogen-2025-b")
    questions = write(CASES["yescieval"]["questions"][0], name="q.jsonl")
    for row, expected in (
        ({"user_inptu": "Q", "response": "A"}, "ragas"),
        ({key: rated[key] for key in rated if key != "variant"} | {"varient": ""}, "yescieval"),
        ({"metadata": answer["metadata"], "response": []}, "biogen-2025-b"),
    ):
        found = read_records(write(row), questions=questions if "varient" in row else None)
        assert (found.format, len(found.rejections)) == (expected, 1)


def test_a_label_may_name_its_topic_and_system(write):
    label = {"task": "rubric", "label": 4, "topic": 1, "system": "s", "item": "cohesion"}
    assert dump(read_labels(write(label)).labels) == [label | {"label": "4", "topic": "1"}]

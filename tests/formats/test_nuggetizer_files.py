"""The nuggetizer's files in the wild: labels that failed, retrieved passages, every field.

The samples are modelled on what its `create`, `assign`, `assign-retrieval` and `metrics` write
(castorini/nuggetizer 0.0.5); their text is invented.
"""

from __future__ import annotations

from pathlib import Path

from format_samples import ASSIGNED, NUGGETS, RETRIEVED

from ragassay.formats import (
    read_assignments,
    read_labels,
    read_nugget_banks,
    read_records,
    read_records_from_rows,
    write_assignments,
)
from ragassay.formats.nuggetizer import drop_judged_below

GOOD = ASSIGNED | {"qid": "2024-2", "nuggets": NUGGETS[:1]}
IMPORTANCES = ["vital", None, None, "okay"]


def test_an_answer_keeps_its_nuggets_whose_importance_failed(write):
    found = read_records(write(ASSIGNED, GOOD))
    assert [record.id for record in found.records] == ["run/2024-1", "run/2024-2"]
    assert [nugget.importance for nugget in found.records[0].nuggets] == IMPORTANCES
    (odd,) = found.rejections
    assert (odd.line, odd.field) == (1, "nuggets.1.importance")
    assert (
        odd.problem
        == 'found the text "failed" (and 2 more): the nuggets are used without this field'
    )


def test_labels_that_the_model_made_up_are_counted_and_the_others_read(write):
    partial = {"text": "n5", "assignment": "partial_support"}
    found = read_labels(write(ASSIGNED | {"nuggets": [*NUGGETS, partial]}))
    assert found.format == "nuggetizer-assign"
    assert [(one.item, one.label) for one in found.labels] == [
        ("n1", "support"),
        ("n2", "not_support"),
        ("n5", "partial_support"),
    ]
    assert {(one.record_id, one.topic, one.system) for one in found.labels} == {
        ("run/2024-1", "2024-1", "run")
    }
    (odd,) = found.rejections
    assert (odd.field, odd.problem) == (
        "nuggets.3.assignment",
        'found the text "supporter": the nugget is used without this field',
    )


def test_assignments_stay_where_labels_failed_and_are_counted(write):
    (answer, _), (odd,) = read_assignments(write(ASSIGNED, GOOD))
    assert [one.importance for one in answer.nuggets] == IMPORTANCES
    assert [one.assignment for one in answer.nuggets] == ["support", "not_support", None, None]
    assert answer.n_unscored == 2
    assert (odd.line, odd.problem) == (
        1,
        'found the text "strong prose" (and 1 more): the nuggets are used without this field',
    )


def test_retrieved_passages_are_read_with_their_assignments(write, tmp_path: Path):
    path = write(RETRIEVED, RETRIEVED | {"docid": "d_2#0"})
    answers, rejections = read_assignments(path)
    assert rejections == ()
    assert [(one.topic, one.system, one.document) for one in answers] == [
        ("2024-1", "", "d_1#0"),
        ("2024-1", "", "d_2#0"),
    ]
    write_assignments(answers, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == path.read_text()
    records = read_records(path)
    assert records.format == "nuggetizer-assign-retrieval"
    (first, _) = records.records
    assert (first.id, first.topic, first.question) == ("2024-1/d_1#0", "2024-1", "Q?")
    assert (first.answer, first.system) == ("It is so.", None)
    assert "support" not in first.model_dump_json()
    labels = read_labels(path).labels
    assert [(one.record_id, one.label) for one in labels] == [
        ("2024-1/d_1#0", "support"),
        ("2024-1/d_2#0", "support"),
    ]
    (bank,), _ = read_nugget_banks(path)
    assert (bank.topic, bank.question, len(bank.nuggets)) == ("2024-1", "Q?", 1)


def test_candidates_below_the_least_judgment_are_dropped():
    grades = (0, 1, 2, 3, None, "2", "high")
    candidates = [
        {"docid": f"d{n}", "doc": {"segment": "T"}} | ({} if g is None else {"judgment": g})
        for n, g in enumerate(grades)
    ]
    row = {"query": {"qid": "1", "text": "Q?"}, "candidates": candidates}
    (record,) = read_records_from_rows([row]).records
    kept = {
        least: [one.id for one in drop_judged_below(record, least).sources] for least in (0, 1, 2)
    }
    assert kept == {
        0: ["d0", "d1", "d2", "d3", "d4", "d5", "d6"],
        1: ["d1", "d2", "d3", "d4", "d5", "d6"],
        2: ["d2", "d3", "d4", "d5", "d6"],
    }

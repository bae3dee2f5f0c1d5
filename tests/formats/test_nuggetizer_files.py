"""The nuggetizer's files in the wild: labels that failed, retrieved passages, every field.

The samples are modelled on what its `create`, `assign`, `assign-retrieval` and `metrics` write
(castorini/nuggetizer 0.0.5); their text is invented.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.formats import (
    AssignedAnswer,
    AssignedNugget,
    NuggetScores,
    read_assignments,
    read_labels,
    read_nugget_banks,
    read_records,
    records_from_rows,
    write_assignments,
    write_nugget_scores,
)
from ragassay.formats.nuggetizer import drop_judged_below

NUGGETS = [
    {"text": "n1", "importance": "vital", "assignment": "support", "reasoning": "stated"},
    {"text": "n2", "importance": "failed", "assignment": "not_support"},
    {"text": "n3", "importance": "strong prose", "assignment": "failed"},
    {"text": "n4", "importance": "okay", "assignment": "supporter", "trace": {"model": "m"}},
]
ASSIGNED = {
    "query": "Q?",
    "qid": "2024-1",
    "answer_text": "It is so.",
    "response_length": 3,
    "run_id": "run",
    "nuggets": NUGGETS,
    "reasoning_traces": ["stated"],
}
GOOD = ASSIGNED | {"qid": "2024-2", "nuggets": NUGGETS[:1]}
RETRIEVED = {
    "text": "Q?",
    "qid": "2024-1",
    "candidate_text": "It is so.",
    "docid": "d_1#0",
    "nuggets": NUGGETS[:1],
    "rank": 4,
}
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


def test_gold_nuggets_stay_where_their_importance_failed(write):
    created = {"query": "Q?", "qid": "1", "nuggets": [{"text": "n1", "importance": "failed"}]}
    (bank,), (odd,) = read_nugget_banks(write(created))
    assert [(one.text, one.importance) for one in bank.nuggets] == [("n1", None)]
    assert (odd.field, odd.expected) == ("nuggets.0.importance", "vital or okay")


def test_labels_that_the_model_made_up_are_counted_and_the_others_read(write):
    found = read_labels(write(ASSIGNED))
    assert [(one.item, one.label) for one in found.labels] == [
        ("n1", "support"),
        ("n2", "not_support"),
    ]
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


def test_assignments_of_an_answer_and_a_passage_at_once_are_refused(tmp_path: Path):
    both = AssignedAnswer("1", "Q?", "A", "run", (), document="d")
    with pytest.raises(InputError, match="both a system and a document"):
        write_assignments([both], tmp_path / "x")


def test_the_nuggetizers_metrics_and_compare_read_what_is_written(tmp_path: Path):
    """Its `metrics` takes `importance` and `assignment` of every nugget; its `compare` subtracts
    the scores that are there, and takes NaN for a field that is not, but no null."""
    nuggets = (AssignedNugget("n1"), AssignedNugget("n2", "vital", "support"))
    write_assignments([AssignedAnswer("1", "Q?", "A", "run", nuggets)], tmp_path / "assigned")
    (row,) = map(json.loads, (tmp_path / "assigned").read_text().splitlines())
    assert [(one["importance"], one["assignment"]) for one in row["nuggets"]] == [
        ("failed", "failed"),
        ("vital", "support"),
    ]
    scores = [NuggetScores("1", None, 0.5, None, 0.5), NuggetScores("2", 1, 1, 1, 1)]
    write_nugget_scores(scores, tmp_path / "scores")
    rows = [json.loads(line) for line in (tmp_path / "scores").read_text().splitlines()]
    assert [sorted(row) for row in rows[:1]] == [["all_score", "qid", "strict_all_score"]]
    assert all(value is not None for row in rows for value in row.values())


def test_candidates_below_the_least_judgment_are_dropped():
    grades = (0, 1, 2, 3, None, "2", "high")
    candidates = [
        {"docid": f"d{n}", "doc": {"segment": "T"}} | ({} if g is None else {"judgment": g})
        for n, g in enumerate(grades)
    ]
    row = {"query": {"qid": "1", "text": "Q?"}, "candidates": candidates}
    (record,) = records_from_rows([row]).records
    kept = {
        least: [one.id for one in drop_judged_below(record, least).sources] for least in (0, 1, 2)
    }
    assert kept == {
        0: ["d0", "d1", "d2", "d3", "d4", "d5", "d6"],
        1: ["d1", "d2", "d3", "d4", "d5", "d6"],
        2: ["d2", "d3", "d4", "d5", "d6"],
    }

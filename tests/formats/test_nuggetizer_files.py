"""The nuggetizer's files in the wild: labels that failed, retrieved passages, every field.

The samples are modelled on what its `create`, `assign`, `assign-retrieval` and `metrics` write
(castorini/nuggetizer 0.0.5); their text is invented.
"""

from __future__ import annotations

from pathlib import Path

from format_samples import CASES

from ragassay.formats import (
    read_assignments,
    read_nugget_banks,
    read_records_from_rows,
    write_assignments,
)
from ragassay.formats.nuggetizer import drop_judged_below

GOOD, FAILED = CASES["nuggetizer-assign, with labels that failed"]["rows"]


def test_assignments_stay_where_labels_failed_and_are_counted(write):
    (answer, _), (odd,) = read_assignments(write(FAILED, GOOD))
    assert [(one.importance, one.assignment) for one in answer.nuggets] == [
        ("vital", "support"),
        (None, "not_support"),
        (None, None),
        ("okay", None),
        (None, "partial_support"),
    ]
    assert answer.n_unscored == 2
    assert (odd.line, odd.problem) == (
        1,
        'found the text "strong prose" (and 1 more): the nuggets are used without this field',
    )


def test_retrieved_passages_are_read_with_their_assignments(write, tmp_path: Path):
    path = write(*CASES["nuggetizer-assign-retrieval"]["rows"])
    answers, rejections = read_assignments(path)
    assert rejections == ()
    assert [(one.topic, one.system, one.document) for one in answers] == [
        ("2024-1", "", "d_1#0"),
        ("2024-1", "", "d_2#0"),
    ]
    write_assignments(answers, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == path.read_text()
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

"""Rows of a user's data become labelled pairs of correctness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragassay.models.adapters import CORRECTNESS
from ragassay.optimizers.finetuning.labelled_pairs import read_correctness_pairs

ABSTRACT = [
    "Mice were bred.",
    "Drug alpha lowered pressure in mice.",
    "Drug alpha was given by mouth.",
    "Pressure was read daily.",
    "Drug alpha lowers pressure.",
]
S = "Drug alpha lowers pressure."

ROWS: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    # (row, pairs of passage and label)
    ({"sentence": S, "passage": "It did.", "label": "correct"}, [("It did.", "correct")]),
    ({"claim": S, "evidence": "It did.", "label": "SUPPORTS"}, [("It did.", "correct")]),
    ({"sentence": S, "passage": "No.", "label": "incorrect"}, [("No.", "incorrect")]),
    ({"answer_sentence": S, "document": "No.", "label": 0}, [("No.", "incorrect")]),
    ({"sentence": S, "passage": "No.", "correct": False}, [("No.", "incorrect")]),
    ({"sentence": S, "passage": "Yes.", "correct": True}, [("Yes.", "correct")]),
    ({"claim": S, "abstract": "No.", "label": "REFUTES"}, [("No.", "incorrect")]),
    ({"claim": S, "evidence": "Tea.", "label": "not_relevant"}, [("Tea.", "incorrect")]),
    ({"claim": S, "sentences": ["One.", "Two."], "label": "nei"}, [("One. Two.", "incorrect")]),
    # The marked span is correct, the best fragment without it is not.
    (
        {"claim": S, "sentences": ABSTRACT, "evidence_sentences": [4], "label": "supports"},
        [(ABSTRACT[4], "correct"), (" ".join(ABSTRACT[1:4]), "incorrect")],
    ),
    # BM25 looks for the question where there is one.
    (
        {
            "claim": "It works.",
            "sentences": ABSTRACT,
            "rationale": [4],
            "label": "correct",
            "question": "Were mice bred?",
        },
        [(ABSTRACT[4], "correct"), (" ".join(ABSTRACT[:3]), "incorrect")],
    ),
    # Every fragment of three sentences has the third.
    (
        {"claim": S, "sentences": ABSTRACT, "evidence_sentences": [2], "label": "supports"},
        [(ABSTRACT[2], "correct")],
    ),
    (
        {"claim": S, "sentences": ABSTRACT, "evidence_sentences": [0], "label": "refutes"},
        [(ABSTRACT[0], "incorrect")],
    ),
]

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"sentence": S, "passage": "It did.", "label": "maybe"}, "label"),
    ({"sentence": S, "label": "correct"}, "evidence"),
    ({"sentence": S, "passage": "It did."}, "label"),
    ({"passage": "It did.", "label": "correct"}, "sentence"),
    ({"sentence": "", "passage": "It did.", "label": "correct"}, "sentence"),
    (
        {"claim": S, "sentences": ["One."], "evidence_sentences": [3], "label": "correct"},
        "evidence_sentences",
    ),
]


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_row_becomes_pairs_as_bioace_makes_them(tmp_path: Path):
    for row, expected in ROWS:
        pairs, rejections = read_correctness_pairs(write(tmp_path / "rows.jsonl", row))
        found = [(pair.passage, CORRECTNESS[pair.label]) for pair in pairs]
        assert (found, rejections) == (expected, []), row


@pytest.mark.parametrize(("row", "field"), WRONG)
def test_a_row_that_cannot_be_read_is_named(row, field, tmp_path: Path):
    good = {"sentence": S, "passage": "It did.", "label": "correct"}
    pairs, (rejected,) = read_correctness_pairs(write(tmp_path / "rows.jsonl", row, good))
    assert len(pairs) == 1 and field in rejected.field and rejected.line == 1


def test_groups_are_questions_or_what_shares_a_text(tmp_path: Path):
    rows = [("a", "1", ""), ("b", "1", ""), ("c", "2", ""), ("d", "1", "q"), ("e", "3", "q")]
    made = [{"sentence": s, "passage": p, "label": "correct", "question": q} for s, p, q in rows]
    pairs, _ = read_correctness_pairs(write(tmp_path / "rows.jsonl", *made, made[0]))
    a, b, c, d, e = (pair.group for pair in pairs)  # a row that comes twice counts once
    assert a == b != c and d == e == "q"

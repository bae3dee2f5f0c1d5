"""How files of labelled claims are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.models.entailment import CONTRADICTS, SUPPORTS
from ragassay.optimizers.finetuning.claims import NOT_RELEVANT, link_names, read_claims


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_rows_of_several_collections_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "claims.jsonl",
        {
            "claim": "A helps.",
            "title": "On A",
            "abstract": "A helps. It is cheap.",
            "label": "SUPPORT",
            "evidence_sentences": [0],
        },
        {"claim": "B helps.", "evidence": "B harms.", "label": "Refutes"},
        {"claim": "C helps.", "sentences": ["Tea.", "Milk."], "label": "not_relevant"},
    )
    claims, rejections = read_claims(path)
    assert not rejections
    assert [c.label for c in claims] == [SUPPORTS, CONTRADICTS, NOT_RELEVANT]
    assert claims[0].sentences == ("A helps.", "It is cheap.") and claims[0].rationale == (0,)
    assert claims[0].title == "On A" and claims[2].sentences == ("Tea.", "Milk.")


def test_claims_that_share_a_document_or_a_text_are_of_one_group(tmp_path: Path) -> None:
    rows = [("A.", "One."), ("B.", "One."), ("B.", "Two."), ("C.", "Three.")]
    path = write(
        tmp_path / "claims.jsonl",
        *({"claim": c, "evidence": e, "label": "neutral"} for c, e in rows),
    )
    groups = [c.group for c in read_claims(path)[0]]
    assert len(set(groups[:3])) == 1 and groups[3] not in groups[:3]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"claim": "A.", "evidence": "B.", "label": "perhaps"}, "label"),
        ({"claim": "A.", "label": "neutral"}, "evidence"),
        ({"claim": "", "evidence": "B.", "label": "neutral"}, "claim"),
        (
            {"claim": "A.", "evidence": "B.", "label": "neutral", "evidence_sentences": [1]},
            "evidence_sentences",
        ),
    ],
)
def test_a_bad_row_is_named_and_the_rest_is_read(
    row: dict[str, object], field: str, tmp_path: Path
) -> None:
    good = {"claim": "A.", "evidence": "B.", "label": "neutral"}
    claims, rejections = read_claims(write(tmp_path / "claims.jsonl", row, good))
    assert len(claims) == 1
    assert [rejection.field for rejection in rejections] == [field]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl"):
        read_claims(tmp_path / "none.jsonl")


def test_what_hangs_together_has_one_name():
    groups = link_names([("a", "x"), ("b", "x"), ("b", "y"), ("c", "z")])
    assert groups["a"] == groups["y"]
    assert groups["c"] != groups["a"]

"""What a run without a judge says of the sample, against the sample's truth table."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import ragassay

SAMPLE = Path(__file__).parents[2] / "examples" / "sample"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def led() -> set[tuple[str, int | None]]:
    """Records and sentences that lead the report."""
    found = ragassay.evaluate(
        SAMPLE / "answers.jsonl",
        corpus=SAMPLE / "abstracts.jsonl",
        only=["evidence", "citations"],
    )
    return {(one.record_id, finding.sentence) for one in found for finding in one.heads}


def truth(*default: str) -> set[tuple[str, int | None]]:
    """Records and sentences of the table that a run without a judge owes the reader so much of."""
    rows = yaml.safe_load((SAMPLE / "truth.yaml").read_text(encoding="utf-8"))
    return {(row["record"], row["sentence"]) for row in rows if row["default"] in default}


def test_what_a_run_owes_the_reader_leads_the_report(led: set[tuple[str, int | None]]):
    assert truth("finds") <= led


def test_nothing_leads_that_is_not_wrong(led: set[tuple[str, int | None]]):
    assert led <= truth("finds", "may find")

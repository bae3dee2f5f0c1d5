"""What leads the report of `examples/chat`, held to its truth table."""

from __future__ import annotations

import pytest
import yaml
from conftest import ROOT

import ragassay

CHAT = ROOT / "examples" / "chat"

Lead = tuple[str, int | None, str]


def truth(*default: str) -> set[Lead]:
    rows = yaml.safe_load((CHAT / "truth.yaml").read_text(encoding="utf-8"))
    return {
        (row["record"], row["sentence"], row["kind"]) for row in rows if row["default"] in default
    }


@pytest.fixture(scope="module")
def results() -> ragassay.Results:
    """A run without a judge."""
    return ragassay.evaluate(CHAT / "answers.jsonl", only=("citations",), signals=False)


@pytest.fixture(scope="module")
def led(results: ragassay.Results) -> set[Lead]:
    """What leads its report."""
    return {
        (one.record_id, finding.sentence, finding.kind)
        for one in results
        for finding in one.primary_findings
    }


@pytest.mark.integration
def test_what_is_wrong_in_lists_footnotes_and_tables_leads(led: set[Lead]):
    assert truth("finds") <= led


@pytest.mark.integration
def test_nothing_leads_that_is_not_wrong(led: set[Lead]):
    assert led <= truth("finds", "shows", "may find")


@pytest.mark.integration
def test_other_values_and_subjects_are_worth_the_first_look(
    results: ragassay.Results,
):
    shown = truth("shows")
    for one in results:
        own = {lead for lead in shown if lead[0] == one.record_id}
        first = one.secondary_findings[: len(own)]
        assert {(one.record_id, finding.sentence, finding.kind) for finding in first} == own
        assert all(finding.precision and finding.n_measured for finding in first)

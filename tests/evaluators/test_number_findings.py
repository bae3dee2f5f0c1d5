"""Numbers against the cited source, from the answer to the finding, without a language model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ragassay
from ragassay.evaluators.claim_findings import absent_number_findings
from ragassay.records import Citation, CitationVerdict
from ragassay.reports.labels import finding_title


def cited(marker: str, *absent: str, sentence: int = 3, verdict: str = "neutral"):
    return CitationVerdict.model_validate(
        {
            "sentence": sentence,
            "citation": Citation(marker=marker, document=marker),
            "verdict": verdict,
            "absent_numbers": absent,
        }
    )


@pytest.mark.parametrize(
    ("citations", "messages"),
    [
        ([cited("1", "64 years")], ["Sentence 3: 64 years is not in the cited source."]),
        (
            [cited("1", "64 years", "6%", "12"), cited("2", "64 years", "6%", "12")],
            ["Sentence 3: 64 years, 6% and 12 are not in the cited sources."],
        ),
        # One of its sources states it.
        ([cited("1", "64 years"), cited("2")], []),
        (
            [cited("1", "6%"), cited("9", verdict="invalid")],
            ["Sentence 3: 6% is not in the cited source."],
        ),
        ([cited("9", verdict="invalid")], []),
    ],
)
def test_a_number_that_no_cited_source_states_is_worth_a_look(citations, messages):
    found = absent_number_findings(citations)
    assert [one.message for one in found] == messages
    assert all((one.kind, one.level) == ("number_not_in_source", "look") for one in found)
    assert all(one.sentence == 3 for one in found)


def test_the_finding_has_a_title():
    assert finding_title("number_not_in_source", 1) == (
        "Sentence with a number that its sources do not state"
    )


@pytest.mark.integration
def test_only_another_value_leads_as_contradicted(shared: Path, tmp_path: Path):
    lines = (shared / "cases" / "numbers.jsonl").read_text("utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    path = tmp_path / "answers.jsonl"
    records = (
        {
            "id": str(n),
            "question": "What was found?",
            "answer": f"{case['claim']} [1].",
            "sources": [{"id": "1", "text": case["passage"]}],
        }
        for n, case in enumerate(cases)
    )
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")

    leads = [
        any(one.level == "head" and "contradicted" in one.kind for one in evaluation.findings)
        for evaluation in ragassay.evaluate(path, signals=True)
    ]

    others = [case["numbers"] == "other" for case in cases]
    false_leads = [
        case for case, lead, other in zip(cases, leads, others, strict=True) if lead and not other
    ]
    assert false_leads == []
    n_found = sum(lead and other for lead, other in zip(leads, others, strict=True))
    assert (sum(others), n_found >= 6) == (7, True)

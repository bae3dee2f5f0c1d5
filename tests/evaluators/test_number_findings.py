"""Numbers against the cited source, from the answer to the finding, without a language model."""

from __future__ import annotations

import json

import pytest

import ragassay
from ragassay.evaluators.findings import find_number_problems
from ragassay.records import Citation, CitationVerdict
from ragassay.reports.labels import find_finding_title


def cited(marker: str, *absent: str, sentence: int = 3, verdict: str = "neutral"):
    citation = Citation(marker=marker, document=marker)
    fields = {"sentence": sentence, "verdict": verdict, "absent_numbers": absent}
    return CitationVerdict(citation=citation, **fields)


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
    found = find_number_problems(citations)
    assert [one.message for one in found] == messages
    assert all((one.kind, one.level) == ("number_not_in_source", "secondary") for one in found)
    assert all(one.sentence == 3 for one in found)


def test_the_finding_has_a_title():
    assert find_finding_title("number_not_in_source", 1) == (
        "Sentence with a number missing from its sources"
    )


@pytest.mark.integration
def test_only_another_value_is_named_and_none_leads(shared, tmp_path):
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

    results = list(ragassay.evaluate(path, signals=True))
    named = [
        any(one.message.find("the source says") > 0 for one in evaluation.secondary_findings[:1])
        for evaluation in results
    ]

    others = [case["numbers"] == "other" for case in cases]
    pairs = list(zip(named, others, strict=True))
    wrong = [case for case, (one, other) in zip(cases, pairs, strict=True) if one and not other]
    assert wrong == []
    assert not [one for e in results for one in e.primary_findings if "contradicted" in one.kind]
    n_found = sum(map(all, pairs))
    assert (sum(others), n_found >= 6) == (7, True)

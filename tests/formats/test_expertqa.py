"""ExpertQA as it was released: each system's answer is a record; its texts here are invented."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case

from ragassay.formats import read_records

CLAIM = {"claim_string": "It fell [1].", "evidence": ["[1] https://a.org\n\nIt fell by 2."]}
QUESTION = {
    "question": "Did it fall?",
    "annotator_id": "e7",
    "metadata": {"field": "Healthcare / Medicine", "question_type": "a|b", "specific_field": None},
    "answers": {
        "gpt4": {
            "answer_string": "It fell [1]. It rose [2].",
            "attribution": ["[1] https://a.org", "[2] https://b.org"],
            "claims": [CLAIM | {"support": "Complete"}, {"claim_string": "It rose [2]."}],
            "revised_answer_string": "It fell [1].",
            "usefulness": "Useful",
        },
        "bing_chat": {"answer_string": "It may have.", "attribution": None, "claims": []},
    },
}


def sources_of(write, attribution, evidence=()):
    claims = [{"claim_string": "C.", "evidence": list(evidence)}]
    answer = {"answer_string": "A [1].", "attribution": attribution, "claims": claims}
    (record,) = read_records(write(QUESTION | {"answers": {"s": answer}})).records
    urls = [record.metadata.get(f"sources.{i}.url", "") for i in range(len(record.sources))]
    return [(one.id, url, one.text) for one, url in zip(record.sources, urls, strict=True)]


def test_each_systems_answer_is_a_record_with_all_that_was_said_of_it(write):
    found = read_records(write(QUESTION))
    assert (found.format, found.rejections) == ("expertqa", ())
    first, second = found.records
    assert [one.id for one in found.records] == ["line-1/gpt4", "line-1/bing_chat"]
    assert {one.topic for one in found.records} == {"line-1"}
    assert (first.system, second.system) == ("gpt4", "bing_chat")
    assert (first.question, first.answer) == ("Did it fall?", "It fell [1]. It rose [2].")
    assert [(one.id, one.text) for one in first.sources] == [("1", "It fell by 2."), ("2", "")]
    assert second.sources == ()
    assert json.loads(first.metadata["claims"])[0]["support"] == "Complete"
    assert first.metadata["usefulness"] == "Useful"
    assert first.metadata["revised_answer_string"] == "It fell [1]."
    assert first.metadata["metadata.field"] == "Healthcare / Medicine"
    assert first.metadata["annotator_id"] == "e7"
    assert first.metadata["sources.1.url"] == "https://b.org"


@each_case(
    ("attribution", "evidence", "sources"),
    [
        (["https://a.org"], [], [("1", "https://a.org", "")]),
        (
            ["[2] https://b.org", "[1] https://a.org"],
            [],
            [("1", "https://a.org", ""), ("2", "https://b.org", "")],
        ),
        (["A passage."], [], [("1", "", "A passage.")]),
        ([{"text": "Passage ID 3: P.", "url": "u"}], [], [("3", "u", "P.")]),
        ([{"text": "P.", "url": "u"}], ["Q."], [("1", "u", "P."), ("2", "", "Q.")]),
        (
            ["https://a.org"],
            ["https://a.org\n\nP.", "https://a.org\n\nR."],
            [("1", "https://a.org", "P.\n\nR.")],
        ),
        (["[1] https://a.org"], ["[1] P.", "[1] P."], [("1", "https://a.org", "P.")]),
        ([], ["[10] https://j.org P.", "[2] Q."], [("2", "", "Q."), ("10", "https://j.org", "P.")]),
        ([None, 7, ""], [None], []),
    ],
)
def test_addresses_and_texts_of_one_source_come_together(write, attribution, evidence, sources):
    assert sources_of(write, attribution, evidence) == sources


@pytest.mark.parametrize(
    ("answers", "field"),
    [
        ({"s": "text"}, "answers.s"),
        ({"s": {"attribution": []}}, "answers.s.answer_string"),
        ([], "answers"),
        ({"s": {"answer_string": "A.", "claims": ["C."]}}, "answers.s.claims.0"),
    ],
)
def test_an_answer_that_cannot_be_read_is_named_and_the_others_are_read(write, answers, field):
    found = read_records(write(QUESTION, QUESTION | {"answers": answers}))
    assert len(found.records) == 2
    assert [(one.line, one.field) for one in found.rejections] == [(2, field)]


def test_the_reduced_form_of_the_shared_data_is_read_whole(shared_data):
    found = read_records(shared_data / "expertqa/dev.jsonl.gz")
    assert (len(found.records), found.rejections) == (260, ())
    assert sum(len(one.sources) for one in found.records) == 818
    assert sum(len(json.loads(one.metadata["claims"])) for one in found.records) == 1496
    assert all(one.system and one.metadata["field"] for one in found.records)

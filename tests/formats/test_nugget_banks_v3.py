"""Nugget banks of TREC AutoJudge (v3), read as test banks and written back."""

from __future__ import annotations

import hashlib
import json

import pytest

from ragassay.errors import InputError
from ragassay.formats import read_test_banks, write_test_banks
from ragassay.workbench.bank_import import read_bank_import

ANSWERS = {"90 %": {"answer": "90 %", "references": [{"doc_id": "d"}]}, "most": {"answer": "most"}}
FIRST = {"question": "How much?", "question_id": "i1", "query_id": "7", "answers": ANSWERS}
BANK = {
    "query_id": "7",
    "title_query": "Trade",
    "full_query": {"background": "B."},
    "test_collection": "c",
    "format_version": "v3",
    "nugget_bank": {
        "How much?": FIRST | {"importance": 1, "metadata": {"by": "x"}, "aggregator_type": "OR"},
        "Who?": {"question": "Who?", "query_id": "7"},
    },
    "claim_bank": {"It grew.": {"claim": "It grew.", "claim_id": "c1", "query_id": "7"}},
    "creator": [{"is_human": True}],
    "metadata": {"run_id": "r"},
}


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


def test_questions_and_claims_are_a_bank_each(write):
    found = read_test_banks(write(BANK))
    assert found.rejections == ()
    questions, claims = found.banks
    assert (questions.kind, claims.kind) == ("questions", "nuggets")
    assert {(b.query_id, b.query_text, b.test_collection) for b in found.banks} == {
        ("7", "Trade", "c")
    }
    assert [(i.id, i.text, i.answers) for i in questions.items] == [
        ("i1", "How much?", ("90 %", "most")),
        (md5("Who?"), "Who?", ()),
    ]
    assert [(i.id, i.text) for i in claims.items] == [("c1", "It grew.")]


def test_every_field_is_written_back(write, tmp_path):
    path = tmp_path / "again.jsonl"
    banks = read_test_banks(write(BANK)).banks
    write_test_banks(banks, path)
    wanted = json.loads(json.dumps(BANK))
    wanted["nugget_bank"]["Who?"]["question_id"] = md5("Who?")
    assert json.loads(path.read_text()) == wanted
    assert read_test_banks(path).banks == banks


LISTS = {
    "lists": {
        "nugget_bank": list(BANK["nugget_bank"].values()),
        "claim_bank": list(BANK["claim_bank"].values()),
    },
    "answers as a list": {"nugget_bank": [FIRST | {"answers": [{"answer": "most"}]}]},
    "answers as texts": {"nugget_bank": [FIRST | {"answers": ["most"]}]},
    "claims alone": {"nugget_bank": None},
    "questions alone": {"claim_bank": None},
    "texts as keys alone": {"nugget_bank": {"How much?": {}}},
}


@pytest.mark.parametrize("case", LISTS)
def test_other_shapes_are_read_and_come_back_equal(write, tmp_path, case: str):
    found = read_test_banks(write(BANK | LISTS[case]))
    assert found.rejections == () and found.banks
    path = tmp_path / "again.jsonl.gz"
    write_test_banks(found.banks, path)
    assert read_test_banks(path).banks == found.banks


def test_several_topics_a_line_each(write, tmp_path):
    other = {"title_query": "Other", "nugget_bank": {"Q?": {}}, "claim_bank": {"C.": {}}}
    found = read_test_banks(write(BANK, other))
    assert [b.query_id for b in found.banks] == ["7", "7", md5("Other"), md5("Other")]
    assert read_bank_import(write(BANK)).banks == read_test_banks(write(BANK)).banks


def test_sub_nuggets_are_kept_and_said_not_to_be_graded(write, tmp_path):
    inner = [{"question": "Of what?"}, {"question": "When?"}]
    bank = BANK | {"nugget_bank": {"How much?": FIRST | {"sub_nuggets": inner}}}
    found = read_test_banks(write(bank))
    assert [one.problem for one in found.rejections] == ["2 sub-nuggets are stored, but not graded"]
    path = tmp_path / "again.jsonl"
    write_test_banks(found.banks, path)
    assert json.loads(path.read_text())["nugget_bank"]["How much?"]["sub_nuggets"] == inner


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"nugget_bank": "text"}, "nugget_bank"),
        ({"nugget_bank": {"Q?": "text"}}, "nugget_bank.Q?"),
        ({"claim_bank": [{"claim": 7}]}, "claim_bank.0"),
        ({"query_id": []}, "query_id"),
    ],
)
def test_what_is_no_nugget_is_named(write, change, field):
    found = read_test_banks(write(BANK, BANK | {"query_id": "8"} | change))
    assert [b.query_id for b in found.banks[:2]] == ["7", "7"]
    assert field in {one.field for one in found.rejections}


def test_a_bank_of_the_workbench_is_written_as_before(write, tmp_path):
    bank = {"query_id": "q", "query_text": "Q?", "items": [{"nugget_id": "n", "nugget_text": "N."}]}
    banks = (*read_test_banks(write(BANK)).banks, *read_test_banks(write(bank)).banks)
    path = tmp_path / "both.jsonl"
    write_test_banks(banks, path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert ["nugget_bank" in line for line in lines] == [True, False]
    with pytest.raises(InputError, match="unknown format"):
        read_test_banks(write({"nuggets": []}))

"""Test banks beside the original's data model: theirs are read, ours are, and nothing is lost."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import create_model

from ragassay.formats import (
    BankItem,
    RubricBank,
    build_exam_items,
    read_test_banks,
    write_test_banks,
)
from ragassay.records import BANK, Review

# What the original reads of a bank and of its items: unknown fields are ignored.
Text, Info = (str | None, None), (Any, None)
Item = create_model("Item", query_id=(str, ...), facet_id=Text, info=Info)
Question = create_model(
    "Question", __base__=Item, question_id=(str, ...), question_text=(str, ...),
    gold_answers=(set[str] | None, None),
)  # fmt: skip
Nugget = create_model("Nugget", __base__=Item, nugget_id=(str, ...), nugget_text=(str, ...))
Bank = create_model(
    "Bank", query_id=(str, ...), facet_id=Text, facet_text=Text, test_collection=(str, ...),
    query_text=(str, ...), info=Info, hash=(int, 1243234),
)  # fmt: skip
QuestionBank = create_model("QuestionBank", __base__=Bank, items=(list[Question], ...))
NuggetBank = create_model("NuggetBank", __base__=Bank, items=(list[Nugget], ...))


def theirs(path: Path) -> list[Any]:
    """Read a file as the original does: one model a line, gzip only."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [
            (QuestionBank if '"question_text"' in line else NuggetBank).model_validate_json(line)
            for line in file
        ]


def write_theirs(banks: list[Any], path: Path) -> None:
    """Write a file as the original does: all fields, a set of answers in any order."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(bank.model_dump_json() + "\n" for bank in banks)


CHANGE = Review(who="Ada", evaluator=BANK, record="q", item="q/1", field="text", was="a", value="b")
QUESTION = QuestionBank(
    query_id="q",
    facet_id="f",
    facet_text="Birth of a genre",
    test_collection="car",
    query_text="When did it begin?",
    info={"gpt_model": "m", "hash": "2024", "secret": "what they call secret"},
    hash=9999,
    items=[
        Question(
            query_id="q",
            facet_id="f",
            question_id="q/f/1",
            question_text="Who began it?",
            gold_answers={"Elvis Presley", "Bill Haley", "Chuck Berry"},
            info=[1, None, {"a": 2.5}],
        ),
        Question(
            query_id="q", facet_id="f", question_id="2", question_text="?", gold_answers=set()
        ),
    ],
)
NUGGETS = NuggetBank(
    query_id="q",
    test_collection="",
    query_text="When?",
    items=[
        Nugget(query_id="q", facet_id="g", nugget_id="n", nugget_text="In 1951", info="by hand")
    ],
)


def test_their_banks_pass_through_ours_unchanged(tmp_path: Path):
    first, second = tmp_path / "theirs.jsonl.gz", tmp_path / "ours.jsonl.gz"
    write_theirs([QUESTION, NUGGETS], first)
    found = read_test_banks(first)
    assert not found.rejections
    write_test_banks(found.banks, second)
    assert theirs(second) == [QUESTION, NUGGETS]
    assert read_test_banks(second) == found


OURS = RubricBank(
    "q",
    "When?",
    "questions",
    (
        BankItem("Who?", "q/1", "[1]", ("b", "a"), is_secret=True, history=(CHANGE,)),
        BankItem("Where?", "q/2", '{"by": "hand"}', facet="g", history=(CHANGE,)),
        BankItem("What?", "q/3", '{"secret": true}'),
        BankItem("How?", "q/4", '{"info": 1}', is_secret=True, rest='{"score": 2}'),
        BankItem("Why?", "q/5", "{}", is_secret=True),
    ),
    test_collection="dl20",
    history=(CHANGE,),
)


def test_our_banks_pass_through_theirs_unchanged(tmp_path: Path):
    first, second = tmp_path / "ours.jsonl.gz", tmp_path / "theirs.jsonl.gz"
    write_test_banks([OURS], first)
    write_theirs(theirs(first), second)
    again = read_test_banks(second).banks[0]
    # They drop unknown fields, and write the ones that they know.
    kept = [json.loads(item.rest or "{}").get("score") for item in again.items]
    nulls = {"facet_id": None, "facet_text": None}
    assert kept == [None] * 5 and json.loads(again.rest) == {"hash": 1243234} | nulls
    assert [replace(back, rest="") for back in again.items] == [
        replace(ours, rest="") for ours in OURS.items
    ]
    assert (again.history, again.test_collection) == (OURS.history, "dl20")
    assert read_test_banks(first).banks == (OURS,)


def test_known_answers_are_written_in_the_same_order_each_time(tmp_path: Path):
    path = tmp_path / "bank.jsonl"
    write_test_banks(
        [RubricBank("q", "", "questions", (BankItem("Q?", answers=("b", "a")),))], path
    )
    assert json.loads(path.read_text())["items"][0]["gold_answers"] == ["a", "b"]


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["secret", "history", "info", "a"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(JSONS, st.booleans(), st.booleans())
def test_any_info_comes_back_with_what_people_did(
    tmp_path_factory: pytest.TempPathFactory, info: object, is_secret: bool, is_changed: bool
):
    item = BankItem(
        "Q?",
        "1",
        "" if info is None else json.dumps(info),
        is_secret=is_secret,
        history=(CHANGE,) if is_changed else (),
    )
    path = tmp_path_factory.mktemp("bank") / "bank.jsonl"
    bank = RubricBank("q", "", "questions", (item,), info=item.info, history=item.history)
    write_test_banks([bank], path)
    assert read_test_banks(path).banks == (bank,)


def test_items_are_handed_to_grading(tmp_path: Path):
    first, second, *_ = build_exam_items(OURS)
    assert (first.id, first.kind, first.answers, first.facet) == ("q/1", "question", ("a", "b"), "")
    assert second.facet == "g"
    (nugget,) = build_exam_items(
        RubricBank("940547", "", "nuggets", (BankItem("In 1951"),), facet_id="f")
    )
    assert (nugget.kind, nugget.facet) == ("nugget", "f")
    assert nugget.id.startswith("940547/f/")

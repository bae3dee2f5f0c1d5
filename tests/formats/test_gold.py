"""Gold nuggets and test banks, in any known form."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from case_tables import each_case

from ragassay.formats import (
    BankItem,
    NuggetBank,
    RubricBank,
    build_bank_item_id,
    read_nugget_banks,
    read_nuggets,
    read_records,
    read_test_banks,
    write_nugget_banks,
    write_test_banks,
)
from ragassay.records import Nugget

CREATED = {
    "query": "Q?",
    "qid": 116,
    "nuggets": [{"text": "n1", "importance": "vital"}, {"text": "n2", "importance": "okay"}],
}
ASSIGNED = {
    **CREATED,
    "answer_text": "A",
    "run_id": "r",
    "nuggets": [{**nugget, "assignment": "support"} for nugget in CREATED["nuggets"]],
}
BANK = {
    "query_id": "116",
    "query_text": "Q?",
    "info": {"prompt_target": "nuggets"},
    "items": [
        {"query_id": "116", "nugget_id": "116/x", "nugget_text": "n1"},
        {"query_id": "116", "nugget_id": "116/y", "nugget_text": "n2", "info": {"a": None}},
    ],
}
QUESTIONS = {
    **BANK,
    "items": [{"query_id": "116", "question_id": "116/x", "question_text": "Which?"}],
}
GRADED = (Nugget(text="n1", importance="vital"), Nugget(text="n2", importance="okay"))
PLAIN = (Nugget(text="n1"), Nugget(text="n2"))


@each_case(
    ("content", "expected", "question"),
    [
        ({"116": ["n1", "n2"]}, PLAIN, ""),
        ({"116": CREATED["nuggets"]}, GRADED, ""),
        (CREATED, GRADED, "Q?"),
        (ASSIGNED, GRADED, "Q?"),
        (BANK, PLAIN, "Q?"),
    ],
)  # fmt: skip
def test_every_form_gives_the_nuggets_of_its_topics(write, content, expected, question):
    answers = write({"question": "Q", "answer": "A", "topic": "116"})
    for indent in (None, 1):
        data = json.dumps(content, indent=indent).encode()
        for path in (write(data, name="gold"), write(gzip.compress(data), name="packed", end=b"")):
            assert read_nugget_banks(path) == ((NuggetBank("116", question, expected),), ())
            assert read_nuggets(path) == ({"116": expected}, [])
            assert read_records(answers, nuggets=path).records[0].nuggets == expected


def test_a_failed_importance_of_a_mapping_keeps_its_nugget(write):
    odd = [{"text": "n1", "importance": "failed"}, {"text": "n2", "importance": ["vital"]}, "n3"]
    path = write(json.dumps({"116": odd, "117": [{"text": "n4", "note": "x"}]}), name="gold")
    (first, second), (rejection,) = read_nugget_banks(path)
    assert first.nuggets == (Nugget(text="n1"), Nugget(text="n2"), Nugget(text="n3"))
    assert first.metadata == {"nuggets.0.importance": "failed", "nuggets.1.importance": '["vital"]'}
    assert second.metadata == {"nuggets.0.note": "x"}
    assert (rejection.field, rejection.expected) == ("116.0.importance", "vital or okay")
    assert 'text "failed" (and 1 more): the nuggets are used without this' in rejection.problem
    write_nugget_banks((first, second), path)
    assert [json.loads(line)["nuggets"] for line in path.read_text().splitlines()] == [
        [*odd[:1], {"text": "n2", "importance": ["vital"]}, {"text": "n3"}],
        [{"text": "n4", "note": "x"}],
    ]


def test_assignments_of_several_runs_give_the_nuggets_once(write):
    path = write(ASSIGNED, {**ASSIGNED, "run_id": "other"})
    assert read_nuggets(path) == ({"116": GRADED}, [])


def test_facets_of_a_test_bank_are_joined(write):
    other = {**BANK, "facet_id": "f", "items": [{"nugget_text": "n2"}, {"nugget_text": "n3"}]}
    nuggets, rejections = read_nuggets(write(BANK, other))
    assert rejections == []
    assert [nugget.text for nugget in nuggets["116"]] == ["n1", "n2", "n3"]


def test_a_bank_of_exam_questions_holds_no_nuggets_and_says_so(write):
    nuggets, (rejection,) = read_nuggets(write(QUESTIONS))
    assert nuggets == {}
    assert rejection.field == "items.0.question_text"
    assert "exam questions" in rejection.problem
    assert "nugget_text" in rejection.expected


def test_ids_of_bank_items_are_those_of_the_paper():
    question = "Which musicians or bands are considered pioneers of rock n roll?"
    assert build_bank_item_id("940547", question) == "940547/a4c82219840e6d197d185ed1eda27c61"
    nugget = "Early 1950s innovation"
    assert build_bank_item_id("940547", nugget) == "940547/3e9afdb8aeb54b6f496bb72040d7f212"
    assert build_bank_item_id("q", nugget, "f").startswith("q/f/3e9afdb8")


def test_test_banks_of_nuggets_and_questions_are_read(write):
    result = read_test_banks(write(BANK, QUESTIONS))
    assert result.rejections == ()
    first, second = result.banks
    assert (first.kind, second.kind) == ("nuggets", "questions")
    assert first.items == (BankItem("n1", "116/x"), BankItem("n2", "116/y", '{"a": null}'))
    assert first.info == '{"prompt_target": "nuggets"}'


def test_created_nuggets_are_written_as_the_nuggetizer_writes_them(tmp_path: Path):
    path = tmp_path / "gold.jsonl"
    write_nugget_banks([NuggetBank("116", "Q?", GRADED)], path)
    assert json.loads(path.read_text()) == {**CREATED, "qid": "116"}


def test_items_without_an_id_are_given_one(tmp_path: Path):
    path = tmp_path / "bank.jsonl.gz"
    write_test_banks([RubricBank("q", "Q?", "nuggets", (BankItem("n"),))], path)
    row = json.loads(gzip.decompress(path.read_bytes()))
    assert row["items"] == [
        {"query_id": "q", "nugget_id": build_bank_item_id("q", "n"), "nugget_text": "n"}
    ]
    assert read_test_banks(path).banks[0].items[0].id == build_bank_item_id("q", "n")


def test_a_hostile_topic_does_not_take_the_others_with_it(write):
    text = '{"116": ["n1", "n2"], "117": ["\\ud800"], "118": [NaN], "119": ["n"], " ": ["n"]}'
    nuggets, rejections = read_nuggets(write(text))
    assert list(nuggets) == ["116", "119"]
    assert [one.field for one in rejections] == ["117.0", "118.0", " "]


def test_the_first_line_may_be_bad(write):
    nuggets, rejections = read_nuggets(write("[1]", CREATED))
    assert (list(nuggets), [one.line for one in rejections]) == (["116"], [1])

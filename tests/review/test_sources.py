"""What can be reviewed: runs, graded files, test banks."""

from __future__ import annotations

import json

import pytest
from reviewing import say
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.errors import InputError
from ragassay.formats import BankItem, RubricBank, build_bank_item_id, write_test_banks
from ragassay.records import BANK
from ragassay.review.server import open_source

QUESTION = build_bank_item_id("q1", "When did it begin?")


def graded(tmp_path):
    """A graded file: a passage, rated and read for the same question, and graded directly."""
    rated = {
        "correctAnswered": [QUESTION],
        "wrongAnswered": ["q1/b"],
        "self_ratings": [
            {"question_id": QUESTION, "self_rating": 4},
            {"question_id": "q1/b", "self_rating": 0},
        ],
        "answers": [[QUESTION, "4"], ["q1/b", "0"]],
        "llm": "large",
        "prompt_info": {"prompt_class": "Rated"},
    }
    read = {
        "correctAnswered": [],
        "wrongAnswered": [QUESTION],
        "answers": [[QUESTION, "in the 1950s"]],
        "llm": "large",
        "prompt_info": {"prompt_class": "Extracted"},
    }
    direct = {
        "correctAnswered": True,
        "self_ratings": 2,
        "llm": "large",
        "prompt_info": {"prompt_class": "Direct"},
    }
    paragraph = {
        "paragraph_id": "p1",
        "text": "It began in the 1950s. Nobody knows why.",
        "paragraph_data": {
            "judgments": [{"paragraphId": "p1", "query": "q1", "relevance": 3}],
            "rankings": [
                {"method": "alpha", "paragraphId": "p1", "queryId": "q1", "rank": 2, "score": 1.0}
            ],
        },
        "exam_grades": [rated, read],
        "grades": [direct],
    }
    path = tmp_path / "graded.jsonl"
    path.write_text(json.dumps(["q1", [paragraph]]) + "\n")
    return path


@pytest.fixture
def bank(tmp_path):
    path = tmp_path / "bank.jsonl"
    items = (BankItem("When did it begin?"), BankItem("Who began it?"))
    write_test_banks([RubricBank("q1", "the beginning", "questions", items)], path)
    return path


def test_grades_show_passage_item_and_graders_side_by_side(tmp_path, bank, make_client):
    client = make_client(graded(tmp_path), banks=[bank])
    kinds = [(item.evaluator, item.item, item.model_choice) for item in client.session.items]
    assert kinds == [
        ("exam_grade", f"rating/{QUESTION}", 4),
        ("exam_grade", "rating/q1/b", 0),
        ("exam_grade", f"extraction/{QUESTION}", "no"),
        ("relevance_grade", "Direct", 2),
    ]
    first = client.session.items[0]
    assert first.record == "q1/p1" and first.system == "alpha"
    assert first.item_text == "When did it begin?"
    assert "judges" in first.states  # it is rated 4, and the extracted answer is wrong
    assert [choice.value for choice in first.choices] == [0, 1, 2, 3, 4, 5]
    shown = client.get("/items/2").text
    assert "<mark>It began in the 1950s.</mark>" in shown
    assert "the beginning" in shown and "Judged relevance" in shown and "large · Rated" in shown


def test_a_grade_gets_another_rating(tmp_path, make_client):
    path = graded(tmp_path)
    client = make_client(path)
    assert say(client, 0, 1).status_code == 200
    (review,) = client.session.source.journal.read()
    assert (review.field, review.was, review.value) == ("rating", 4, 1)
    assert client.session.source.journal.path.name == "graded.jsonl.reviews.jsonl"


def test_a_bank_s_items_are_kept_removed_reworded(bank, make_client):
    client = make_client(bank)
    assert [item.item_text for item in client.session.items] == [
        "When did it begin?",
        "Who began it?",
    ]
    say(client, 0, True, id="remove-001")
    say(client, 1, "Who was first?", "text", id="reword-001", why="It leads.")
    say(client, 1, ["Ann", "Bob"], "answers", id="answers-01")
    said = [
        (one.item, one.field, one.was, one.value) for one in client.session.source.journal.read()
    ]
    second = build_bank_item_id("q1", "Who began it?")
    assert said == [
        (QUESTION, "removed", False, True),
        (second, "text", "Who began it?", "Who was first?"),
        (second, "answers", None, ["Ann", "Bob"]),
    ]
    assert all(one.evaluator == BANK for one in client.session.source.journal.read())
    assert "Who was first?" in client.get("/items/1").text


def test_an_item_is_added_to_a_bank_and_reviewed_like_others(bank, make_client):
    client = make_client(bank)
    n = say(client, 0, {"text": "Where did it begin?"}, "added").json()["n"]
    (review,) = client.session.source.journal.read()
    assert review.item == build_bank_item_id("q1", "Where did it begin?")
    assert review.value == {
        "text": "Where did it begin?",
        "kind": "questions",
        "facet": "",
        "answers": [],
    }
    assert client.session.items[n].item_text == "Where did it begin?"
    assert say(client, n, True, id="remove-001").status_code == 200
    again = make_client(bank)
    assert again.session.items[2].item == review.item and "Where did" in again.get("/items/2").text


@pytest.mark.parametrize("name", ["nothing", "empty.jsonl", "other.jsonl"])
def test_what_is_none_of_these_is_named(tmp_path, name):
    (tmp_path / "nothing").mkdir()
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "other.jsonl").write_text('{"question": "q", "answer": "a"}\n')
    with pytest.raises(InputError, match=name):
        open_source(tmp_path / name)


def test_real_grades_and_banks_open(shared, make_client, tmp_path):
    for folder, name, least in (
        ("oracles", "graded.jsonl.gz", 19_000),
        ("data", "dl20-questions.jsonl.gz", 500),
    ):
        path = tmp_path / name
        path.write_bytes((shared / folder / "workbench" / name).read_bytes())
        source = open_source(path)
        assert len(source.items) >= least
        assert source.view(source.items[0]).question


def test_the_command_says_in_a_line_what_is_wrong(tmp_path):
    done = CliRunner().invoke(app, ["review", str(tmp_path / "missing"), "--no-open"])
    assert done.exit_code == 1 and len(done.stderr.splitlines()) == 1
    assert "missing" in done.stderr


def test_a_damaged_journal_is_named_before_anything_is_served(bank):
    bank.with_name("bank.jsonl.reviews.jsonl").write_text('{"who": 3}\n')
    done = CliRunner().invoke(app, ["review", str(bank), "--no-open"])
    assert done.exit_code == 1 and "bank.jsonl.reviews.jsonl:1: not a review" in done.stderr

"""Test banks from other forms: by hand, TREC, TQA, the nuggetizer, gold nuggets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.formats import build_bank_item_id, read_test_banks, write_test_banks
from ragassay.workbench.bank_import import read_bank_import


def shown(path: Path, **given: object) -> list[tuple[object, ...]]:
    found = read_bank_import(path, **given)  # type: ignore[arg-type]
    assert not found.rejections
    return [
        (bank.query_id, bank.facet_id, bank.kind, item.text, item.answers)
        for bank in found.banks
        for item in bank.items
    ]


def test_items_of_one_query_a_line(write):
    path = write("# my questions\nWho began it?\n\nWhere?\nWho began it?", name="mine.txt")
    assert shown(path, query="q1") == [
        ("q1", "", "questions", "Who began it?", ()),
        ("q1", "", "questions", "Where?", ()),
    ]
    (bank,) = read_bank_import(path, query="q1", queries={"q1": "jazz"}, collection="c").banks
    assert (bank.query_text, bank.test_collection) == ("jazz", "c")
    assert bank.items[0].id == build_bank_item_id("q1", "Who began it?")
    assert shown(path, query="q1", kind="nuggets")[0][2] == "nuggets"
    with pytest.raises(InputError, match="--query"):
        read_bank_import(path)


def test_items_of_several_queries_by_tab_and_by_comma(tmp_path: Path):
    tabs, commas = tmp_path / "a.tsv", tmp_path / "b.csv"
    tabs.write_text("q1\tIn New Orleans\nq2\tThe moon\n")
    assert shown(tabs) == [
        ("q1", "", "nuggets", "In New Orleans", ()),
        ("q2", "", "nuggets", "The moon", ()),
    ]
    commas.write_text(
        'query,text,answers,facet,kind\nq1,"Who, then?",Buddy|Bolden,f,\nq1,cornet,,,nuggets\n'
    )
    assert shown(commas, kind=None) == [
        ("q1", "f", "nuggets", "Who, then?", ("Bolden", "Buddy")),
        ("q1", "", "nuggets", "cornet", ()),
    ]


def test_nuggets_of_trec_keep_their_importance(write):
    path = write(
        "52.6 1 vital a first fact\n52.6 2 okay a second one\n53.1 1 vital other",
        name="other_answers.txt",
    )
    found = read_bank_import(path)
    assert [len(bank.items) for bank in found.banks] == [2, 1]
    assert [json.loads(i.info)["importance"] for i in found.banks[0].items] == ["vital", "okay"]
    assert found.banks[0].kind == "nuggets"


def asked(text: str, choices: dict[str, str], correct: str) -> dict[str, object]:
    return {
        "beingAsked": {"processedText": text},
        "answerChoices": {name: {"processedText": choice} for name, choice in choices.items()},
        "correctAnswer": {"processedText": correct},
    }


QUESTIONS = {
    "NDQ_1": asked("What pulls the water?", {"a": "the wind", "b": "the moon"}, "b"),
    "NDQ_2": asked("How often?", {"a": "twice"}, "c"),
}
LESSON = {
    **{"globalID": "L_0002", "lessonName": "tides", "topics": {}},
    "questions": {"diagramQuestions": {"DQ_1": {}}, "nonDiagramQuestions": QUESTIONS},
}


def test_tqa_gives_questions_with_the_text_of_the_right_choice(write):
    path = write(json.dumps([LESSON, {"globalID": "L_3"}]), name="tqa.json")
    found = read_bank_import(path, collection="tqa")
    (bank,) = found.banks
    assert (bank.query_id, bank.query_text, bank.test_collection) == ("L_0002", "tides", "tqa")
    assert [(i.id, i.text, i.answers) for i in bank.items] == [
        ("NDQ_1", "What pulls the water?", ("the moon",))
    ]
    assert [r.field for r in found.rejections] == [
        "questions.nonDiagramQuestions.NDQ_2.correctAnswer",
        "lessonName",
    ]


def test_questions_with_a_key_a_line(tmp_path: Path):
    path = tmp_path / "keyed.jsonl"
    rows = [
        {
            "query_id": "q",
            "qid": "1",
            "question": "Who?",
            "choices": {"A": "Bo"},
            "correctKey": "A",
        },
        {"query_id": "q", "qid": "2", "question": "When?", "correct": "1951", "facet_id": "f"},
        {"query_id": "q", "qid": "3", "question": "Why?", "choices": {"A": "x"}, "correctKey": "B"},
        {"query_id": "q", "question": ""},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_bank_import(path)
    assert [(b.facet_id, b.items[0].id, b.items[0].answers) for b in found.banks] == [
        ("", "1", ("Bo",)),
        ("f", "2", ("1951",)),
    ]
    assert [(r.line, r.field) for r in found.rejections] == [(3, "correctKey"), (4, "question")]


@pytest.mark.parametrize(
    "content",
    [
        '{"q1": ["a fact", {"text": "another", "importance": "vital"}]}',
        '{"query": "jazz?", "qid": "q1", "nuggets": [{"text": "a fact"}, {"text": "another", '
        '"importance": "vital"}]}\n',
    ],
)
def test_gold_nuggets_and_the_nuggetizers(write, content: str):
    path = write(content, name="gold.json", end=b"")
    (bank,) = read_bank_import(path).banks
    assert [i.text for i in bank.items] == ["a fact", "another"]
    assert [i.info for i in bank.items] == ["", '{"importance": "vital"}']


def test_bad_lines_are_named_and_the_rest_is_read(tmp_path: Path):
    path, table = tmp_path / "a.tsv", tmp_path / "b.csv"
    path.write_text("q1\tWho?\nno tab here\nq2\tWhen?\n")
    found = read_bank_import(path)
    assert [r.line for r in found.rejections] == [2] and len(found.banks) == 2
    table.write_text("query,text\nq1,\nq2,When?,1,2\nq3,Why?\n")
    found = read_bank_import(table)
    assert [(r.line, r.field) for r in found.rejections] == [(2, "text"), (3, "")]
    assert [bank.query_id for bank in found.banks] == ["q3"]


def test_a_test_bank_is_taken_as_it_is(tmp_path: Path):
    path, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    path.write_text('{"query_id": "q", "items": [{"nugget_text": "n"}], "hash": 5}\n')
    write_test_banks(read_bank_import(path).banks, out)
    assert read_test_banks(out).banks == read_test_banks(path).banks

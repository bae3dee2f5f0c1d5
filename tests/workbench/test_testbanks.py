"""Edits, undo and history of test banks, and split, merge and lint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from case_tables import each_case
from fakes import WordEmbedder

from ragassay.errors import InputError
from ragassay.formats import BankItem, RubricBank, read_test_banks, write_test_banks
from ragassay.records import BANK, Document, Review
from ragassay.retrievers.literature import Corpus
from ragassay.runs.banks import BankFile, apply_reviews, collect_history, read_bank_file
from ragassay.runs.journal import open_journal
from ragassay.workbench.bank_edit import (
    Author,
    build_addition_review,
    change,
    find_bank_item,
    format_bank_text,
    parse_bank_reviews,
    undo_review,
)
from ragassay.workbench.bank_lint import lint_banks
from ragassay.workbench.bank_parts import merge_banks, split_banks

ADA, BO = Author("Ada", "clearer"), Author("Bo")
ITEMS = (
    BankItem("Who began it?", "q1/aa", answers=("Buddy",)),
    BankItem("Where?", "q1/ab"),
    BankItem("Why then?", "q1/bb"),
)
QUESTIONS = RubricBank("q1", "when did jazz begin?", "questions", ITEMS, info='{"by": "hand"}')
NUGGETS = RubricBank("q1", "when did jazz begin?", "nuggets", (BankItem("New Orleans", "q1/n"),))
OTHER = RubricBank("q2", "tides", "questions", (BankItem("What pulls?", "q2/aa"),), "f")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "bank.jsonl.gz"
    write_test_banks([QUESTIONS, NUGGETS, OTHER], file)
    return file


def say(path: Path, *reviews: Review) -> BankFile:
    open_journal(path).add(*reviews)
    return read_bank_file(path)


def ids(bank: RubricBank) -> list[str]:
    return [item.id for item in bank.items]


def first_text(file: BankFile) -> str:
    return file.banks[0].items[0].text


def test_an_item_keeps_its_id_and_tells_who_changed_it_and_why(path: Path):
    before, file = path.read_bytes(), read_bank_file(path)
    file = say(path, change(file, "q1/aa", "text", "Who began jazz?", ADA))
    file = say(path, change(file, "q1/aa", "answers", ["Buddy Bolden", "Bolden"], BO))
    item = file.banks[0].items[0]
    assert (item.id, item.text) == ("q1/aa", "Who began jazz?")
    assert item.answers == ("Bolden", "Buddy Bolden")
    assert [(r.who, r.why, r.field, r.was, r.value) for r in item.history] == [
        ("Ada", "clearer", "text", "Who began it?", "Who began jazz?"),
        ("Bo", "", "answers", ["Buddy"], ["Buddy Bolden", "Bolden"]),
    ]
    assert all(review.when for review in item.history)
    assert path.read_bytes() == before


def test_the_later_word_wins_between_people_and_undo_gives_the_earlier_one_back(path: Path):
    file = read_bank_file(path)
    say(path, change(file, "q1/aa", "text", "By Ada", ADA))
    file = say(path, change(file, "q1/aa", "text", "By Bo", BO))
    assert first_text(file) == "By Bo"
    file = say(path, undo_review(file, "last", BO))
    assert first_text(file) == "By Ada"
    file = say(path, undo_review(file, file.reviews[-1].id[:8], BO))  # takes the taking back back
    assert first_text(file) == "By Bo"
    assert len(file.banks[0].items[0].history) == 4


def test_removed_items_are_gone_told_and_come_back(path: Path):
    file = say(path, change(read_bank_file(path), "q1/ab", "removed", True, ADA))
    assert ids(file.banks[0]) == ["q1/aa", "q1/bb"]
    assert [(r.item, r.who) for r in file.banks[0].history] == [("q1/ab", "Ada")]
    file = say(path, undo_review(file, "last", ADA))
    assert ids(file.banks[0]) == ["q1/aa", "q1/ab", "q1/bb"]
    assert not file.banks[0].history


def test_added_items_get_an_id_of_the_originals_form(path: Path):
    file = read_bank_file(path)
    file = say(path, build_addition_review(file, "q1", "Which town?", ADA, answers=["New Orleans"]))
    added = file.banks[0].items[-1]
    assert (added.text, added.answers, len(added.history)) == ("Which town?", ("New Orleans",), 1)
    assert added.id.startswith("q1/") and len(added.id) == 3 + 32
    file = say(path, change(file, added.id, "text", "Which city?", BO))
    again = build_addition_review(file, "q1", "Which town?", BO)
    assert again.item == f"{added.id}-2"
    file = say(path, build_addition_review(file, "q2", "gravity", ADA, kind="nuggets", facet="g"))
    assert (file.banks[-1].key, file.banks[-1].query_text) == (("q2", "g", "nuggets"), "tides")
    with pytest.raises(InputError, match="already has this text"):
        build_addition_review(file, "q1", "which CITY?", ADA)
    with pytest.raises(InputError, match="no query 'q9'"):
        build_addition_review(file, "q9", "Which?", ADA)


def test_an_addition_that_was_taken_back_stays_told(path: Path):
    file = say(path, build_addition_review(read_bank_file(path), "q1", "Which town?", ADA))
    file = say(path, undo_review(file, "last", ADA))
    assert ids(file.banks[0]) == ["q1/aa", "q1/ab", "q1/bb"]
    assert [r.field for r in collect_history(file.banks[0])] == ["added", "added"]
    assert file.n_stray == 0


def test_a_new_file_carries_the_history_and_theirs_goes_on(path: Path, tmp_path: Path):
    out = tmp_path / "new.jsonl.gz"
    file = say(path, change(read_bank_file(path), "q1/aa", "text", "By Ada", ADA))
    file = say(path, change(file, "q1/ab", "removed", True, BO))
    write_test_banks(file.banks, out)
    new = read_bank_file(out)
    assert new.banks == file.banks and not new.reviews
    new = say(out, change(new, "q1/aa", "secret", True, BO))
    item = new.banks[0].items[0]
    assert item.is_secret and [r.who for r in item.history] == ["Ada", "Bo"]
    assert [r.item for r in new.banks[0].history] == ["q1/ab"]


def test_what_is_said_of_other_things_and_of_unknown_items_changes_nothing(path: Path):
    given = {"who": "Ada", "record": "q1", "item": "q1/zz", "field": "text", "value": "x"}
    file = say(path, Review(**given, evaluator=BANK), Review(**given, evaluator="exam_grade"))
    assert file.banks == apply_reviews(read_test_banks(path).banks, ())
    assert (len(file.reviews), file.n_stray) == (1, 1)


@each_case(
    ("what", "value"), [("text", 3), ("text", " "), ("answers", "one"), ("removed", "perhaps")]
)
def test_a_review_with_a_value_that_is_none_for_its_field_is_named(what, value, tmp_path: Path):
    path = tmp_path / "bank.jsonl.gz"
    write_test_banks([QUESTIONS], path)
    review = Review(who="Ada", evaluator=BANK, record="q1", item="q1/aa", field=what, value=value)
    with pytest.raises(InputError, match="q1/aa"):
        say(path, review)


def test_items_are_found_by_the_beginning_of_their_id(path: Path):
    file = read_bank_file(path)
    assert find_bank_item(file, "ab")[1].id == "q1/ab"
    assert find_bank_item(file, "q2/")[1].id == "q2/aa"
    with pytest.raises(InputError, match="matches 3 items"):
        find_bank_item(file, "a")
    with pytest.raises(InputError, match="has no item 'zz'"):
        find_bank_item(file, "zz")
    with pytest.raises(InputError, match="empty"):
        change(file, "ab", "text", " ", ADA)
    with pytest.raises(InputError, match="no change"):
        undo_review(file, "last", ADA)


def test_an_edit_of_the_text_becomes_reviews_of_what_changed():
    text = format_bank_text(QUESTIONS)
    assert not parse_bank_reviews(text, QUESTIONS, ADA)
    text = text.replace("2\tWhere?\n", "").replace("Why then?", "Why  just then?\n= no reason")
    found = parse_bank_reviews(f"{text}+ Which town?\n= New Orleans\n", QUESTIONS, ADA)
    assert [(r.item, r.field, r.value) for r in found[:3]] == [
        ("q1/ab", "removed", True),
        ("q1/bb", "text", "Why just then?"),
        ("q1/bb", "answers", ["no reason"]),
    ]
    (now,) = apply_reviews([QUESTIONS], found)
    assert [item.text for item in now.items] == ["Who began it?", "Why just then?", "Which town?"]
    assert now.items[-1].answers == ("New Orleans",)


@each_case(
    ("text", "problem"),
    [
        ("x Who?", "line 1 starts with 'x'"),
        ("4 Who?", "line 1 starts with '4'"),
        ("1 Who?\n\n1 What?", "line 3 repeats the item number 1"),
        ("= Buddy", "line 1: a line that starts with = requires an answer"),
        ("1", "line 1 has no text"),
        ("1 Who began it?\n2 Where?\n3 Why then?\n+ where?", "already has this text"),
    ],
)
def test_an_edit_that_cannot_be_read_names_its_line(text: str, problem: str):
    with pytest.raises(InputError, match=problem):
        parse_bank_reviews(text, QUESTIONS, ADA)


MANY = tuple(
    RubricBank("q", "", "questions", tuple(BankItem(f"{f}{i}?", f"{f}{i}") for i in range(5)), f)
    for f in ("f", "g")
)


def test_a_split_covers_each_query_and_part_on_both_sides_and_is_seeded():
    one, again, other = (split_banks(MANY, share=0.4, seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    assert [len(bank.items) for bank in one.public] == [3, 3]
    assert [len(bank.items) for bank in one.secret] == [2, 2]
    assert all(item.is_secret for bank in one.secret for item in bank.items)
    assert not any(item.is_secret for bank in one.public for item in bank.items)
    found = [name for bank in (*one.public, *one.secret) for name in ids(bank)]
    assert sorted(found) == sorted(name for bank in MANY for name in ids(bank))
    for share in (0.01, 0.99):
        found = split_banks(MANY, share=share)
        assert len(found.public) == len(found.secret) == 2 and not found.one_sided
    merged = merge_banks([one.public, one.secret])
    assert not merged.conflicts
    assert [set(ids(bank)) for bank in merged.banks] == [set(ids(bank)) for bank in MANY]


def test_a_split_by_hand_names_what_one_side_does_not_cover():
    found = split_banks(MANY, secret=["f0", "f3"])
    assert [name for bank in found.secret for name in ids(bank)] == ["f0", "f3"]
    assert found.one_sided == ("q/g (questions)",)
    with pytest.raises(InputError, match="'zz'"):
        split_banks(MANY, secret=["zz"])
    with pytest.raises(InputError, match="share must be above 0 and below 1, got 1"):
        split_banks(MANY, share=1)


def test_what_is_secret_stays_secret():
    first, *others = MANY[0].items
    bank = replace(MANY[0], items=(replace(first, is_secret=True), *others))
    found = split_banks([bank], share=0.4)
    assert "f0" in ids(found.secret[0])
    assert len(found.secret[0].items) == 2


def test_a_merge_keeps_each_item_once_and_names_what_differs():
    place = {"evaluator": BANK, "record": "q1"}
    said = Review(who="Ada", item="q1/ab", field="text", value=["x"], **place)
    gone = Review(who="Bo", item="q1/bb", field="removed", value=True, **place)
    items = (
        BankItem("Who?", "q1/aa", answers=("Bolden",), is_secret=True),
        BankItem("Where?", "q1/ab", history=(said,)),
        BankItem("How?", "q1/cc"),
    )
    given = {"query_text": "jazz?", "info": '{"by": "model"}', "items": items}
    second = replace(QUESTIONS, history=(gone,), **given)
    merged = merge_banks([[QUESTIONS], [second, OTHER], [second]])
    first, other = merged.banks
    assert ids(first) == ["q1/aa", "q1/ab", "q1/bb", "q1/cc"]
    assert first.items[0].answers == ("Bolden", "Buddy") and first.items[0].is_secret
    assert first.items[0].text == "Who began it?"
    assert first.items[1].history == (said,)
    assert (first.info, first.items[3].info) == ('{"by": "hand"}', '{"by": "model"}')
    assert other == OTHER
    words = " | ".join(merged.conflicts[:3])
    assert "query_text is" in words and "q1/aa: the texts differ" in words
    conflicts = merge_banks([[second], [QUESTIONS]]).conflicts
    assert any("Bo removed this item" in one for one in conflicts)


def test_lint_names_wording_duplicates_and_what_no_document_answers():
    questions = (
        BankItem("Jazz began in New Orleans, didn't it?", "1"),
        BankItem("Who played the cornet in early jazz bands of New Orleans?", "2"),
        BankItem("Who exactly played the cornet in early jazz bands of New Orleans?", "3"),
        BankItem("Was it Buddy Bolden?", "4", answers=("Buddy Bolden",)),
    )
    bank = RubricBank("q", "jazz", "questions", questions)
    same = (BankItem("cornet bands", "5"), BankItem("Cornet bands.", "6"))
    nuggets, encode = RubricBank("q", "jazz", "nuggets", same), WordEmbedder().encode
    seen: list[int] = []
    found = lint_banks([bank, nuggets], encode, on_bank=lambda: seen.append(1))
    assert [(one.item, one.kind) for one in found] == [
        ("1", "leading"),
        ("3", "duplicate"),
        ("4", "answer_told"),
        ("6", "duplicate"),
    ]
    assert all(one.why and one.mend for one in found) and len(seen) == 2
    corpus = Corpus([Document(id="d", text="They played the cornet in early jazz bands of town.")])
    hints = lint_banks([bank], encode, corpus)
    assert {one.item for one in hints if one.kind == "unanswerable"} == {"1", "4"}
    assert all("hint" in one.why for one in hints if one.kind == "unanswerable")
    assert not lint_banks([MANY[0]], encode)

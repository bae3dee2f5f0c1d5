"""What is wrong with the wording of a question, and which two ask for one thing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from case_tables import each_case

from ragassay.formats import read_test_banks
from ragassay.text.questions import find_question_flaws, find_question_word, is_one_question


def kinds(text: str, *answers: str) -> list[str]:
    return [flaw.kind for flaw in find_question_flaws(text, answers)]


@each_case(
    "text",
    [
        "Jazz began in New Orleans, didn't it?",
        "The drug is safe, right?",
        "Statins lower cholesterol, do they not?",
        "Isn\u2019t aspirin the safest choice?",
        "Would you agree that aspirin is safe?",
        "Is it not true that tides are caused by the moon?",
        "Why is aspirin obviously the better choice?",
        "Why do, as everyone knows, cats land on their feet?",
    ],
)
def test_leading_questions_are_named(text: str):
    assert kinds(text) == ["leading"]


@pytest.mark.parametrize(
    "text",
    [
        "What is a statin and how does it work?",
        "Who wrote it, and is it still in print?",
        "Does it help, and if so, how much?",
        "What is a tide? What causes it?",
        "Which drug is better and why?",
        "What are the symptoms as well as what are the causes?",
    ],
)
def test_two_questions_in_one_are_named(text: str):
    assert kinds(text) == ["two_questions"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Have you checked the wind at the site?", "asks_reader"),
        ("What is the power of the turbine you want to install?", "asks_reader"),
        ("Is the film based on a true story?", "out_of_context"),
        ("What were the key findings of this study?", "out_of_context"),
        ("Which enzymes make carnitine from this amino acid?", "out_of_context"),
    ],
)
def test_questions_that_no_passage_answers_by_itself_are_named(text: str, kind: str):
    assert kinds(text) == [kind]


@each_case(
    "text",
    [
        "Which musicians or bands are considered pioneers of rock n roll?",
        "Did rock n roll start as a genre or did it evolve from others?",
        "Is the show Shameless a drama or a comedy?",
        'What does the song "Yesterday" tell of?',
        "Can you explain the importance of ALM?",
        "How do goals and objectives relate to strategy?",
        "Which dairy products, if any, lower cholesterol?",
        "Is there no cure, such as surgery?",
        "What does Al Pacino's character want in the movie Heat?",
        "How does a strategy differ from this strategy's model?",
        "What are the limits of the method (what, when, and why)?",
        "",
        "?",
    ],
)
def test_sound_questions_pass(text: str):
    assert kinds(text) == []


def test_of_the_released_questions_few_are_named(shared: Path):
    banks = read_test_banks(shared / "data/workbench/dl20-questions.jsonl.gz").banks
    found = Counter(kind for bank in banks for item in bank.items for kind in kinds(item.text))
    assert found == {"out_of_context": 11, "asks_reader": 9, "two_questions": 3}


def test_a_known_answer_in_the_question_tells_it():
    assert kinds("Was Buddy Bolden the first?", "buddy bolden") == ["answer_told"]
    assert kinds("Was it Bolden or Armstrong?", "Bolden") == []
    assert kinds("Is it so, yes?", "yes") == ["leading"]
    assert kinds("Who was first?", "Bolden") == []


def test_flaws_say_why_and_how_to_mend():
    (flaw,) = find_question_flaws("It was loud, wasn't it?")
    assert '"wasn\'t it?"' in flaw.why and flaw.mend


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("When was Ada born?", "when"),
        ("In what year was Ada born?", "when"),
        ("How many sons has he?", "how many"),
        ("To whom was it sold?", "who"),
        ("Which bands began it?", "what"),
        ("Is it old?", "whether"),
        ("", "whether"),
    ],
)
def test_what_a_question_asks_for(question: str, asked: str):
    assert find_question_word(question) == asked


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("When was Ada born?", "What year was Ada born?", True),
        ("Which factors affect the price?", "What are the main factors affecting prices?", True),
        ("When was Ada born?", "Where was Ada born?", False),
        ("What are synonyms of 'vast'?", "What are antonyms of 'vast'?", False),
        ("How does A1 affect B2?", "How does B2 affect A1?", False),
    ],
)
def test_one_question_in_two_wordings(first: str, second: str, is_one: bool):
    assert is_one_question(first, second) is is_one

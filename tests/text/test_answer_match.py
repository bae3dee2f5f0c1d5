"""Extracted answers against known ones."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.text.answer_match import is_known_answer, is_unanswered, normalize_answer

# As the original's rules find them too: lower case, stop words, stems, a fuzzy ratio above 80.
SAME = [
    ("Atlantic", ["atlantic."]),
    ("The Moon", ["moon"]),
    ("volcanoes", ["a volcano"]),
    ("running", ["to run"]),
    ("igneous rocks", ["igneous rock"]),
    ("photosyntesis", ["photosynthesis"]),
    ("Chuck Berry", ["Elvis Presley", "chuck  berry"]),
    ("B", ["b"]),
    ("Yes", ["true"]),
    ("correct", ["True"]),
    ("no", ["false"]),
    ("Incorrect", ["FALSE"]),
    ("5", ["5"]),
]
DIFFERENT = [
    ("Pacific", ["Atlantic"]),
    ("igneous", ["sedimentary"]),
    ("", ["moon"]),
    ("moon", []),
    ("moon", [" "]),
    ("unanswerable", ["moon"]),
    ("It does not say.", ["moon"]),
    ("yes", ["false"]),
    ("no", ["true"]),
    ("a lot", ["true"]),
    ("cat", ["car"]),
]
# Where the original says the opposite.
ONLY_OURS = [
    ("yes, it does", ["true"], True),
    ("No, it cannot.", ["false"], True),
    ("It began in 1960", ["it began in 1950"], False),
    ("3.5 mg", ["35 mg"], False),
    ("1,200 patients", ["1200 patients"], True),
    ("it does not reduce mortality in patients", ["it reduces mortality in patients"], False),
    ("it doesn't reduce mortality", ["it does not reduce mortality"], True),
    ("cannot be reversed", ["can't be reversed"], True),
]


@each_case(("answer", "known"), SAME)
def test_another_form_of_a_known_answer_is_that_answer(answer: str, known: list[str]):
    assert is_known_answer(answer, known)


@each_case(("answer", "known"), DIFFERENT)
def test_other_answers_are_not_known(answer: str, known: list[str]):
    assert not is_known_answer(answer, known)


@each_case(("answer", "known", "is_known"), ONLY_OURS)
def test_numbers_negations_and_first_words_count(answer: str, known: list[str], is_known: bool):
    assert is_known_answer(answer, known) is is_known


def test_a_known_answer_may_be_that_nothing_is_known():
    assert is_known_answer("unknown", ["unknown", "not known"])


REFUSALS = """
.
unanswerable
Unanswerable.
no answer
NOT ENOUGH INFORMATION
not enough informations
unknown
It is not possible to tell
it does not say
no
"""


@each_case("answer", ["", " ", *REFUSALS.split("\n")])
def test_a_refusal_is_no_answer(answer: str):
    assert is_unanswered(answer, "What lowers blood pressure?")


@pytest.mark.parametrize("answer", ["moon", "0", "yes", "an unknown soldier", "no known cause"])
def test_what_says_something_is_an_answer(answer: str):
    assert not is_unanswered(answer, "What is it?")


def test_no_answers_what_can_be_answered_by_it():
    assert not is_unanswered("No", "Are dogs reptiles?")
    assert is_known_answer("no", ["no"], "Are dogs reptiles?")


def test_stop_words_alone_are_kept():
    assert normalize_answer("The Who") == "the who"
    assert is_known_answer("the who", ["The Who."])

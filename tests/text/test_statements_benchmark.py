"""How `benchmarks/statements.py` compares the claims of experts with our statements."""

from __future__ import annotations

import pytest
from case_tables import each_case

from benchmarks.statements import (
    Claim,
    count_claims,
    describe_statement,
    find_claim,
    locate_claims,
    read_as_statements,
    shape_message,
    words_of,
)
from ragassay.records import AnswerSentence, Record

ANSWER = "Two causes are known:\n\n1. Smoke harms [1].\n2. Dust harms, too [2]. Rain does not."
CLAIMS = [
    {"claim": "Two causes are known: 1.", "markers": []},
    {"claim": "Smoke harms [1]. 2.", "markers": ["1"]},
    {"claim": "Dust harms, too [2].", "markers": ["2"]},
]


def statement(text: str, start: int = 0, end: int | None = None) -> AnswerSentence:
    end = start + len(text) if end is None else end
    return AnswerSentence(index=1, text=text, start=start, end=end)


def claim(text: str) -> Claim:
    return Claim(0, len(text), words_of(text), frozenset())


def test_claims_are_located_from_first_to_last_word_whatever_the_white_space() -> None:
    places = [ANSWER[one.start : one.end] for one in locate_claims(ANSWER, CLAIMS)]
    assert places == ["Two causes are known", "Smoke harms", "Dust harms, too"]


def test_a_claim_that_is_not_in_its_answer_is_an_error() -> None:
    with pytest.raises(ValueError, match="is not in its answer"):
        locate_claims(ANSWER, [{"claim": "Snow harms.", "markers": []}])


@pytest.mark.parametrize(
    ("text", "statements", "way"),
    [
        ("It grew fast [1].", ["It **grew** fast."], "whole"),
        ("It grew: by day; by night.", ["It grew:", "by day;", "by night."], "split"),
        ("It grew.", ["It grew. So did the other one, later."], "merged"),
        ("It grew fast and far.", ["It grew fast."], "missed"),
        ("It grew.", [], "missed"),
        ("1. [5]", ["1."], "no words"),
    ],
)
def test_a_claim_is_found_by_its_words(text: str, statements: list[str], way: str) -> None:
    assert find_claim(claim(text), [statement(one) for one in statements]) == way


def test_a_mark_in_another_statement_is_no_mark_of_the_claim() -> None:
    right = read_as_statements(Record(id="a", question="?", answer=ANSWER), CLAIMS)
    assert right.has_marks == (True, True, True)
    swapped = [CLAIMS[0], CLAIMS[1] | {"markers": ["2"]}, CLAIMS[2] | {"markers": []}]
    wrong = read_as_statements(Record(id="a", question="?", answer=ANSWER), swapped)
    assert wrong.has_marks == (True, False, False)
    assert count_claims("all", [wrong])[-2] == "1 (33.3 %)"


@each_case(
    ("one", "columns"),
    [
        (statement("Smoke harms the lungs.", 24, 38), []),
        (statement("1. Smoke harms the lungs.", 24, 38), ["list mark"]),
        (statement("Smoke harms the lungs. 2.", 24, 38), ["list mark"]),
        (statement("Patients had diabetes type 2.", 24, 38), []),
        (statement("Smoke harms the **lungs**.", 24, 38), ["markup"]),
        (statement("Causes:", 24, 38), ["short"]),
        (statement("Both of them harm the lungs.", 24, 60), ["joined"]),
        (statement("The two are known.", 21, 23), ["unclaimed"]),
        (statement("Rain does not harm.", 64, 78), ["behind"]),
    ],
)
def test_odd_statements_are_counted_by_kind(one: AnswerSentence, columns: list[str]) -> None:
    assert describe_statement(one, locate_claims(ANSWER, CLAIMS)) == columns


def test_messages_that_differ_in_numbers_and_quotations_are_counted_together() -> None:
    one = "Sentence 4 cites '3', which contradicts it: it has no 5 and no 2.5."
    other = "Sentence 12 cites 'PMID 7', which contradicts it: it has no 8."
    assert shape_message(one) == shape_message(other)
    assert shape_message(one) != shape_message("Sentence 4 cites '3', which points nowhere.")

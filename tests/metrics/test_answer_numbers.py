"""Numbers of answers, looked up in their paper."""

from __future__ import annotations

from pathlib import Path

from case_tables import each_case

from benchmarks.qa_numbers import Checked, sciqag_answers
from ragassay.metrics.papers.sciqag import SourceNumbers, check_answer_numbers

PAPER = (
    "Rats were fed 5 mg zinc per day for 120 min. The serum level rose from 4.4 to 6.6 mM in the "
    "treated group. Blood was drawn at 37 \u00b0C. The detection limit of the assay was 6.0 \u00d7 "
    "10\u22126 mol L\u22121, and its recovery was 98.2%. In all, twenty-five animals died. About "
    "103 colonies grew on each plate."
)


def found(answer: str, paper: str = PAPER) -> list[bool]:
    return [one.is_found for one in check_answer_numbers(answer, SourceNumbers.from_text(paper))]


def near(answer: str, paper: str = PAPER) -> list[bool]:
    return [one.is_near for one in check_answer_numbers(answer, SourceNumbers.from_text(paper))]


@each_case(
    "answer",
    [
        *("5mg", "0.005 g", "2 h", "2 hours", "4.4\u20136.6 mM", "4400 \u00b5M", "6.0e-6 M"),
        *("6 \u00b5mol/l", "98.2 percent", "about 98%", "25 animals", "10^3 colonies"),
        "103 colonies",
    ],
)
def test_a_number_is_found_in_another_notation(answer: str):
    assert all(found(answer))


@each_case(
    "answer",
    [
        *("5 g", "2 min", "44 mM", "6.0 \u00d7 10\u22125 M", "98%", "about 90%"),
        *("26 animals", "10^4 colonies"),
    ],
)
def test_a_number_that_the_paper_does_not_state_is_not_found(answer: str):
    assert found(answer) == [False]


def test_a_negative_number_is_not_a_positive_one():
    assert found("\u22120.3 V", "It fell to \u22120.3 V.") == [True]
    assert found("\u22120.3 V", "It rose to 0.3 V.") == [False]


FAR = "The dose was 5 mg. " + "Other words stand here. " * 20 + "The tumour weighed {} mg."


def test_a_number_of_another_place_is_found_and_not_near():
    answer, paper = "The tumour weighed 5 mg.", FAR.format(8)

    assert (found(answer, paper), near(answer, paper)) == ([True], [False])
    assert near("The tumour weighed 8 mg.", paper) == [True]


def test_where_is_the_place_most_like_the_answer():
    paper = FAR.format(5)
    (one,) = check_answer_numbers("The tumour weighed 5 mg.", SourceNumbers.from_text(paper))

    assert one.where == paper.rindex("5 mg")


def test_a_cell_of_a_table_is_read_with_its_row_and_head():
    paper = (
        "Frail adults were studied. " + "Other words stand here. " * 20 + "\n\n"
        "Characteristic\tTreated\tPlacebo\nMean age, years\t63.2\t61.7\n"
        "Serum zinc, \u00b5M\t14.1\t9.9\nBody weight, kg\t71\t70"
    )

    assert near("The mean age of treated adults was 63.2 years.", paper) == [True]
    assert near("The mean age of treated adults was 14.1 years.", paper) == [False]


def test_offsets_are_those_of_the_answer():
    answer = "It took 2 h."
    (one,) = check_answer_numbers(answer, SourceNumbers.from_text(PAPER))

    assert answer[one.start : one.end] == one.text == "2"


def test_an_answer_without_numbers_and_an_empty_paper_have_none():
    assert check_answer_numbers("Zinc is a metal.", SourceNumbers.from_text(PAPER)) == ()
    assert found("5 mg", "") == [False]


def test_many_equal_numbers_are_all_found():
    source = SourceNumbers.from_text("1, " * 5_000 + "\n" + "1\t" * 5_000)
    found = check_answer_numbers("1, " * 200, source)
    assert len(found) == 200 and all(one.is_found for one in found)


def test_wrong_numbers_of_published_answers_are_found_and_right_ones_left_alone(shared: Path):
    answers = sciqag_answers(shared)
    checked = Checked(answers)

    is_found = [one.is_found for numbers in checked.numbers for one in numbers]
    assert len(is_found) > 140 and sum(is_found) / len(is_found) > 0.99
    right = [one for _, found in checked.whole() for one in found]
    assert sum(not one.is_near for one in right) / len(right) <= 0.02
    planted = [checked.found_wrong(one, wrong) for one, wrong in checked.planted(seed=0)]
    assert len(planted) > 600
    assert sum(is_not_near for _, is_not_near in planted) / len(planted) >= 0.95
    assert sum(is_nowhere for is_nowhere, _ in planted) / len(planted) >= 0.58

"""Clauses by rule: what is cut, what is left whole, and that nothing is lost or made up."""

from __future__ import annotations

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.text.clauses import MOST_WORDS, split_clauses
from ragassay.text.grounding import is_carried
from ragassay.text.search import tokenize

CUT = {
    "semicolon": (
        "Nausea was common (12%; n = 31); however, two patients stopped the drug.",
        ["Nausea was common (12%; n = 31).", "Two patients stopped the drug."],
    ),
    "coordinated clause": (
        "The drug lowered nausea from 34.1% to 22.0%, but the difference was not significant.",
        ["The drug lowered nausea from 34.1% to 22.0%.", "The difference was not significant."],
    ),
    "three clauses": (
        "Diversity was higher, but the effects were small, and access to markets was decisive.",
        ["Diversity was higher.", "The effects were small.", "Access to markets was decisive."],
    ),
    "concession first": (
        "Although the mechanism remains unknown, two trials reported a benefit.",
        ["The mechanism remains unknown.", "Two trials reported a benefit."],
    ),
    "one subject, two predicates": (
        "By blocking IL-23, mirikizumab reduces inflammation and promotes healing.",
        [
            "By blocking IL-23, mirikizumab reduces inflammation.",
            "By blocking IL-23, mirikizumab promotes healing.",
        ],
    ),
    "relative clause behind the subject": (
        "Gut dysbiosis, which is a disturbance of the gut, has been linked to poor response.",
        [
            "Gut dysbiosis has been linked to poor response.",
            "Gut dysbiosis is a disturbance of the gut.",
        ],
    ),
    "a name keeps its spelling": (
        "The gene is silent, while p53-positive cells are resistant.",
        ["The gene is silent.", "p53-positive cells are resistant."],
    ),
}


@pytest.mark.parametrize(("sentence", "clauses"), CUT.values(), ids=CUT)
def test_a_sentence_is_cut_where_another_statement_begins(
    sentence: str, clauses: list[str]
) -> None:
    assert split_clauses(sentence) == clauses
    assert all(is_carried(clause, sentence, sentence) for clause in clauses)


@each_case(
    "sentence",
    [
        "Aspirin and clopidogrel reduce strokes in older adults.",
        "If platelets fall and the fever lasts, the drug must be stopped at once.",
        "The trial suggests that strokes fall, while bleeding rises.",
        "Pain eased, or the dose was raised by the nurse.",
        "Rates fell (pain eased, and the dose was halved) in all of the groups.",
        'He wrote "pain eased, and the dose was halved" in the report.',
        "The drug relieved pain, and it was cheap.",
        "The cells were washed and dried at room temperature.",
        "The drug can relieve fever, chills, and patient reported pain.",
        "Three outcomes were measured: pain was rated; sleep was timed.",
        "The dose of 1,000 mg was given at 8.30, 12.30 and 16.30 for 3,5 days.",
    ],
)
def test_a_sentence_is_left_whole_where_a_cut_might_change_it(sentence: str) -> None:
    assert split_clauses(sentence) == [sentence]


def test_white_space_is_normalised_and_a_blank_sentence_has_no_clause() -> None:
    assert split_clauses("  The drug\n works  well. ") == ["The drug works well."]
    assert split_clauses(" \n") == []


@given(st.lists(st.sampled_from('the drug fell, and but ; ( ) " which reduced 1,000 mg.'.split())))
def test_no_word_is_lost_or_made_up(words: list[str]) -> None:
    sentence = " ".join(words)
    joining = set(tokenize("and but which while"))
    own, found = set(tokenize(sentence)), set(tokenize(" ".join(split_clauses(sentence))))
    assert found <= own <= found | joining


def test_a_text_that_is_no_prose_is_not_cut() -> None:
    hostile = "a fell, and " * 20_000
    assert split_clauses(hostile) == [hostile.strip()]
    assert len(split_clauses("The level fell, and the dose rose. " + "very " * MOST_WORDS)) == 1

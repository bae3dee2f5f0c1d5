"""The words in which a claim differs from its document, and where they stand."""

from __future__ import annotations

import pytest

from ragassay.text.differences import find_absent_numbers, find_difference, find_difference_spans


@pytest.mark.parametrize(
    ("claim", "text", "words"),
    [
        (
            "It is given when eGFR is between 30 and 60.",
            "It is given at an eGFR between 30 and 45.",
            "the source says 45, the answer 60",
        ),
        (
            "Patients were followed for 12 months.",
            "Patients were followed for 12 weeks.",
            "the source says 12 weeks, the answer 12 months",
        ),
        (
            "Relapse was seen in 12% on alphanol and in 30% on betanol.",
            "Relapse was seen in 30% with alphanol and 12% with betanol.",
            "the source says 30% for alphanol, the answer 12%",
        ),
    ],
)
def test_another_value_is_told_in_plain_words_and_marked_on_both_sides(claim, text, words):
    found = find_difference(claim, [text], beside=[])
    assert found and (found.kind, found.words) == ("number", words)
    *_, here = words.split("answer ")
    there = words.removeprefix("the source says ").split(" for ")[0].split(",")[0]
    assert [claim[slice(*span)] for span in find_difference_spans(words, claim, "here")] == [here]
    assert [text[slice(*span)] for span in find_difference_spans(words, text, "there")] == [there]


def test_a_number_is_marked_where_it_is_not_a_part_of_a_longer_one():
    words = "the source says 45, the answer 60"
    assert find_difference_spans(words, "160, 60.5, 1,60 and 60.", "here") == [(20, 22)]
    assert find_difference_spans(words, "45 of 1,450", "there") == [(0, 2)]


def test_a_number_that_no_document_states_is_absent_and_no_difference():
    claim = "Mean age was 64 years in 12 countries."
    assert find_difference(claim, ["Adults took part."], beside=[]) is None
    assert find_absent_numbers(claim, ["Adults took part."]) == ("64 years", "12")
    assert find_absent_numbers(claim, ["Adults took part."], beside=["Mean age: 64 years."]) == (
        "12",
    )


def test_another_value_counts_against_the_document_that_gives_it():
    claim, own, other = "The dose was 50 mg.", "It is a tablet.", "The dose was 5 mg."
    assert find_difference(claim, [own], beside=[other]) is None
    found = find_difference(claim, [other], beside=[own])
    assert found and found.words == "the source says 5 mg, the answer 50 mg"
    assert find_difference(claim, [other], beside=["The dose was 50 mg."]) is None
    # The rest of the document may say more.
    assert find_difference(claim, [other], beside=None) is None

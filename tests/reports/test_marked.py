"""The words that a finding marks in a sentence and in its source."""

from __future__ import annotations

from ragassay.reports.marked import marked_claim, marked_passage

WORDS = "the source says 46 years, the answer 64 years"


def test_the_numbers_that_differ_are_marked_on_both_sides():
    claim = "Mean age was 64 years."
    passage = (
        "The mean age group was older adults. Of 120 men the mean was 46 years. All went home."
    )
    assert [one.text for one in marked_claim(claim, WORDS) if one.mark] == ["64 years"]
    pieces = marked_passage(passage, claim, WORDS)
    assert "".join(one.text for one in pieces) == passage
    assert [one.text for one in pieces if one.mark == "against"] == ["46 years"]
    # The sentence that has the number is shown, though another shares more words.
    assert "Of 120 men the mean was " in [one.text for one in pieces if one.mark == "close"]

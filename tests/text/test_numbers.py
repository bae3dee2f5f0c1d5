"""Numbers of a text: all of them, and those that a sentence states."""

from __future__ import annotations

from ragassay.text.quantities import extract_numbers, extract_stated_numbers


def test_numbers_are_alike_however_they_are_written():
    assert extract_numbers("1,200 and 3\u00b75 in IL-6") == {"1200", "3.5", "6"}


def test_what_names_something_is_not_stated():
    assert extract_stated_numbers("p53 rose by 7% in Paper 2 and studies 3 and 4, to 10^8") == {
        "7",
        "10",
    }

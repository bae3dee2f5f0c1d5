"""Abbreviations and what they stand for."""

from __future__ import annotations

from case_tables import each_case

from ragassay.text.abbreviations import long_forms


@each_case(
    ("text", "found"),
    [
        ("by solid-phase extraction (SPE) here", {"SPE": "solid-phase extraction"}),
        ("of quantum dots (QDs)", {"QD": "quantum dots"}),
        ("of polypyrrole (PPy) films", {"PPy": "polypyrrole"}),
        ("It rose. Gas chromatography (GC) was used (GC).", {"GC": "Gas chromatography"}),
        ("squares in the unfolded way (MCR-ALS)", {}),
        ("as was seen (USA)", {}),
        ("in the end (see)", {}),
        ("(GC)", {}),
        ("", {}),
    ],
)
def test_letters_decide_what_a_short_form_stands_for(text: str, found: dict[str, str]):
    assert long_forms(text) == found

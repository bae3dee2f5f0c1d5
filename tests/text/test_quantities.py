"""Quantities of a text: notation, units, ranges, and the numbers that are none."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from case_tables import each_case

from ragassay.text.number_words import find_number_words
from ragassay.text.quantities import Quantity, read_quantities
from ragassay.text.units import read_unit


def read(text: str) -> list[Quantity]:
    return [one for one in read_quantities(text) if not one.is_name]


def values(text: str) -> list[Fraction]:
    return [one.value for one in read(text)]


@each_case(
    ("text", "value"),
    [
        ("1,200 mice", 1200),
        ("1 200 mice", 1200),
        ("1\u2009200\u2009000 mice", 1_200_000),
        ("1\u00a0200 mice", 1200),
        ("1,200.5 mg", "2401/2"),
        ("1.5 mg", "3/2"),
        ("1\u00b75 mg", "3/2"),
        ("1,5 mg", "3/2"),
        ("0,125 mg", "1/8"),
        ("\u00bd dose", "1/2"),
        ("2/3 of the cells", "2/3"),
        ("10^3 cells", 1000),
        ("10\u00b3 cells", 1000),
        ("10(3) cells", 1000),
        ("10**3 cells", 1000),
        ("10\u22123 M", "1/1000"),
        ("10-3 M", "1/1000"),
        ("1.2 \u00d7 10\u22122 M", "3/250"),
        ("1.2\u00d710\u207b\u00b2 M", "3/250"),
        ("1.2 x 10^-2 M", "3/250"),
        ("1.2*10^(-2) M", "3/250"),
        ("1.2e-2 M", "3/250"),
        ("2 \u00d7 105 cells", 200_000),
        ("2.5 million people", 2_500_000),
        ("three million people", 3_000_000),
        ("twenty-five mice", 25),
        ("two hundred and five mice", 205),
        ("a dozen mice", 12),
        ("two thirds of them", "2/3"),
        ("a quarter of them", "1/4"),
        ("half of them", "1/2"),
        ("the 1990s", 1990),
        ("tenfold", 10),
        ("a \u22120.3 V step", "-3/10"),
        ("a rise of +1.2 V", "6/5"),
        ("pH 7.4", "37/5"),
        ("(n=17)", 17),
        ("p<0.05", "1/20"),
        ("12.3(4) \u00c5", "123/10"),
        ("37\u00b0C", 37),
        ("a 24-well plate", 24),
        ("a 20-\u03bcm sieve", 20),
    ],
)
def test_a_number_is_read_in_any_notation(text: str, value: int | str):
    assert values(text) == [Fraction(value)]


def test_a_lost_superscript_may_be_a_power_and_is_first_what_it_says():
    (one,) = read("103 cells")

    assert one.value == 103
    assert one.power == 1000


def test_a_range_that_rises_may_still_be_a_power():
    ten, twelve = read("10-12 mol")

    assert (ten.value, twelve.value) == (10, 12)
    assert ten.power == Fraction(10) ** -12


@pytest.mark.parametrize(
    "text",
    [
        "4.4\u20136.6 mM",
        "between 4.4 and 6.6 mM",
        "4.4 to 6.6 mM",
        "4.4 mM to 6.6 mM",
        "4.4 \u00b1 6.6 mM",
    ],
)
def test_both_ends_of_a_range_have_its_unit(text: str):
    low, high = read(text)

    assert (low.value, high.value) == (Fraction("4.4"), Fraction("6.6"))
    assert low.unit and high.unit
    assert (low.unit.factor, low.unit.powers) == (high.unit.factor, high.unit.powers)


@pytest.mark.parametrize("text", ["6\u20139\u00d710\u22128 mol", "(6\u20139) \u00d7 10\u22128 mol"])
def test_both_ends_of_a_range_have_its_power(text: str):
    assert values(text) == [Fraction(6, 10**8), Fraction(9, 10**8)]


def test_numbers_of_a_list_have_its_unit():
    units = [one.unit for one in read("at 350 and 200 \u00b0C, with 1, 2 and 5 mg")]

    assert all(units)
    assert [unit.powers for unit in units if unit] == [(("celsius", 1),)] * 2 + [(("g", 1),)] * 3


@each_case(
    "text",
    [
        "p53, TiO2, Al2O3, HepG2 and 3ADON",
        "4-aminophenol and 2,4-dichlorophenol",
        "6-(10-hydroxy-6-oxo-trans-1-undecenyl)",
        "the C-9,10 bond, IL-6, COVID-19 and MCF-7",
        "vitamin B12 and vitamin 12",
        "type 2 diabetes in a phase 2/3 trial, grade 3",
        "3-D structure",
        "the 3rd day",
        "14-3-3 proteins on 2020-05-01",
        "100 mV s\u22121"[7:],
        "[12], [3\u20135, 9]",
        "Figure 5, Figs. 2 and 3, Table 2, Eq. (3), Scheme 1b",
        "Smith et al., 2007",
        "10.1007/s11046-006-0215-6 and https://example.org/12/34",
        "Effects: (1) pain, (2) fever and 3) cough",
        "1. First part. 2. Second part.",
        "version 2.1.3",
        "one of the first",
        "9" * 400,
    ],
)
def test_numbers_of_names_references_and_lists_are_no_quantities(text: str):
    assert values(text) == []


def test_a_reference_does_not_swallow_the_quantity_behind_it():
    assert values("see Figs. 2 and 3, 5 mg were given") == [5]
    assert values("see Table 1, 12 patients") == [12]


@each_case(
    ("one", "other"),
    [
        ("mg/dl", "mg dL\u22121"),
        ("mg/dl", "mg per dl"),
        ("\u00b5M", "\u03bcmol/L"),
        ("cm2 V\u22121 s\u22121", "cm\u00b2/V/s"),
        ("h", "hours"),
        ("%", "per cent"),
        ("kg/m2", "kg m-2"),
        ("\u00b5g", "micrograms"),
        ("ml", "cc"),
    ],
)
def test_units_are_alike_however_they_are_written(one: str, other: str):
    first, second = read_unit(one, 0), read_unit(other, 0)

    assert first and second
    assert (first.factor, first.powers) == (second.factor, second.powers)
    assert first.end == len(one)
    assert second.end == len(other)


@pytest.mark.parametrize("text", ["mice", "in", "a", "pH", "meters' worth"[7:], "and", "mgs"])
def test_words_are_no_units(text: str):
    assert read_unit(text, 0) is None


def test_approximate_numbers_are_marked():
    assert [one.is_about for one in read("about 3 of 7, \u223c12 and nearly 500")] == [
        *(True, False, True, True),
    ]


def test_one_is_a_number_in_a_compound_only():
    assert [value for *_, value in find_number_words("one of one hundred and one")] == [101]


def test_one_with_a_unit_and_a_number_after_its_unit_are_quantities():
    found = read("At one week and at week 12, 40% had responded; in year 2020, more had.")
    assert [(one.value, one.unit and str(one.unit.factor)) for one in found] == [
        (1, "604800"),
        (12, "604800"),
        (40, "1/100"),
        (2020, None),
    ]


@each_case("joint", ["and", "versus", "vs."])
def test_a_unit_counts_for_each_number_of_a_list_with_signs(joint: str):
    found = read(f"It fell by \u221237.6 {joint} \u221238.2 kg.")
    assert [(one.value, one.unit and one.unit.powers) for one in found] == [
        (Fraction("-37.6"), (("g", 1),)),
        (Fraction("-38.2"), (("g", 1),)),
    ]


def test_places_are_those_of_the_text():
    text = "It rose from 1,200 to \u03bc 2.5 \u00d7 10\u22123 mg."

    assert [text[one.start : one.end] for one in read(text)] == ["1,200", "2.5 \u00d7 10\u22123"]


def test_a_huge_exponent_costs_nothing():
    assert max(values("1e999999999 and 10^999999999")) < 10**20


SIGNS = "0123456789,. -\u2212\u2013\u00d7^()/%eE"


@each_case(
    "text",
    # hostile/test_readers.py measures that the time is linear.
    [
        "1" * 100_000,
        "100," * 25_000,
        " " * 100_000,
        "two hundred and " * 6_000,
        "fig. 1, " * 12_000,
        "5 mg " + "m s " * 25_000,
        "".join(random.Random(0).choices(SIGNS, k=40_000)),
        "10^" * 12_000,
        "1-1" * 12_000,
    ],
    ids=["digits", "groups", "spaces", "words", "figures", "units", "mixed", "powers", "dashes"],
)
def test_what_is_read_of_a_long_text_stands_in_order(text: str):
    ends = [0]
    for found in read_quantities(text):
        assert ends[-1] <= found.start < found.end <= len(text)
        ends.append(found.end)

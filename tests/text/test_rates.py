"""Rates per people and time, per body surface, and shares that complete each other."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.text.differences import find_difference
from ragassay.text.number_comparison import compare_numbers, has_complement
from ragassay.text.number_mentions import read_mentions

SURFACES = (
    "45 mL/min/1.73 m2",
    "45 ml/min per 1.73 m\u00b2",
    "45 mL/min/1.73m^2",
    "45 mL\u00b7min\u22121\u00b71.73 m\u22122",
    "45 mL/min (per 1.73 m2)",
    "45 ml/min/1,73 m2",
    "45 ml per minute per 1.73 m2",
)
RATES = (
    ("12 per 1,000 person-years", "1.2 per 100 person-years"),
    ("12 per 1000 person years", "1.2 per 100 patient-years"),
    ("12 cases per 1,000 person-years", "1.2 cases per 100 patient-years"),
    ("2.1 major bleeds per 100 patient-years", "21 major bleeds per 1000 patient-years"),
    ("12 per thousand person-years", "1,200 per 100,000 person-years"),
    (
        "12 (95% CI 10 to 14) per 1,000 person-years",
        "1.2 per 100 person-years (95% CI, 1.0 to 1.4)",
    ),
    ("12/1000 person-years", "0.012 per person-year"),
    ("12 per 1,000 people per year", "1.2% per year"),
    ("12 deaths per 100,000 live births", "0.12 deaths per 1,000 live births"),
    ("12 per 1,000 women", "1.2% of women"),
    ("12 and 15 per 1,000 person-years", "1.2 and 1.5 per 100 person-years"),
    ("12 versus 15 per 1,000 person-years", "1.2 vs. 1.5 per 100 person-years"),
    (
        "12 per 1,000 person-years with the drug and 15 with placebo",
        "1.2 per 100 person-years with the drug and 1.5 with placebo",
    ),
    (
        "12 in the drug group and 15 in the placebo group per 1,000 person-years",
        "1.2 per 100 person-years in the drug group vs. 1.5 in the placebo group",
    ),
    ("12 vs 15 per 1,000 person-years", "12 with the drug and 15 with placebo"),
    ("3 fewer deaths per 1,000 patients", "3 fewer deaths per 1000 patients"),
    ("4 ventilator infections per 1000 ventilator-days", "0.4 infections per 100 ventilator-days"),
)
OTHER_RATES = (
    ("The incidence was 12 per 1,000 person-years.", "The incidence was 12 per 100 person-years."),
    ("The incidence was 12 per 1,000 person-years.", "The incidence was 15 per 1000 person-years."),
    ("There were 12 deaths per 100,000 births.", "There were 21 deaths per 100,000 births."),
    ("The mean eGFR was 60 mL/min/1.73 m2.", "The mean eGFR was 45 mL/min/1.73 m2."),
    ("Relapse was seen in 20% of patients.", "Relapse was seen in 80% of patients."),
)
NO_OTHER_RATES = (
    # What is counted differs.
    ("There were 12 deaths per 1,000 person-years.", "There were 15 falls per 1000 person-years."),
    (
        "The rate of falls was 12 per 1,000 person-years.",
        "There were 15 deaths per 1,000 person-years.",
    ),
    # A share and a yearly rate.
    ("The incidence was 12 per 1,000 person-years.", "The incidence was 4%."),
)
COMPLEMENTS = (
    ("At 5 years, 95% of patients survived.", "At 5 years, 5% of patients had died."),
    ("Survival at one year was 95%.", "Mortality at one year was 5%."),
    (
        "Treatment success was seen in 80% with zelcoline.",
        "Treatment failure was seen in 20% with zelcoline.",
    ),
    (
        "Five-year survival was 80% in treated adults.",
        "Five-year mortality was 20% in treated adults.",
    ),
    ("Of the patients, 80% did not relapse.", "Of the patients, 20% relapsed."),
    ("The response rate at week 12 was 70%.", "The non-response rate at week 12 was 30%."),
)


def verdicts(claim: str, text: str) -> set[str]:
    return {one.verdict for one in compare_numbers(claim, text)}


@pytest.mark.parametrize("written", SURFACES)
def test_a_filtration_rate_is_one_number_with_its_body_surface(written: str):
    (one,) = read_mentions(f"Mean eGFR was {written}.")
    assert one.amount == read_mentions("45 mL/min")[0].amount
    assert verdicts("Mean eGFR was 45 mL/min/1.73 m2.", f"Mean eGFR was {written}.") == {"same"}
    assert verdicts(f"Mean eGFR was {written}.", "Mean eGFR was 60 mL/min/1.73 m2.") == {"other"}


def test_a_body_surface_alone_is_a_number():
    assert [str(one.quantity.value) for one in read_mentions("A surface of 1.73 m2.")] == [
        "173/100"
    ]


@each_case(("one", "other"), RATES)
def test_a_rate_is_the_same_in_any_size_of_its_base(one: str, other: str):
    claim, text = f"The rate was {one}.", f"The rate was {other}."
    assert verdicts(claim, text) == verdicts(text, claim) == {"same"}


@each_case(("claim", "text"), OTHER_RATES)
def test_another_rate_of_the_same_thing_is_another_value(claim: str, text: str):
    assert "other" in verdicts(claim, text)


@each_case(("claim", "text"), NO_OTHER_RATES)
def test_a_rate_of_something_else_contradicts_nothing(claim: str, text: str):
    assert "other" not in verdicts(claim, text)


@each_case(("claim", "text"), COMPLEMENTS)
def test_two_shares_that_complete_each_other_do_not_contradict(claim: str, text: str):
    assert "other" not in verdicts(claim, text) | verdicts(text, claim)


def test_changes_that_come_to_a_hundred_do_not_complete_each_other():
    assert has_complement("Of them, 60% had pain.", "Of them, 40% had none.")
    assert not has_complement("Pain fell by 60%.", "Pain rose by 40%.")


@each_case(("claim", "text"), COMPLEMENTS)
def test_what_completes_has_no_difference(claim: str, text: str):
    assert find_difference(claim, [text], beside=()) is None


def test_a_volume_is_no_number_of_people():
    kinds = [
        one.kind for one in read_mentions("Counts were 12 per 100 mL, 5 g per 100 g, 3 per 1000 m.")
    ]
    assert "share" not in kinds and "month-1" not in kinds

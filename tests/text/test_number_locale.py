"""Digits that a text groups by points, as German and Spanish do."""

from __future__ import annotations

from fractions import Fraction

from case_tables import each_case

from ragassay.text.number_comparison import compare_numbers
from ragassay.text.quantities import read_quantities


@each_case(
    ("text", "values"),
    [
        ("Eingeschlossen wurden 3.730 Patienten.", ["3730"]),
        ("3.730 Patienten nahmen teil.", ["3730"]),
        ("Insgesamt nahmen 1.234.567 Personen teil.", ["1234567"]),
        ("Die Dosis wurde auf 1.234,5 mg erh\u00f6ht.", ["1234.5"]),
        ("Die Dosis wurde auf 3,730 mg erh\u00f6ht.", ["3.73"]),
        ("El ensayo incluy\u00f3 a 12.450 pacientes de 18 a 65 a\u00f1os.", ["12450", "18", "65"]),
        ("Die Dosis betrug 1.000 mg pro Tag.", ["1000"]),
        ("El ensayo cost\u00f3 1.250.000 euros.", ["1250000"]),
        # A decimal point stands in such texts, too.
        ("Das Risiko war bei ihnen erh\u00f6ht (HR 1.234, p = 0.034).", ["1.234", "0.034"]),
        ("Die Dosis wurde auf 2.5 mg gesenkt.", ["2.5"]),
        ("Das Gewicht wurde um 2,5 kg gesenkt.", ["2.5"]),
        ("The dose was 3.730 mg.", ["3.73"]),
        ("In ALS, IL and DAS trials: 3.730 mg.", ["3.73"]),
        ("3.730", ["3.73"]),
        ("The Patienten were 3.730 of the trial.", ["3.73"]),
    ],
)
def test_points_group_digits_where_the_language_says_so(text: str, values: list[str]):
    assert [one.value for one in read_quantities(text)] == [Fraction(one) for one in values]


@each_case(
    ("claim", "text", "verdict"),
    [
        ("Die Studie umfasste 3.730 Patienten.", "The trial enrolled 3,730 patients.", "same"),
        ("The trial enrolled 3,730 patients.", "Es wurden 3.730 Patienten eingeschlossen.", "same"),
        ("Se incluyeron 3.730 pacientes.", "Se incluyeron 3730 pacientes en el ensayo.", "same"),
        ("Se incluyeron 3.370 pacientes.", "Se incluyeron 3.730 pacientes.", "other"),
    ],
)
def test_such_numbers_are_compared_by_their_value(claim: str, text: str, verdict: str):
    assert {one.verdict for one in compare_numbers(claim, text)} == {verdict}

"""A nugget may say nothing that its sentence does not say."""

from __future__ import annotations

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from ragassay.text.grounding import is_carried

TRIAL = "Brelozant 40 mg lowered monthly migraine days by 1.9 days more than placebo (P<0.001)."
COMPARED = "Nemvotrine was more effective than ondansetron in adults."
LIST = "Brelozant reduced pain and attacks but not nausea, and it may cause constipation."
READMISSION = "Mortality was not reduced and readmission fell."


@each_case(
    ("nugget", "sentence"),
    [
        ("Brelozant lowered monthly migraine days.", TRIAL),
        ("Brelozant 40 mg lowered migraine days by 1.9 days.", TRIAL),
        ("Migraine days lowered by 1.9 days with brelozant.", "With brelozant, " + TRIAL),
        ("Nemvotrine was more effective than ondansetron.", COMPARED),
        ("In adults, nemvotrine was more effective than ondansetron.", COMPARED),
        ("Brelozant reduced pain.", LIST),
        ("Brelozant reduced attacks.", LIST),
        ("It may cause constipation.", LIST),
        ("Mortality was not reduced.", READMISSION),
        ("Readmission fell.", READMISSION),
        ("Brelozant did not improve sleep.", "Brelozant reduced pain, but did not improve sleep."),
        ("Brelozant lowered attacks.", "Brelozant lowered attacks without sedation."),
        (
            "Brelozant lowered attacks without sedation.",
            "Brelozant lowered attacks without sedation.",
        ),
        (
            "Nurse calls lowered readmission.",
            "Nurse calls lowered readmission after a heart failure admission.",
        ),
        ("Nausea was not reduced by brelozant.", "Brelozant reduced pain but not nausea by day 2."),
        (
            "The difference was not significant.",
            "The difference was only 0.4 days and not significant.",
        ),
        ("The difference was -0.4 days.", "The difference was \u22120.4 days and not significant."),
        ("It was reached by 52 %.", "It was reached by 52% of adults."),
        ("There was no effect on readmission.", "No effect on mortality or readmission was there."),
    ],
)
def test_what_the_sentence_says_is_carried(nugget: str, sentence: str) -> None:
    assert is_carried(nugget, sentence, sentence)


@each_case(
    ("nugget", "sentence"),
    [
        # Numbers: another one, another sign, another comparator, another unit.
        ("Brelozant 20 mg lowered monthly migraine days.", TRIAL),
        ("Brelozant lowered monthly migraine days by 9 days.", TRIAL),
        ("Brelozant lowered monthly migraine days (P>0.001).", TRIAL),
        ("The difference was 0.4 days.", "The difference was -0.4 days."),
        ("Brelozant lowered monthly migraine days by 40%.", TRIAL),
        # Negations that come, go or move.
        ("Brelozant reduced nausea.", LIST),
        ("Readmission was not reduced.", READMISSION),
        ("Mortality was reduced.", READMISSION),
        ("Readmission was not reduced.", "Readmission fell and mortality was not reduced."),
        ("The difference was not 0.4 days.", "The difference was 0.4 days and not significant."),
        ("Mortality was not reduced.", "Mortality was reduced."),
        ("Brelozant was sedating.", "Brelozant, which was not sedating, reduced pain."),
        ("Brelozant lowered sedation.", "Brelozant lowered attacks without sedation."),
        ("Mortality was reduced, not.", "Mortality was reduced."),
        ("The drug works.", "The drug doesn't work; the drug failed to work."),
        (
            "An effect on readmission was found.",
            "No effect on mortality, readmission or cost was found.",
        ),
        # A hedge that goes.
        ("It cause constipation.", LIST),
        ("Brelozant may cause pain.", "Brelozant cause pain."),
        # Sides that change.
        ("Ondansetron was more effective than nemvotrine.", COMPARED),
        ("Placebo was larger than brelozant.", "Compared with placebo, brelozant was larger."),
        # Nothing at all.
        ("", TRIAL),
        ("It is.", TRIAL),
        ("1.9", ""),
    ],
)
def test_what_the_sentence_does_not_say_is_not(nugget: str, sentence: str) -> None:
    assert not is_carried(nugget, sentence, sentence)


ANSWER = "Brelozant increased constipation. It lowered monthly migraine days in adults."
PRONOUN = "It lowered monthly migraine days in adults."


def test_pronoun_may_be_resolved_from_the_answer() -> None:
    assert is_carried("Brelozant lowered monthly migraine days in adults.", PRONOUN, ANSWER)


@pytest.mark.parametrize(
    "nugget",
    [
        # The direction is borrowed from the sentence before.
        "Brelozant increased monthly migraine days in adults.",
        # The answer does not know the drug.
        "Topiramate lowered monthly migraine days in adults.",
        # Too much is borrowed.
        "Brelozant constipation adults.",
    ],
)
def test_pronoun_stands_for_a_thing_only(nugget: str) -> None:
    assert not is_carried(nugget, PRONOUN, ANSWER)


def test_nothing_is_borrowed_without_a_pronoun() -> None:
    sentence = "Topiramate lowered monthly migraine days."
    answer = f"Brelozant was given. {sentence}"
    assert not is_carried("Brelozant lowered monthly migraine days.", sentence, answer)


def test_long_answers_are_looked_at_once() -> None:
    answer = "It lowered monthly migraine days. " * 6000
    for n in range(200):
        assert not is_carried(f"Brelozant {n} lowered days.", PRONOUN, answer)


WORDS = st.sampled_from("brelozant pain lowered not may and , 5% than it without placebo".split())


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_sentence_carries_itself(sentence: str) -> None:
    says_something = any(
        word not in ("not", "may", "and", ",", "than", "it") for word in sentence.split()
    )
    assert is_carried(sentence, sentence, sentence) == says_something


@given(st.lists(WORDS, max_size=8).map(" ".join), st.lists(WORDS, max_size=8).map(" ".join))
def test_no_number_or_negation_is_ever_added(nugget: str, sentence: str) -> None:
    if is_carried(nugget, sentence, sentence):
        assert "5" in sentence or "5" not in nugget
        assert "not" not in nugget or any(word in sentence for word in ("not", "without"))

"""Faults of a whole answer that are told without a model."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.text.faults import (
    compare_languages,
    is_cut_off,
    is_refused_answer,
    lacks_stop,
    says_nothing,
)

WHOLE = "Metformin lowers blood glucose in adults with diabetes."
GERMAN = "Metformin senkt den Blutzucker bei Erwachsenen mit Diabetes, wie die Studie zeigt."


@each_case(
    ("sentences", "is_cut"),
    [
        ([], False),
        ([WHOLE], False),
        ([WHOLE, "It is given twice a day with"], True),
        (["The most common side effects are nausea,"], True),
        (["The side effects are nausea and"], True),
        (["Dose: 5 mg", "Duration: 7 days", "Treatment should be"], True),
        (["Dose: 5 mg", "Duration: 7 days", "Cost: low"], False),
        ([WHOLE, "The level of evidence is A"], False),
        ([WHOLE, "It is safe (in adults)."], False),
        ([WHOLE, "\u201cIt is safe.\u201d"], False),
        ([WHOLE, "It is safe.**"], False),
        ([WHOLE, "Is it safe?"], False),
        (["Nausea", "Diarrhoea", "Vitamin B12 deficiency"], False),
        (["Metformin"], False),
        (["\u7cd6\u5c3f\u75c5\u3002", "\u5b83\u662f\u5b89\u5168\u7684\u3002"], False),
    ],
)
def test_an_answer_is_cut_off_where_its_last_sentence_has_no_end(
    sentences: list[str], is_cut: bool
):
    assert is_cut_off(sentences) == is_cut


@each_case(
    ("last", "is_open"),
    [
        ("Side effects are nausea, diarrhoea", True),
        ("It is given to adults who have diabetes", True),
        ("Death fell too [1] \u2705", False),
        ("The rate of death fell too [1]", False),
        ("**Level of evidence:** 1A", False),
        ("Confidence: high", False),
        ("Level of confidence in it: high", False),
        ("Absolute risk reduction: 4.9%", False),
        ("The risk of death fell by 4.9%", False),
        ("*Last updated: May 2024*", False),
        ("This was written for adults *alone*", False),
        ("The number to treat is thus $NNT = 20$", False),
        ("I hope that it helps \U0001f600", False),
        ("Best wishes", False),
        ("It is safe.", False),
    ],
)
def test_a_last_sentence_may_be_cut_that_alone_has_no_stop(last: str, is_open: bool):
    assert lacks_stop([WHOLE, last]) == is_open
    assert not is_cut_off([WHOLE, last])
    assert not lacks_stop([last])
    assert not lacks_stop([last.rstrip("."), last])


@each_case(
    ("sentences", "is_refusal"),
    [
        ([], False),
        (["I cannot answer this question."], True),
        (["I'm sorry, but I can't help with that.", "Please see a doctor."], True),
        (["As an AI language model, I give no medical advice."], True),
        (["The context does not contain information about metformin."], True),
        ([WHOLE, "The documents do not mention children."], False),
        (["I could not find trials in children."] + [WHOLE] * 5, False),
        (["Metformin does not cure diabetes."], False),
        (["I do not recommend aspirin for primary prevention in adults over 70."], False),
        (["I can't recommend aspirin after 70.", "Bleeds outweigh its benefit."], False),
        (["The documents do not mention children, but aspirin is not recommended."], False),
        (["Not enough information is available on the dose, but it lowers glucose."], False),
        (["The documents do not mention children.", WHOLE], False),
        (["The documents do not mention children.", "However, " + WHOLE], False),
        (["I'm sorry, but I can't say whether it is safe."], True),
        (["I am unable to provide medical advice."], True),
        (["I don't have enough information to answer.", "Is it for an adult?"], True),
        (["The context does not mention it.", "The passages are about adults with asthma."], True),
        (["I could not find trials in children.", "You should ask a doctor about this."], True),
    ],
)
def test_a_short_answer_that_opens_with_having_none_is_a_refusal(
    sentences: list[str], is_refusal: bool
):
    assert is_refused_answer(sentences) == is_refusal


@each_case(
    ("question", "answer", "differ"),
    [
        ("Does metformin lower the glucose of adults?", WHOLE, None),
        ("Does metformin lower the glucose of adults?", GERMAN, ("en", "de")),
        ("Senkt Metformin den Blutzucker bei Erwachsenen?", WHOLE, ("de", "en")),
        ("Senkt Metformin den Blutzucker bei Erwachsenen?", GERMAN, None),
        ("Does metformin lower the glucose of adults?", "No [1].", None),
        ("Zokinvy?", GERMAN, None),
        ("", "", None),
    ],
)
def test_languages_are_named_where_both_are_sure_and_differ(
    question: str, answer: str, differ: tuple[str, str] | None
):
    assert compare_languages(question, answer) == differ


@pytest.mark.parametrize(
    "sentence",
    [
        "The given context does not provide information about this.",
        "Unfortunately, there are no relevant snippets provided to answer it.",
        "I cannot answer this question.",
        "How long does it take?",
    ],
)
def test_a_sentence_that_gives_no_answer_says_nothing(sentence: str):
    assert says_nothing(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Aspirin does not lower the risk of death.",
        "No evidence was found that it shortens the illness.",
        "The study did not include pregnant women.",
        "The drug did not reach the central nervous system.",
    ],
)
def test_a_finding_that_something_is_not_so_says_something(sentence: str):
    assert not says_nothing(sentence)

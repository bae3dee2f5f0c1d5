"""Sentences as questions: what each rule asks, and what none asks."""

from __future__ import annotations

from case_tables import each_case

from ragassay.text.question_rules import lacks_article, rule_question, stands_alone


def asked(sentence: str) -> tuple[str, str] | None:
    found = rule_question(
        sentence,
        is_known=lambda words: "benzene" in words.lower(),
        is_common=lambda word: word[1:].islower() or word == "A",
    )
    return (found.kind, found.text) if found else None


@each_case(
    ("sentence", "kind", "question"),
    [
        ("The density of benzene is 0.88 g/ml.", "value", "What is the density of benzene?"),
        ("Benzene has a boiling point of 80 °C.", "value", "What boiling point does benzene have?"),
        (
            "Benzene is harmful to people because it damages the bone marrow.",
            "cause",
            "Why is benzene harmful to people?",
        ),
        ("Benzene causes damage to the marrow.", "relation", "What does benzene cause?"),
        (
            "Benzene vapours can cause severe anaemia.",
            "relation",
            "What can benzene vapours cause?",
        ),
        ("Benzene dimers are made of two rings.", "relation", "What are benzene dimers made of?"),
        (
            "Benzene plays a key role in refining.",
            "relation",
            "What does benzene play a key role in?",
        ),
        ("Benzene is oxidized by many strong acids.", "relation", "What is benzene oxidized by?"),
        ("Benzene is widely used as a solvent.", "use", "What is benzene widely used as?"),
        ("Benzene can be used to make polymers.", "use", "What can benzene be used for?"),
        ("Benzene is produced by cracking oil.", "way", "How is benzene produced?"),
        (
            "Cyclohexane is the main product of benzene hydrogenation.",
            "rank",
            "What is the main product of benzene hydrogenation?",
        ),
        (
            "The main drawback of benzene is that it harms the marrow.",
            "rank",
            "What is the main drawback of benzene?",
        ),
        ("Benzene is a compound that consists of a ring.", "meaning", "What is benzene?"),
        (
            "In dry air, benzene is responsible for smog.",
            "relation",
            "What is benzene responsible for in dry air?",
        ),
    ],
)
def test_each_rule_asks_for_what_the_sentence_says(sentence: str, kind: str, question: str):
    assert asked(sentence) == (kind, question)


@each_case(
    "sentence",
    [
        "Toluene is widely used as a solvent.",  # no keyword
        "It is widely used as a solvent for benzene.",  # a pronoun
        "This benzene is widely used as a solvent.",
        "Benzene is widely used as a solvent in this study.",
        "Benzene is used as shown in Figure 5.",
        "The benzene is widely used as a solvent.",  # which one?
        "Benzene was used as a solvent.",  # once, in one experiment
        "The density of benzene was 0.88 g/ml.",
        "The density of benzene is 0.88 g/ml in the first column.",  # holds there only
        "Toxic benzene-based causes account for half of it.",  # a noun, no verb
        "Benzene increases with the temperature.",
        "Benzene is based on the method.",
        "Benzene that is pure is used as a solvent.",
        "2 ml of benzene is used as a solvent.",
        "Benzene is widely used as a solvent",  # no sentence
    ],
)
def test_where_a_rule_is_not_sure_there_is_no_question(sentence: str):
    assert asked(sentence) is None


def test_a_capital_that_cannot_be_told_makes_no_question():
    sentence = "Benzene is widely used as a solvent."
    assert rule_question(sentence, is_known=bool, is_common=lambda word: None) is None
    kept = rule_question(sentence, is_known=bool, is_common=lambda word: False)
    assert kept and kept.text == "What is Benzene widely used as?"


def test_a_noun_with_the_is_told_apart_or_unique():
    assert stands_alone("What are the effects of benzene on the liver?", lambda words: True)
    assert not stands_alone("What is benzene in the beaker used for?", lambda words: True)
    assert not stands_alone("What is the same benzene used for?", lambda words: True)


def test_counted_nouns_want_an_article():
    assert lacks_article("What is the drift of gas sensor?")
    assert not lacks_article("What are gas sensors made of?")

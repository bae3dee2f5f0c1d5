"""How an answer is written."""

from __future__ import annotations

import math

import pytest

from ragassay.instruments.signals.features import (
    SourceFacts,
    extract_names,
    extract_numbers,
    extract_opening,
    find_definitions,
    measure_connectives,
    measure_repetition,
    register_features,
)


def test_an_opening_is_the_first_words_one_by_one_and_in_pairs():
    assert extract_opening("However, the drug failed.") == [
        "however",
        ",",
        "the",
        "drug",
        "however ,",
        ", the",
        "the drug",
    ]
    assert extract_opening("") == []


def test_connectives_are_counted_by_the_sentence():
    # "and", "because" in the first, "However" in the second: three in two sentences.
    sentences = ["Pain and fever fell because it works.", "However, it is costly."]
    assert measure_connectives(sentences) == pytest.approx(1.5)
    assert measure_connectives(["It works."]) == 0
    assert measure_connectives([]) == 0


def test_runs_of_three_words_that_come_again_are_counted():
    # "the drug works", "drug works well" | "the drug works", "drug works badly": one comes again.
    again = ["The drug works well.", "the drug works badly"]
    assert measure_repetition(again) == pytest.approx(math.log(2))
    assert measure_repetition([*again, "Something else is said here."]) == pytest.approx(
        math.log(2)
    )
    assert measure_repetition(["Two words."]) == measure_repetition([]) == 0


def test_chat_and_prose_differ_in_their_spelling():
    chat = register_features("omg it's SOOO good 😭 #gains!!")
    prose = register_features("Metformin reduced glycated haemoglobin.")
    assert (chat["pictures"], chat["tags"], chat["exclamations"]) == (1, 1, 2)
    assert chat["contractions"] == pytest.approx(1 / 5)
    assert chat["small_start"] == 1
    assert not any(prose[name] for name in ("pictures", "tags", "exclamations", "contractions"))
    assert prose["word_length"] > chat["word_length"]


def test_no_word_at_all_is_measured_too():
    assert register_features("...")["word_length"] == 0


def test_abbreviations_are_defined_in_one_sentence_and_used_in_another():
    sentences = ["Acute lung injury (ALI) kills.", "ALIs are common.", "Rest helps."]
    assert find_definitions(sentences) == ([True, False, False], [False, True, False])
    assert find_definitions([]) == ([], [])


def test_numbers_and_names_that_no_source_has_are_counted():
    facts = SourceFacts(["Does BRCA1 matter?", "In 1,250 women 3·5 % had BRCA1 or TP53 variants."])
    assert facts.count_unknown_numbers("Of 1250 women 3.5% had it.") == 0
    assert facts.count_unknown_numbers("Of 1250 women 35% had it.") == 1
    assert facts.count_unknown_names("TP53 and BRCA1 matter.") == 0
    assert facts.count_unknown_names("KRAS and mTOR matter.") == 2
    assert facts.count_unknown_words("Variants matter in women.") == 0
    assert facts.count_unknown_words("Variants matter in men, rarely.") == 2


def test_numbers_are_the_same_however_they_are_written():
    assert extract_numbers("1,000 and 3·5") == extract_numbers("1000 and 3.5") == {"1000", "3.5"}
    assert extract_names("DNAs of p53") == {"dna", "p53"}

"""Cosines between sentences, question and sources, and how an answer is written."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ragassay.instruments.signals.features import (
    Placed,
    SourceFacts,
    extract_names,
    extract_numbers,
    extract_opening,
    find_definitions,
    find_twins,
    measure_connectives,
    measure_coverage,
    measure_geometry,
    measure_repetition,
    register_features,
)


def unit(*degrees: float) -> np.ndarray:
    """Vectors of length 1 in the plane, so that cosines are those of differences of angles."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def cosine(degrees: float) -> float:
    return float(np.cos(np.radians(degrees)))


def placed(sentences: np.ndarray, sources: np.ndarray, cited, owner: list[int]) -> Placed:
    return Placed(sentences, unit(0)[0], sources, np.array(owner, dtype=np.intp), cited)


def test_measures_are_the_cosines_worked_by_hand():
    # Sentences at 0, 10 and 90 degrees; sources at 5 (first document) and 60 (second).
    found = measure_geometry(placed(unit(0, 10, 90), unit(5, 60), [[0], [1], []], [0, 1]))
    assert found["source_support"] == pytest.approx([cosine(5), cosine(5), cosine(30)])
    # The first cites the first document (5 away), the second the other one (50 away).
    assert found["cited_support"][:2] == pytest.approx([cosine(5), cosine(50)])
    assert found["cited_support"][2] is None
    assert found["question_relevance"] == pytest.approx([1, cosine(10), cosine(90)], abs=1e-6)
    assert found["redundancy"] == pytest.approx([cosine(10), cosine(10), cosine(80)])
    others = [(10, 90), (10, 80), (90, 80)]
    belonging = [(cosine(one) + cosine(two)) / 2 for one, two in others]
    assert found["belonging"] == pytest.approx(belonging, abs=1e-6)
    assert found["flow"][0] is None
    assert found["flow"][1:] == pytest.approx([cosine(10), cosine(80)])


def test_what_does_not_apply_to_a_single_sentence_without_sources_is_none():
    alone = placed(unit(20), np.zeros((0, 0), np.float32), [[]], [])
    found = measure_geometry(alone)
    assert found["question_relevance"] == pytest.approx([cosine(20)])
    others = ("source_support", "cited_support", "redundancy", "belonging", "flow")
    assert all(found[name] == [None] for name in others)
    assert find_twins(alone) == [None]
    assert measure_coverage(alone) == []


def test_the_twin_is_the_most_similar_other_sentence_and_the_first_of_equals():
    assert find_twins(placed(unit(0, 80, 10, 0), unit(0), [[]] * 4, [0])) == [4, 3, 1, 1]


def test_coverage_is_how_near_the_answer_comes_to_each_sentence_of_the_sources():
    found = measure_coverage(placed(unit(0, 90), unit(10, 50, 90), [[], []], [0, 0, 1]))
    assert found == pytest.approx([cosine(10), cosine(40), 1], abs=1e-6)


def test_an_opening_is_the_first_words_one_by_one_and_in_pairs():
    words, pairs = ["however", ",", "the", "drug"], ["however ,", ", the", "the drug"]
    assert extract_opening("However, the drug failed.") == words + pairs
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
    assert measure_repetition([*again, "Something else is said."]) == pytest.approx(math.log(2))
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

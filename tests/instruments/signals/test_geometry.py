"""Cosines between sentences, question and sources."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.instruments.signals.features import (
    Placed,
    find_twins,
    measure_coverage,
    measure_geometry,
)


def unit(*degrees: float) -> np.ndarray:
    """Vectors of length 1 in the plane, so that cosines are those of differences of angles."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def cosine(degrees: float) -> float:
    return float(np.cos(np.radians(degrees)))


def placed(
    sentences: np.ndarray, sources: np.ndarray, cited: list[list[int]], owner: list[int]
) -> Placed:
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
    assert found["belonging"] == pytest.approx(
        [
            (cosine(10) + cosine(90)) / 2,
            (cosine(10) + cosine(80)) / 2,
            (cosine(90) + cosine(80)) / 2,
        ],
        abs=1e-6,
    )
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

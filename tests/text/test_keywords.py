"""Keywords by TopicRank."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from case_tables import each_case
from hypothesis import given, settings
from hypothesis import strategies as st
from lazy import LazyModule

from ragassay.text.keywords import DAMPING, classify_word, find_keywords, pagerank

networkx = LazyModule("networkx")

TEXT = (
    "The glucose sensor is for blood glucose. A glucose sensor has a stable membrane. "
    "Stable membranes of chitosan were with the glucose sensors. A glucose sensor is best."
)


def test_a_topic_is_told_by_its_first_candidate_as_the_text_writes_it():
    # Topics by shared stems: {glucose sensor(s), blood glucose} at a distance of 1 - 1/3,
    # {stable membrane(s)}, {chitosan}.
    found = find_keywords(TEXT)
    assert set(found) == {"glucose sensor", "stable membrane", "chitosan"}
    assert find_keywords(TEXT, 1) == found[:1]


def test_what_stands_close_to_the_others_comes_first():
    assert find_keywords("insulin of glucose and insulin of lipid and insulin")[0] == "insulin"


def test_names_keep_their_capitals_and_numbers_alone_are_no_keyword():
    found = find_keywords("HbA1c fell. Insulin rose in 2010 by 12 %. HbA1c and insulin differ.")
    assert set(found) == {"HbA1c", "insulin"}


@pytest.mark.parametrize("text", ["", " \n", "12 34 %", "it is of the and", "?!"])
def test_a_text_without_a_noun_has_none(text):
    assert find_keywords(text) == ()


def test_one_candidate_is_enough():
    assert find_keywords("insulin") == ("insulin",)


@each_case(
    ("word", "kind"),
    [
        ("electrode", "noun"),
        ("family", "noun"),
        ("material", "noun"),
        ("measurement", "noun"),
        ("boron-doped", "adjective"),
        ("optical", "adjective"),
        ("significant", "adjective"),
        ("modified", "participle"),
        ("seed", "noun"),
        ("rapidly", "other"),
        ("showed", "other"),
        ("2010", "other"),
        ("of", "opener"),
    ],
)
def test_words_by_their_kind(word, kind):
    assert classify_word(word) == kind


@given(st.integers(2, 12), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_pagerank_is_that_of_networkx(n, seed):
    weights = np.random.default_rng(seed).random((n, n))
    weights = weights + weights.T
    np.fill_diagonal(weights, 0)
    graph = networkx.from_numpy_array(weights)
    expected = networkx.pagerank(graph, alpha=DAMPING, weight="weight", tol=1e-10, max_iter=500)
    assert pagerank(weights) == pytest.approx([expected[i] for i in range(n)], abs=1e-6)


def test_a_node_without_an_edge_leads_to_all_alike():
    assert pagerank(np.zeros((3, 3))) == pytest.approx([1 / 3] * 3)


def test_the_weights_are_the_sums_of_inverse_distances():
    from ragassay.text.keywords import compute_topic_weights, find_candidates, find_topics

    text = "insulin and glucose rises slowly; lipid of the new insulin pump; glucose"
    found = find_candidates(text)
    topics = find_topics(found)
    weights = compute_topic_weights(found, topics)
    expected = np.zeros_like(weights)
    for i, one in enumerate(found):
        for j, other in enumerate(found):
            for p in one.starts:
                for q in other.starts:
                    if topics[i] != topics[j]:
                        gap = q - p - len(one.stems) + 1 if q > p else p - q - len(other.stems) + 1
                        expected[topics[i], topics[j]] += 1 / gap
    assert weights == pytest.approx(expected)


def test_published_papers_have_twenty_each(shared):
    with gzip.open(shared / "data" / "sciqag" / "papers.jsonl.gz") as handle:
        texts = [json.loads(line)["txt"] for line in handle]
    for text in texts:
        assert len(find_keywords(text)) == 20

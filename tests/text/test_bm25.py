"""BM25 against rank-bm25 itself and a value worked by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Plus

from ragassay.text.search import Bm25Index, rank_texts, tokenize

WORDS = st.sampled_from(["pain", "fell", "drug", "trial", "rose", "the"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The trials of 40 mg", ["trial", "40", "mg"]),
        ("Studies, diseases and biopsies", ["study", "disease", "biopsy"]),
        ("analysis virus mass gas days", ["analysis", "virus", "mass", "gas", "day"]),
        ("by 1.9 days (95% CI)", ["1.9", "day", "95", "ci"]),
        ("non-significant IL-6 \u03b2-blockers", ["non-significant", "il-6", "\u03b2-blocker"]),
        ("the of and", []),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


def test_score_worked_by_hand() -> None:
    # rank-bm25 0.2.2, BM25Plus: k1 = 1.5, b = .75, delta = 1; mean length (2 + 4) / 2 = 3.
    # "pain" stands in one of two texts: idf = ln(3 / 1) = 1.0986; twice in the second, of length 4:
    # 1 + 2 x 2.5 / (1.5 x (.25 + .75 x 4 / 3) + 2) = 1 + 5 / 3.875 = 2.2903; x 1.0986 = 2.5162.
    ((position, score),) = Bm25Index(["drug fell", "pain drug pain rose"]).search("pain")
    assert position == 1
    assert score == pytest.approx(math.log(3) * (1 + 5 / 3.875))
    assert score == pytest.approx(2.5162, abs=1e-4)


@given(TEXTS, st.lists(WORDS, max_size=4).map(" ".join))
def test_search_is_rank_bm25_over_the_texts_that_match(texts: list[str], query: str) -> None:
    found = Bm25Index(texts).search(query)
    words = tokenize(query)
    matching = [i for i, text in enumerate(texts) if set(words) & set(tokenize(text))]
    assert sorted(position for position, _ in found) == matching
    if matching:
        scores = BM25Plus([tokenize(text) for text in texts]).get_scores(words)
        expected = sorted(matching, key=lambda i: (-scores[i], i))
        assert [position for position, _ in found] == expected
        assert [score for _, score in found] == pytest.approx([scores[i] for i in expected])


@given(TEXTS, st.lists(WORDS, max_size=4).map(" ".join))
def test_rank_gives_every_text_once_best_first(texts: list[str], query: str) -> None:
    found = rank_texts(query, texts)
    assert sorted(position for position, _ in found) == list(range(len(texts)))
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)


def test_k_takes_the_best() -> None:
    index = Bm25Index(["drug drug rose", "pain", "drug"])
    assert [i for i, _ in index.search("drug", 1)] == [2]
    assert index.search("drug", 0) == []
    assert len(index.search("drug", 10)) == 2


@pytest.mark.parametrize("texts", [[], [""], ["the of", " "]])
def test_nothing_to_search_finds_nothing(texts: list[str]) -> None:
    assert Bm25Index(texts).search("pain") == []
    assert [i for i, _ in rank_texts("pain", texts)] == list(range(len(texts)))


@pytest.mark.parametrize("query", ["", "the", "unheard"])
def test_nothing_to_search_for_finds_nothing(query: str) -> None:
    assert Bm25Index(["pain fell", "drug"]).search(query) == []
    assert rank_texts(query, ["pain fell", "drug"]) == [(0, 0.0), (1, 0.0)]

"""Any place with its best hits looked at again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fakes import WordEmbedder
from hypothesis import given
from hypothesis import strategies as st

from ragassay.records import Document
from ragassay.retrievers.literature import Corpus, Filters, Hit, Literature
from ragassay.retrievers.reranked_literature import (
    RerankedLiterature,
    choose_reranker,
    rerank_literature,
)
from ragassay.retrievers.rerankers import CrossEncoderReranker, EmbeddedReranker
from ragassay.settings import load_settings

DOCUMENTS = tuple(Document(id=str(n), text="aspirin " * n + "stroke") for n in range(1, 9))


class Backwards:
    """The last hit first, with scores of its own; keeps what it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, int]] = []

    def rerank(self, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
        self.given.append((query, len(hits)))
        return [Hit(hit.document, 7.0 - n) for n, hit in enumerate(reversed(hits))][:k]


def names(hits: list[Hit]) -> list[str]:
    return [hit.document.id for hit in hits]


def test_the_best_are_reordered_and_the_rest_follows():
    corpus = Corpus(DOCUMENTS)
    before = names(corpus.search("aspirin", 8))
    place = RerankedLiterature(corpus, Backwards(), "backwards", depth=3)
    assert isinstance(place, Literature)
    hits = place.search("aspirin", 8)
    assert names(hits) == [*before[2::-1], *before[3:]]
    assert [hit.score for hit in hits] == [7, 6, 5, 4, 3, 2, 1, 0]


@given(k=st.integers(1, 12), depth=st.integers(1, 12))
def test_k_hits_none_twice_scores_falling(k, depth):
    corpus, reranker = Corpus(DOCUMENTS), Backwards()
    hits = RerankedLiterature(corpus, reranker, "backwards", depth).search("aspirin", k)
    assert len(hits) == len(set(names(hits))) == min(k, 8)
    assert reranker.given == [("aspirin", min(depth, 8))], "what is looked at depends not on k"
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert k >= depth or set(names(hits)) <= set(names(corpus.search("aspirin", depth)))


def test_filters_and_ids_reach_the_inner_place():
    place = RerankedLiterature(Corpus(DOCUMENTS), Backwards(), "backwards")
    assert place.get("3") == DOCUMENTS[2]
    assert place.get("none") is None
    assert place.search("aspirin", 5, Filters(since="2020")) == []


@pytest.mark.parametrize("k", [0, -1])
def test_nothing_asked_finds_nothing(k):
    reranker = Backwards()
    assert RerankedLiterature(Corpus(DOCUMENTS), reranker, "backwards").search("aspirin", k) == []
    assert reranker.given == []


def test_the_hash_depends_on_all_that_orders_hits():
    corpus = Corpus(DOCUMENTS)
    places = [
        corpus,
        RerankedLiterature(corpus, Backwards(), "backwards"),
        RerankedLiterature(corpus, Backwards(), "other"),
        RerankedLiterature(corpus, Backwards(), "backwards", depth=3),
        RerankedLiterature(Corpus(DOCUMENTS[:3]), Backwards(), "backwards"),
        rerank_literature(corpus, load_settings(reranker="embedded"), WordEmbedder()),
        rerank_literature(corpus, load_settings(reranker="embedded", embedder="e"), WordEmbedder()),
        rerank_literature(corpus, load_settings(reranker="some/cross-encoder"), WordEmbedder()),
    ]
    assert len({place.sha256 for place in places}) == len(places)


def test_the_settings_name_the_reranker():
    embedder = WordEmbedder()
    assert isinstance(choose_reranker(load_settings(), embedder), EmbeddedReranker)
    assert choose_reranker(load_settings(reranker="none"), embedder) is None
    named = choose_reranker(load_settings(reranker="some/cross-encoder"), embedder)
    assert isinstance(named, CrossEncoderReranker) and named.name == "some/cross-encoder"
    corpus = Corpus(DOCUMENTS)
    assert rerank_literature(corpus, load_settings(reranker="none"), embedder) is corpus


def test_the_embedded_reranker_looks_at_title_and_passages():
    documents = [
        Document(id="a", title="Aspirin", text="Aspirin aspirin aspirin."),
        Document(id="b", title="Aspirin prevents stroke", text="Aspirin prevents stroke."),
    ]
    place = rerank_literature(Corpus(documents), load_settings(), WordEmbedder())
    assert names(place.search("aspirin prevents stroke", 2)) == ["b", "a"]

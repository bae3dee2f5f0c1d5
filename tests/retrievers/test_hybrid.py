"""Words and meaning together: what is fused, what is looked up, what changes the hash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from corpora import add_to_corpus
from fakes import WordEmbedder

from ragassay.errors import CorpusError
from ragassay.records import Article, Document
from ragassay.retrievers.dense.embed import embed_corpus
from ragassay.retrievers.dense.index import DenseIndex
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.evidence import reciprocal_rank_fusion
from ragassay.retrievers.literature import ANY, Corpus, Filters, Hit, Literature
from ragassay.retrievers.opening import FUSED_DEPTH, DenseCorpus, HybridCorpus

ARTICLES = (
    Article(id="1", title="Aspirin", text="Aspirin prevents stroke.", published="2019"),
    Article(id="2", title="Whales", text="Whales sing.", published="2020"),
    Article(id="3", title="Stroke", text="Statins prevent stroke.", published="2021"),
    Article(id="10.5/x", title="", text="Whales and aspirin."),
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> DiskCorpus:
    corpus = add_to_corpus(tmp_path_factory.mktemp("hybrid"), *ARTICLES)
    embed_corpus(corpus, WordEmbedder())
    return corpus


@pytest.fixture(scope="module")
def dense(corpus: DiskCorpus) -> Iterator[DenseCorpus]:
    with closing(DenseIndex(corpus, WordEmbedder())) as index:
        yield DenseCorpus(corpus, index)


@pytest.fixture(scope="module")
def hybrid(corpus: DiskCorpus, dense: DenseCorpus) -> HybridCorpus:
    return HybridCorpus(corpus, dense)


class Fixed:
    """Finds what it was given, and keeps what it was asked."""

    def __init__(self, sha256: str, names: str) -> None:
        self.sha256 = sha256
        self.hits = [Hit(Document(id=name, text=name), -float(i)) for i, name in enumerate(names)]
        self.asked: list[tuple[str, int, Filters]] = []

    def get(self, identifier: str) -> Document | None:
        return None

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        self.asked.append((query, k, filters))
        return self.hits[:k]


def names(hits: list[Hit]) -> list[str]:
    return [hit.document.id for hit in hits]


def test_both_are_places_to_look_literature_up(corpus, dense, hybrid):
    for place in (dense, hybrid):
        assert isinstance(place, Literature)
        assert place.get("PMID 3") == corpus.get("3")
        assert place.get("5") is None
        assert set(names(place.search("stroke", 9, Filters(since="2020")))) == {"2", "3"}
        assert place.search("stroke", 0) == place.search(" ", 5) == []


def test_a_dense_search_gives_whole_articles_with_their_cosines(corpus, dense):
    hits = dense.search("whales sing", 4)
    assert names(hits)[0] == "2"
    assert all(isinstance(hit.document, Article) for hit in hits)
    assert hits[0].document == corpus.get("2")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    # Unlike a search by words, also what shares no word with the query.
    assert set(names(hits)) == {"1", "2", "3", "10.5/x"}


def test_the_fused_score_worked_by_hand():
    # "b": second by words, first by meaning: 1/62 + 1/61; "a" first by words alone: 1/61.
    hybrid = HybridCorpus(Fixed("x", "abc"), Fixed("y", "bd"))
    hits = hybrid.search("q", 2)
    assert names(hits) == ["b", "a"]
    assert [hit.score for hit in hits] == pytest.approx([1 / 62 + 1 / 61, 1 / 61])


@pytest.mark.parametrize("query", ["aspirin stroke", "whales", "nothing of this"])
def test_a_hybrid_search_is_the_fusion_of_its_two(corpus, dense, hybrid, query):
    rankings = [names(place.search(query, 100)) for place in (corpus, dense)]
    found = [(hit.document.id, hit.score) for hit in hybrid.search(query, 3)]
    assert found == reciprocal_rank_fusion(rankings)[:3]


@pytest.mark.parametrize(("k", "depth"), [(1, FUSED_DEPTH), (1000, 1000)])
def test_rankings_are_fused_to_a_depth_of_their_own(k, depth):
    first, second = Fixed("x", "abc"), Fixed("y", "cd")
    HybridCorpus(first, second).search("q", k, Filters(until="2020"))
    assert first.asked == second.asked == [("q", depth, Filters(until="2020"))]


def test_any_place_may_search_by_words(dense):
    memory = Corpus([Document(id="1", text="Aspirin prevents stroke.")])
    assert "1" in names(HybridCorpus(memory, dense).search("aspirin"))


def test_the_hash_tells_the_ways_and_the_embedders_apart(corpus, dense, hybrid):
    assert len({corpus.sha256, dense.sha256, hybrid.sha256}) == 3
    assert hybrid.sha256 == HybridCorpus(corpus, dense).sha256
    assert hybrid.sha256 != HybridCorpus(corpus, Fixed("z", "")).sha256
    other = WordEmbedder(digest="another")
    embed_corpus(corpus, other)
    assert DenseCorpus(corpus, DenseIndex(corpus, other)).sha256 != dense.sha256


def test_vectors_that_changed_under_an_open_corpus_are_no_shorter_list(tmp_path):
    corpus = add_to_corpus(tmp_path, *ARTICLES)
    embed_corpus(corpus, WordEmbedder())
    opened = DenseCorpus(corpus, DenseIndex(corpus, WordEmbedder()))
    grown = add_to_corpus(tmp_path, Document(id="9", text="Whales sing."))
    embed_corpus(grown, WordEmbedder())
    with pytest.raises(CorpusError, match="open the corpus again"):
        opened.search("whales sing", 4)

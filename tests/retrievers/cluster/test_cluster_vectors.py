"""Vectors in an index: what is sent, what is found, what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from fakes import N_DIMENSIONS, WordEmbedder

from ragassay.errors import CorpusError
from ragassay.records import Article
from ragassay.retrievers.cluster.corpus import ClusterCorpus
from ragassay.retrievers.cluster.nearest import ClusterVectors
from ragassay.retrievers.cluster.vectors import index_body, nearest_body
from ragassay.retrievers.hybrid import HybridCorpus
from ragassay.retrievers.literature import Filters, Literature
from ragassay.testing.opensearch import ScriptedOpenSearch

pytestmark = pytest.mark.integration

ARTICLES = (
    Article(id="1", title="Aspirin", text="Aspirin prevents stroke.", published="2019"),
    Article(id="2", title="Whales", text="Whales sing songs.", published="2021"),
    Article(
        id="3",
        title="Aspirin again",
        text="Aspirin prevents nothing.",
        published="2021",
        publication_types=("Retracted Publication",),
    ),
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedOpenSearch]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ScriptedOpenSearch() as running:
        yield running


@pytest.fixture
def corpus(server: ScriptedOpenSearch) -> Iterator[ClusterCorpus]:
    with ClusterCorpus(server.url) as found:
        found.load(ARTICLES, WordEmbedder())
        yield found


def test_the_index_is_made_for_vectors_as_the_api_documents() -> None:
    body = index_body(WordEmbedder())
    assert body["settings"]["index.knn"] is True
    field = body["mappings"]["properties"]["vector"]
    assert (field["type"], field["dimension"], field["compression_level"]) == (
        "knn_vector",
        N_DIMENSIONS,
        "2x",
    )
    assert field["method"]["space_type"] == "innerproduct"
    assert body["mappings"]["_source"] == {"excludes": ["vector"]}
    assert "vector" not in index_body(None)["mappings"]["properties"]


def test_the_nearest_come_first_with_their_cosines(corpus: ClusterCorpus) -> None:
    vectors = ClusterVectors(corpus, WordEmbedder())
    assert isinstance(vectors, Literature)
    hits = vectors.search("aspirin prevents stroke", 2)
    assert [hit.document for hit in hits] == [ARTICLES[0], ARTICLES[2]]
    encode = WordEmbedder().encode
    asked, stored = encode(["aspirin prevents stroke", "Aspirin. Aspirin prevents stroke."])
    assert hits[0].score == pytest.approx(float(asked @ stored), abs=1e-4)
    far = vectors.search("penguins", 3)
    assert len(far) == 3 and all(hit.score == pytest.approx(0) for hit in far)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), {"1", "2", "3"}),
        (Filters(no_retracted=True), {"1", "2"}),
        (Filters(since="2020"), {"2", "3"}),
        (Filters(since="2020", no_retracted=True), {"2"}),
        (Filters(types=("retracted publication",)), {"3"}),
    ],
)
def test_filters_hold_for_vectors_too(
    corpus: ClusterCorpus, filters: Filters, expected: set[str]
) -> None:
    found = ClusterVectors(corpus, WordEmbedder()).search("aspirin", 10, filters)
    assert {hit.document.id for hit in found} == expected


def test_a_query_is_sent_as_the_api_documents() -> None:
    body = nearest_body(np.array([0.123456789, -1.0]), 50_000, Filters(no_retracted=True))
    assert body["query"] == {
        "knn": {
            "vector": {
                "vector": [0.12346, -1.0],
                "k": 10_000,
                "filter": {"bool": {"must_not": [{"term": {"notices": "retracted"}}]}},
            }
        }
    }
    assert "filter" not in nearest_body(np.array([1.0]), 5, Filters())["query"]["knn"]["vector"]
    assert body["size"] == 10_000


def test_nothing_asked_is_nothing_sent(corpus: ClusterCorpus, server: ScriptedOpenSearch) -> None:
    vectors = ClusterVectors(corpus, WordEmbedder())
    n_before = len(server.requests)
    assert vectors.search(" ") == [] == vectors.search("aspirin", 0)
    assert len(server.requests) == n_before


def test_words_and_meaning_are_fused(corpus: ClusterCorpus) -> None:
    both = HybridCorpus(corpus, ClusterVectors(corpus, WordEmbedder()))
    assert [hit.document.id for hit in both.search("aspirin stroke", 3)] == ["1", "3", "2"]
    assert both.get("PMID 2") == ARTICLES[1]


def test_an_article_comes_back_without_its_vector(
    corpus: ClusterCorpus, server: ScriptedOpenSearch
) -> None:
    assert corpus.get("1") == ARTICLES[0]
    sent = [json.loads(body) for _, path, body in server.requests if path == "/pubmed/_search"]
    assert all("vector" not in json.dumps(body) for body in sent)


def test_the_hash_tells_ways_of_searching_and_changes_apart(corpus: ClusterCorpus) -> None:
    vectors = ClusterVectors(corpus, WordEmbedder())
    before = vectors.sha256
    assert before == ClusterVectors(corpus, WordEmbedder()).sha256 != corpus.sha256
    corpus.load(ARTICLES[:1], WordEmbedder())
    assert vectors.sha256 != before


def test_a_revision_replaces_the_vector(corpus: ClusterCorpus) -> None:
    corpus.load([ARTICLES[0].model_copy(update={"text": "Penguins."})], WordEmbedder())
    hits = ClusterVectors(corpus, WordEmbedder()).search("penguins", 1)
    assert hits[0].document.id == "1" and hits[0].score > 0.5


def test_an_index_takes_vectors_by_one_model_or_none(
    corpus: ClusterCorpus, server: ScriptedOpenSearch
) -> None:
    with pytest.raises(CorpusError, match="has vectors by words: load with them, by the same"):
        corpus.load(ARTICLES, WordEmbedder("other"))
    with pytest.raises(CorpusError, match="has vectors by words"):
        corpus.load(ARTICLES)
    with ClusterCorpus(server.url, "plain") as plain:
        plain.load(ARTICLES)
        with pytest.raises(CorpusError, match="made without vectors: load into a new index"):
            plain.load(ARTICLES, WordEmbedder())

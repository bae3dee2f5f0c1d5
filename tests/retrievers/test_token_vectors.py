"""What the embedded reranker needs of a text is computed once and stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from corpora import add_to_corpus
from fakes import TokenEmbedder

from ragassay.models.embeddings import Encoded
from ragassay.records import Article
from ragassay.retrievers.dense.embed import EmbedEvent, embed_tokens
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.literature import Hit
from ragassay.retrievers.reranked_literature import (
    STORE,
    StoredEncoder,
    TokenStore,
    rerank_literature,
)
from ragassay.retrievers.rerankers import EmbeddedReranker, list_reranked_texts
from ragassay.settings import load_settings

ARTICLES = [
    Article(id="1", title="Aspirin", text="Aspirin prevents stroke. It thins the blood."),
    Article(id="2", title="", text="Whales sing of aspirin."),
    Article(id="3", title="Stroke", text=""),
]


@pytest.fixture
def corpus(tmp_path: Path) -> DiskCorpus:
    return add_to_corpus(tmp_path, *ARTICLES)


def test_a_vector_comes_back_in_its_direction(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    store = TokenStore(tmp_path / STORE, TokenEmbedder())
    assert store.read(["a"]) == {}
    assert not (tmp_path / STORE).exists()
    store.add(["a", "b"], [Encoded(rows[0], rows[1:]), Encoded(rows[1], rows[:0])])
    found = store.read(["a", "b", "c"])
    assert found.keys() == {"a", "b"}
    assert found["a"].vector @ rows[0] > 0.9999
    assert (found["a"].tokens * rows[1:]).sum(axis=1).min() > 0.9999
    assert found["b"].tokens.shape == (0, 384)


def test_another_model_finds_nothing(tmp_path):
    one = TokenEmbedder()
    TokenStore(tmp_path / STORE, one).add(["a"], one.encode_tokens(["a"]))
    assert TokenStore(tmp_path / STORE, TokenEmbedder(name="other")).read(["a"]) == {}


def test_only_what_is_not_stored_is_computed(tmp_path):
    embedder = TokenEmbedder()
    store = TokenStore(tmp_path / STORE, embedder)
    store.add(["blue whale"], embedder.encode_tokens(["blue whale"]))
    embedder.asked.clear()
    texts = ["blue whale", "mild stroke", "blue whale"]
    found = StoredEncoder(embedder, store).encode_tokens(texts)
    assert embedder.asked == ["mild stroke"]
    assert [len(one.tokens) for one in found] == [2, 2, 2]


def test_a_corpus_with_stored_vectors_is_reranked_without_a_pass_over_its_articles(corpus):
    settings, query = load_settings(reranker="embedded"), "what prevents a stroke"
    plain = rerank_literature(corpus, settings, TokenEmbedder()).search(query, 3)
    events: list[EmbedEvent] = []
    embed_tokens(corpus, TokenEmbedder(), events.append)
    assert events[-1] == EmbedEvent(3, 3, 3)
    again = TokenEmbedder()
    embed_tokens(corpus, again)
    assert again.asked == []
    embedder = TokenEmbedder()
    stored = rerank_literature(corpus, settings, embedder).search(query, 3)
    assert embedder.asked == [query]
    assert [hit.document.id for hit in stored] == [hit.document.id for hit in plain]
    assert [h.score for h in stored] == pytest.approx([h.score for h in plain], abs=0.02)


def test_what_is_stored_is_what_the_reranker_embeds():
    embedder = TokenEmbedder()
    EmbeddedReranker(embedder).rerank("stroke", [Hit(article, 1.0) for article in ARTICLES], 3)
    texts = {text for article in ARTICLES for text in list_reranked_texts(article)}
    assert set(embedder.asked) == {"stroke", "Stroke"} | texts

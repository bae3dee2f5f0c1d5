from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fakes import TokenEmbedder, WordEmbedder
from hypothesis import given
from hypothesis import strategies as st

from ragassay.errors import SettingsError
from ragassay.models.embeddings import Embedder
from ragassay.records import Document
from ragassay.retrievers.literature import Hit
from ragassay.retrievers.rerankers import (
    CrossEncoderReranker,
    EmbeddedReranker,
    FusionWeights,
    compute_hit_features,
    load_shipped_weights,
    match_tokens,
    max_sim,
    sample_passages,
    standardise_columns,
)

ONLY_SEARCH = FusionWeights(search=1, title=0, passage=0)
ONLY_TITLE = FusionWeights(search=0, title=1, passage=0)
ONLY_PASSAGE = FusionWeights(search=0, title=0, passage=1)
ONLY_TOKENS = FusionWeights(search=0, title=0, passage=0, tokens=1)


def hit(identifier: str, score: float, text: str = "", title: str = "") -> Hit:
    return Hit(Document(id=identifier, text=text, title=title), score)


def ids(hits: list[Hit]) -> list[str]:
    return [found.document.id for found in hits]


def sentences(n: int) -> str:
    return " ".join(f"Sentence number {i} speaks of matter {i}." for i in range(n))


HITS = [
    hit("a", 3.0, "Aspirin lowers the risk of stroke.", "Aspirin"),
    hit("b", 2.0, "Metformin lowers glucose in diabetes.", "Metformin in diabetes"),
    hit("c", 1.0, "Whales sing.", "Whales"),
]


def test_the_score_worked_by_hand():
    # Search scores 3, 2, 1: mean 2, standard deviation sqrt(2/3) = 0.8165; z = 1.2247, 0, -1.2247.
    found = EmbeddedReranker(WordEmbedder(), ONLY_SEARCH).rerank("stroke", HITS, 3)
    assert [h.score for h in found] == pytest.approx([1.2247, 0.0, -1.2247], abs=1e-4)
    assert ids(found) == ["a", "b", "c"]


@pytest.mark.parametrize("weights", [ONLY_TITLE, ONLY_PASSAGE])
def test_what_is_alike_comes_first(weights):
    reranker = EmbeddedReranker(WordEmbedder(), weights)
    assert ids(reranker.rerank("metformin diabetes", HITS, 1)) == ["b"]


def test_the_best_passage_of_a_document_counts():
    long = sentences(9) + " Metformin lowers glucose."
    hits = [hit("a", 1.0, long), hit("b", 1.0, sentences(9))]
    found = compute_hit_features("metformin glucose", hits, WordEmbedder())
    assert found.shape == (2, 4)
    assert found[0, 2] > found[1, 2]
    assert len(sample_passages(HITS[0].document)) == 1


def test_every_sentence_is_in_a_passage_that_is_embedded():
    for n in range(1, 12):
        text = sentences(n)
        found = sample_passages(Document(id="d", text=text))
        assert all(f"matter {i}." in " ".join(found) for i in range(n))
        assert len(set(found)) == len(found) <= max(1, n // 2 + 1)


def test_a_missing_title_or_text_counts_as_the_other():
    hits = [hit("t", 1, title="Whales sing"), hit("p", 1, "Whales sing"), hit("n", 1)]
    found = compute_hit_features("whales", hits, WordEmbedder())
    assert found[0, 1] == found[0, 2] == found[1, 1] == found[1, 2] > 0
    assert found[2].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_ties_and_a_blank_query_keep_the_order_of_the_search():
    same = [hit(name, 1.0, "The same text.") for name in "zyx"]
    reranker = EmbeddedReranker(WordEmbedder(), FusionWeights(search=1, title=1, passage=1))
    assert ids(reranker.rerank("text", same, 3)) == ["z", "y", "x"]
    assert reranker.rerank("  ", HITS, 2) == HITS[:2]


@pytest.mark.parametrize("k", [0, -1])
def test_nothing_in_or_nothing_asked_for_gives_nothing(k):
    embedder = WordEmbedder()
    for reranker in (EmbeddedReranker(embedder), CrossEncoderReranker("no such model")):
        assert reranker.rerank("query", [], 5) == []
        assert reranker.rerank("query", HITS, k) == []
    assert embedder.asked == []


def test_all_texts_are_embedded_in_one_call_each_once():
    embedder = WordEmbedder()
    EmbeddedReranker(embedder, ONLY_TITLE).rerank("whales", [*HITS, *HITS], 2)
    assert len(embedder.asked) == len(set(embedder.asked)) == 7


def test_features_on_another_scale_are_standardised_alike():
    table = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    assert standardise_columns(table * 100 + 7) == pytest.approx(standardise_columns(table))
    assert standardise_columns(table)[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert standardise_columns(table)[:, 0].std() == pytest.approx(1.0)


def test_the_shipped_weights_are_used_by_default():
    weights = load_shipped_weights()
    assert min(weights.model_dump().values()) > 0
    default = EmbeddedReranker(WordEmbedder()).rerank("metformin", HITS, 3)
    assert default == EmbeddedReranker(WordEmbedder(), weights).rerank("metformin", HITS, 3)


def met(query: np.ndarray, *parts: np.ndarray) -> float:
    return max_sim([match_tokens(query, part) for part in parts])


def test_max_sim_worked_by_hand():
    # Products of the first token: 1, .6 and of the second: 0, .8; (1 + .8) / 2 = .9.
    document = np.array([[1.0, 0.0], [0.6, 0.8]])
    assert met(np.eye(2), document) == pytest.approx(0.9)
    assert met(document[1:], np.eye(2)) == pytest.approx(0.8)
    assert met(np.eye(2), -np.eye(2)) == 0.0
    assert met(np.eye(2)[:1], -np.eye(2)[:1]) == -1.0
    none = document[:0]
    for part in (document, none):
        assert met(none, part) == met(part, none) == met(none) == 0.0


@given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 10_000))
def test_max_sim_is_what_loops_give(n, m, seed):
    rng = np.random.default_rng(seed)
    query, document = (unit(rng.normal(size=(size, 3))) for size in (n, m))
    best = [max(sum(a * b for a, b in zip(q, d, strict=True)) for d in document) for q in query]
    assert met(query, document) == pytest.approx(sum(best) / n, abs=1e-6)
    # Neither order nor repetition of what a document says counts, nor where it is cut.
    assert met(query, document[::-1], document, document[:0]) == pytest.approx(met(query, document))


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_a_document_that_has_each_word_somewhere_comes_first():
    # Two of two words, in title and text; one of two; none: 1, .5, 0.
    hits = [
        hit("none", 1.0, "Whales sing."),
        hit("one", 1.0, "Metformin lowers glucose."),
        hit("both", 1.0, "It is given in diabetes.", "Metformin"),
    ]
    found = compute_hit_features("metformin diabetes", hits, TokenEmbedder())
    assert found[:, 3].tolist() == pytest.approx([0.0, 0.5, 1.0], abs=1e-3)
    reranker = EmbeddedReranker(TokenEmbedder(), ONLY_TOKENS)
    assert ids(reranker.rerank("metformin diabetes", hits, 2)) == ["both", "one"]


def test_words_that_a_far_sentence_has_count():
    far = hit("far", 1.0, sentences(20) + " Metformin lowers glucose.")
    found = compute_hit_features("metformin", [far], TokenEmbedder())
    assert found[0, 3] == pytest.approx(1.0, abs=1e-3)


def test_an_embedder_without_tokens_has_each_text_as_one():
    found = compute_hit_features("metformin diabetes", HITS, WordEmbedder())
    assert found[:, 3] == pytest.approx(found[:, 1:3].max(axis=1), abs=1e-3)


def test_ties_single_hits_and_missing_text_among_tokens():
    same = [hit(name, 1.0, "The same text.") for name in "zyx"]
    reranker = EmbeddedReranker(TokenEmbedder(), ONLY_TOKENS)
    assert ids(reranker.rerank("text", same, 3)) == ["z", "y", "x"]
    assert [h.score for h in reranker.rerank("text", same[:1], 3)] == [0.0]
    hits = [hit("empty", 2.0), hit("t", 1.0, title="Whales")]
    found = compute_hit_features("whales", hits, TokenEmbedder())
    assert found[0].tolist() == [2.0, 0.0, 0.0, 0.0]
    assert found[1, 3] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.integration
def test_the_packaged_model_sees_that_two_wordings_mean_the_same():
    hits = [
        hit("a", 1.0, "Heart attacks were counted in a registry of admissions."),
        hit("b", 1.0, "Acetylsalicylic acid protects from cerebrovascular accidents."),
    ]
    found = EmbeddedReranker(Embedder()).rerank("Aspirin prevents stroke.", hits, 2)
    assert ids(found) == ["b", "a"]


def make_cross_encoder(tmp_path: Path, *labels: str) -> Path:
    """Return a folder with a cross-encoder of random weights."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    torch.manual_seed(0)
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] aspirin stroke whales sing the".split()
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    folder = tmp_path / "model"
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        id2label=dict(enumerate(labels)),
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_a_cross_encoder_orders_by_its_scores(tmp_path):
    from sentence_transformers import CrossEncoder

    model = str(make_cross_encoder(tmp_path, "relevance"))
    found = CrossEncoderReranker(model).rerank("aspirin stroke", HITS, 3)
    pairs = [("aspirin stroke", f"{h.document.title} {h.document.text}") for h in HITS]
    expected = CrossEncoder(model, device="cpu").predict(pairs).tolist()
    by_id = {h.document.id: h.score for h in found}
    assert by_id == pytest.approx(dict(zip("abc", expected, strict=True)), abs=1e-5)
    assert [h.score for h in found] == sorted(expected, reverse=True)


def test_a_model_of_several_labels_is_no_reranker(tmp_path):
    model = make_cross_encoder(tmp_path, "entailment", "neutral", "contradiction")
    with pytest.raises(SettingsError, match="returns 3 scores per pair, but a reranker needs one"):
        CrossEncoderReranker(str(model)).rerank("aspirin stroke", HITS, 3)

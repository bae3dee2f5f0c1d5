"""Vectors of length 1, computed once for each text."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ragassay.models import embeddings
from ragassay.models.embeddings import Embedder, Encoded


class Counting(Embedder):
    """Embeds a number by its digits; notes what it computes."""

    def __init__(self) -> None:
        super().__init__("counting")
        self.computed: list[str] = []

    def _compute(self, texts: Sequence[str]) -> list[Encoded]:
        self.computed += texts
        rows = np.array([[float(t), 1.0] for t in texts], dtype=np.float32)
        return [Encoded(row, np.full((int(row[0]), 1), 1, dtype=np.float32)) for row in rows]


def read_vectors(embedder: Embedder, texts: Sequence[str]) -> list[float]:
    """Return the numbers that the vectors stand for."""
    return [float(vector[0]) for vector in embedder.encode(texts)]


def read_tokens(embedder: Embedder, texts: Sequence[str]) -> list[float]:
    return [float(len(encoded.tokens)) for encoded in embedder.encode_tokens(texts)]


each_kind = pytest.mark.parametrize("read", [read_vectors, read_tokens])
VECTORS, TOKENS = (read_vectors, "N_CACHED"), (read_tokens, "N_TOKENS_CACHED")


def test_a_pass_for_tokens_serves_the_vector_too():
    embedder = Counting()
    (encoded,) = embedder.encode_tokens(["2"])
    assert embedder.encode(["2", "3"]).tolist() == [encoded.vector.tolist(), [3, 1]]
    assert embedder.computed == ["2", "3"]


@each_kind
def test_each_text_is_computed_once(read):
    embedder = Counting()
    assert read(embedder, ["1", "2", "1"]) == [1, 2, 1]
    assert read(embedder, ["2", "3"]) == [2, 3]
    assert embedder.computed == ["1", "2", "3"]
    first, second = embedder.encode_tokens(["1", "1"])
    assert first is second is embedder.encode_tokens(["3", "1"])[1]


def test_no_text_gives_no_vector():
    assert Counting().encode([]).shape == (0, 0)
    assert Counting().encode_tokens([]) == []


@pytest.mark.parametrize(
    ("read", "bound", "n_kept"),
    [(*VECTORS, 1), (*VECTORS, 3), (*TOKENS, 0), (*TOKENS, 1), (*TOKENS, 7)],
)
def test_more_than_is_kept(monkeypatch, read, bound, n_kept):
    monkeypatch.setattr(embeddings, bound, n_kept)
    embedder = Counting()
    for batch in (["1", "2", "3"], ["3", "4", "5", "6", "1", "3"], ["9"] * 5, ["1", "9"]):
        assert read(embedder, batch) == [float(text) for text in batch]
    seen = {"1", "2", "3", "4", "5", "6", "9"}
    embedder.computed.clear()
    read(embedder, sorted(seen))
    kept = seen - set(embedder.computed)
    assert (len(kept) if read is read_vectors else sum(map(int, kept))) <= n_kept


@pytest.mark.parametrize(("read", "bound", "n_kept"), [(*VECTORS, 2), (*TOKENS, 5)])
def test_what_was_used_last_is_kept(monkeypatch, read, bound, n_kept):
    monkeypatch.setattr(embeddings, bound, n_kept)
    embedder = Counting()
    for text in ("1", "2", "1", "3", "1"):
        read(embedder, [text])
    assert embedder.computed == ["1", "2", "3"]


@each_kind
def test_threads_share_the_cache(read):
    embedder = Counting()
    batches = [[str((i + j) % 50) for j in range(10)] for i in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda batch: read(embedder, batch), batches))
    assert found == [[float(text) for text in batch] for batch in batches]
    assert len(embedder.computed) == 50


def static_model(folder: Path) -> str:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "aspirin": 1, "pain": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=4)]).save(str(folder))
    return str(folder)


def test_a_model_without_tokens_in_context_has_each_text_as_one(tmp_path):
    embedder = Embedder(static_model(tmp_path))
    texts = ["aspirin pain", "pain"]
    found = embedder.encode_tokens(texts)
    for encoded, vector in zip(found, embedder.encode(texts), strict=True):
        assert encoded.vector == pytest.approx(vector, abs=1e-6)
        assert encoded.tokens == pytest.approx(vector[None], abs=1e-3)


@pytest.mark.integration
def test_the_packaged_model(capfd):
    embedder = Embedder()
    texts = ["Aspirin reduces pain.", "Pain is relieved by aspirin.", "The train is late."]
    vectors = embedder.encode(texts)
    assert vectors.shape == (3, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] > 0.7 > vectors[0] @ vectors[2]
    assert np.array_equal(embedder.encode(texts[::-1]), vectors[::-1])
    assert np.array_equal(Embedder().encode(texts[1:2])[0], vectors[1])
    assert capfd.readouterr() == ("", "")


@pytest.mark.integration
def test_the_tokens_of_the_packaged_model():
    embedder = Embedder()
    texts = ["Aspirin reduces pain.", "", "pain " * 400]
    short, empty, long = embedder.encode_tokens(texts)
    vectors = embedder.encode(texts)
    for encoded, vector in zip((short, empty, long), vectors, strict=True):
        assert encoded.vector == pytest.approx(vector, abs=1e-6)
        assert encoded.tokens.shape[1] == 384
        lengths = np.linalg.norm(encoded.tokens.astype(np.float32), axis=1)
        assert lengths == pytest.approx(1, abs=1e-3)
    # as, ##pi, ##rin, reduces, pain, "."; the model reads 256 word pieces, two of them special.
    assert [len(encoded.tokens) for encoded in (short, empty, long)] == [6, 0, 254]


def test_many_texts_of_a_static_model_are_as_one_by_one(tmp_path):
    embedder = Embedder(static_model(tmp_path))
    texts = ["aspirin pain", "pain", "aspirin", "pain", "gold pain pain"]
    assert np.allclose(embedder.encode_many(texts), embedder.encode(texts))
    assert embedder.encode_many([]).shape == (0, 0)


@pytest.mark.integration
def test_many_texts_are_as_one_by_one(monkeypatch):
    monkeypatch.setattr(embeddings, "N_BATCH_TOKENS", 12)
    embedder = Embedder()
    texts = ["iron", "iron and zinc", "", "gold and lead", "iron", "word " * 600, "zinc " * 5]
    found = embedder.encode_many(texts)
    assert found.shape == (len(texts), 384)
    assert np.abs(found - embedder.encode(texts)).max() < 1e-6
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)

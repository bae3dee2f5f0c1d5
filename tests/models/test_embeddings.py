"""Vectors of length 1, computed once for each text."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from ragassay.models import embeddings
from ragassay.models.embeddings import Embedder


class Counting(Embedder):
    """Embeds a number by its digits; notes what it computes."""

    def __init__(self) -> None:
        super().__init__("counting")
        self.computed: list[str] = []

    def _compute(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.computed += texts
        return np.array([[float(t), 1.0] for t in texts], dtype=np.float32)


def test_each_text_is_computed_once() -> None:
    embedder = Counting()
    assert embedder.encode(["1", "2", "1"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    assert embedder.encode(["2", "3"]).tolist() == [[2, 1], [3, 1]]
    assert embedder.computed == ["1", "2", "3"]


def test_no_text_gives_no_vector() -> None:
    assert Counting().encode([]).shape == (0, 0)


@pytest.mark.parametrize("n_cached", [1, 3])
def test_more_texts_than_are_kept(monkeypatch: pytest.MonkeyPatch, n_cached: int) -> None:
    monkeypatch.setattr(embeddings, "N_CACHED", n_cached)
    embedder = Counting()
    for batch in (["1", "2", "3"], ["3", "4", "5", "6", "1", "3"], ["9"] * 5, ["1", "9"]):
        assert embedder.encode(batch)[:, 0].tolist() == [float(t) for t in batch]
        assert len(embedder._cache) <= n_cached


def test_what_was_used_last_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "N_CACHED", 2)
    embedder = Counting()
    for text in ("1", "2", "1", "3", "1"):
        embedder.encode([text])
    assert embedder.computed == ["1", "2", "3"]


def test_threads_share_the_cache() -> None:
    embedder = Counting()
    batches = [[str((i + j) % 50) for j in range(10)] for i in range(200)]
    with ThreadPoolExecutor(8) as pool:
        for batch, vectors in zip(batches, pool.map(embedder.encode, batches), strict=True):
            assert vectors[:, 0].tolist() == [float(t) for t in batch]
    assert len(embedder.computed) == 50


@pytest.mark.integration
def test_the_packaged_model(capfd: pytest.CaptureFixture[str]) -> None:
    embedder = Embedder()
    texts = ["Aspirin reduces pain.", "Pain is relieved by aspirin.", "The train is late."]
    vectors = embedder.encode(texts)
    assert vectors.shape == (3, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] > 0.7 > vectors[0] @ vectors[2]
    assert np.array_equal(embedder.encode(texts[::-1]), vectors[::-1])
    assert np.array_equal(Embedder().encode(texts[1:2])[0], vectors[1])
    assert capfd.readouterr() == ("", "")

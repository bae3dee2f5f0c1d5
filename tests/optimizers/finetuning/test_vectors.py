"""Vectors are kept between runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from fakes import WordEmbedder

from ragassay.optimizers.finetuning.vectors import CachedEncoder


def test_vectors_are_computed_once_and_kept_on_disk(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    path = tmp_path / "vectors.npz"
    with CachedEncoder(embedder, path) as encoder:
        first = encoder.encode(["a whale", "a stroke", "a whale"])
        assert encoder.encode([]).shape == (0, 0)
    assert embedder.asked == ["a whale", "a stroke"]
    again = WordEmbedder()
    with CachedEncoder(again, path) as encoder:
        assert np.array_equal(encoder.encode(["a stroke", "a whale"]), first[[1, 0]])
    assert again.asked == []
    assert [p.name for p in tmp_path.iterdir()] == ["vectors.npz"]

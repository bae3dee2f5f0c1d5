"""Models that say whether a passage bears a sentence out."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.errors import SettingsError
from ragassay.model_names import MINILM_VERIFIER
from ragassay.models.correctness import (
    COSINE,
    JUDGE,
    CosineCorrectness,
    EntailmentCorrectness,
    correctness_model,
)
from ragassay.models.embeddings import Embedder
from ragassay.models.verifiers import minilm_verifier


@pytest.mark.integration
def test_the_cosine_is_a_model_of_correctness(tmp_path: Path):
    model = correctness_model(COSINE, Embedder(), tmp_path)
    assert isinstance(model, CosineCorrectness)
    same, other = model.scores([("Gout.", "Gout."), ("Gout.", "The train was late.")])
    assert same == pytest.approx(1, abs=1e-5)
    assert other < model.threshold
    assert model.scores([]).shape == (0,)


def test_the_setting_names_the_model(tmp_path: Path):
    embedder = Embedder()
    assert correctness_model(JUDGE, embedder, tmp_path) is None
    found = correctness_model(MINILM_VERIFIER, embedder, tmp_path)
    assert isinstance(found, EntailmentCorrectness)
    assert found.name == minilm_verifier().name
    with pytest.raises(SettingsError, match="not a classifier"):
        correctness_model(str(tmp_path / "none.json"), embedder, tmp_path)

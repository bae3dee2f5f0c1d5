"""Fixtures of the tests of commands."""

from __future__ import annotations

import pytest
from fakes import WordEmbedder


@pytest.fixture
def no_embedding_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare texts by their words, without a model."""
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", WordEmbedder)

"""No embedding model is loaded here."""

from __future__ import annotations

import pytest
from fakes import WordEmbedder

from ragassay.evaluators.toolbox import Toolbox
from ragassay.settings import load_settings


@pytest.fixture(autouse=True)
def no_embedding_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: WordEmbedder(name))


@pytest.fixture
def tools() -> Toolbox:
    """Tools of a run whose model is never asked."""
    return Toolbox.of(load_settings(model="openai/scripted", signals=False))

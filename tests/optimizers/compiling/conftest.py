"""No embedding model is loaded here."""

from __future__ import annotations

import pytest
from fakes import WordEmbedder

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.settings import load_settings


@pytest.fixture(autouse=True)
def no_embedding_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: WordEmbedder(name))


@pytest.fixture
def tools() -> Run:
    """Tools of a run whose model is never asked."""
    return build_run(load_settings(model="openai/scripted", signals=False))

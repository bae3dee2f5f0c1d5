"""No embedding model is loaded here."""

from __future__ import annotations

import pytest

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.settings import load_settings


@pytest.fixture(autouse=True)
def words(no_embedding_model) -> None:
    """Compare texts by their words."""


@pytest.fixture
def run() -> Run:
    """Tools of a run whose model is never asked."""
    return build_run(load_settings(model="openai/scripted", signals=False))

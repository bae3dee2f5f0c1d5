"""Where examples run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragassay.testing import ScriptedModel


@pytest.fixture
def at_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_embedding_model: None
) -> Iterator[Path]:
    """A folder to run examples in; whatever model they name, a scripted one answers."""
    monkeypatch.chdir(tmp_path)
    with ScriptedModel() as model:
        monkeypatch.setenv("RAGASSAY_JUDGE__MODEL", model.model_name)
        monkeypatch.setenv("RAGASSAY_JUDGE__API_BASE", model.base_url)
        yield tmp_path

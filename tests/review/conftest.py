from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from answers import written_run
from reviewing import client_of, evaluations
from starlette.testclient import TestClient

from ragassay.review.server import open_source
from ragassay.review.session import ReviewSession


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder."""
    return written_run(tmp_path / "run", evaluations())


@pytest.fixture
def make_client() -> Callable[..., TestClient]:
    """Open a path, and return a client that is already in."""

    def make(path: Path, who: str = "ann", **options: Any) -> TestClient:
        session = ReviewSession(open_source(path, options.pop("banks", ())))
        return client_of(session, who)

    return make

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write lines to a file: objects as JSON, text and bytes as they are."""

    def _write(*lines: object, name: str = "answers.jsonl", end: bytes = b"\n") -> Path:
        raw = [
            line
            if isinstance(line, bytes)
            else line.encode("utf-8")
            if isinstance(line, str)
            else json.dumps(line).encode("utf-8")
            for line in lines
        ]
        path = tmp_path / name
        path.write_bytes(b"".join(line + end for line in raw))
        return path

    return _write


@pytest.fixture
def shared_data(shared: Path) -> Path:
    """The folder with real data; the test is skipped where it is absent."""
    return shared / "data"

"""A model that writes and rates syntheses, and questions with papers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from rows import write_rows

from ragassay.prompts import load_prompts
from ragassay.testing import Reply, ScriptedModel

TASK = load_prompts().agents["synthesizer"].task
PAPERS = [
    {"title": "Trial", "abstract": "Drug A lowered blood pressure by 5 mmHg in adults."},
    {"title": "Safety", "abstract": "Cough was seen in some patients."},
]


def writer(name: str) -> Reply:
    """Return a model that writes syntheses, and rates its own with 5 and others with 3."""

    def reply(messages: Sequence[object], schema: object) -> dict[str, object]:
        text = "\n".join(str(m["content"]) for m in messages)  # type: ignore[index]
        if TASK[:40] in text:
            return {"synthesis": f"By {name}: drug A helps [1].\n\nSome patients cough [2]."}
        reason = "The answer names both findings of the papers."
        return {"rating": 5 if f"By {name}:" in text else 3, "rationale": reason}

    return reply


def n_written(model: ScriptedModel) -> int:
    """Return the number of syntheses requested from a model."""
    return sum(TASK[:40] in str(request.messages) for request in model.requests)


def write_questions(path: Path) -> Path:
    """Write YESciEval's question file: three questions with papers, one without."""
    rows = [{"id": f"q{n}", "question": f"Does drug A help? {n}", "papers": PAPERS} for n in "123"]
    return write_rows(path, [*rows, {"id": "q4", "question": "And drug B?", "papers": []}])


@pytest.fixture
def alpha() -> Iterator[ScriptedModel]:
    with ScriptedModel(reply=writer("alpha")) as started:
        yield started


@pytest.fixture
def beta() -> Iterator[ScriptedModel]:
    with ScriptedModel(reply=writer("beta")) as started:
        yield started


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "questions.jsonl")

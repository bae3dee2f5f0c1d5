"""Runs that ask a scripted model and compare texts by their words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from casefiles import build_word_run

from ragassay.evaluators.base import Run
from ragassay.formats import read_corpus, read_records
from ragassay.records import Record
from ragassay.retrievers.literature import Corpus
from ragassay.testing import Fault, ScriptedModel


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that start a server."""
    for item in items:
        if "make_model" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.integration)


@pytest.fixture
def make_model() -> Iterator[Callable[..., ScriptedModel]]:
    """Start scripted models; they end with the test."""
    started: list[ScriptedModel] = []

    def make(reply: Any = None, faults: Sequence[Fault] = (), **options: Any) -> ScriptedModel:
        started.append(ScriptedModel(reply, faults=faults, **options).start())
        return started[-1]

    yield make
    for model in started:
        model.close()


@pytest.fixture
def make_run() -> Callable[..., Run]:
    """Make runs that ask a scripted model."""

    def make(model: ScriptedModel, corpus: Corpus | None = None, **options: Any) -> Run:
        options = {"model": model.model_name, "reranker": "none", **options}
        return build_word_run(corpus, api_base=model.base_url, **options)

    return make


@pytest.fixture(scope="session")
def records(sample: Path) -> tuple[Record, ...]:
    return read_records(sample / "answers.jsonl").records


@pytest.fixture(scope="session")
def corpus(sample: Path) -> Corpus:
    return Corpus(read_corpus(sample / "abstracts.jsonl").documents)

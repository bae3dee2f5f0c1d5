"""A graph over the scripted model and a word embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes import WordEmbedder

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.formats import read_corpus, read_records
from ragassay.records import Record
from ragassay.retrievers.literature import Corpus
from ragassay.settings import load_settings
from ragassay.testing import Fault, ScriptedModel

MakeRun = Callable[..., Run]


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
def make_run(sample: Path) -> MakeRun:
    """A toolbox that asks a scripted model."""

    def make(model: ScriptedModel, corpus: Corpus | None = None, **options: Any) -> Run:
        options = {"model": model.model_name, "reranker": "none", **options}
        settings = load_settings(api_base=model.base_url, **options)
        return build_run(settings, corpus).with_models(embedder=WordEmbedder())  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def records(sample: Path) -> tuple[Record, ...]:
    """The sample's answers."""
    return read_records(sample / "answers.jsonl").records


@pytest.fixture(scope="session")
def corpus(sample: Path) -> Corpus:
    """The sample's abstracts."""
    return Corpus(read_corpus(sample / "abstracts.jsonl").documents)

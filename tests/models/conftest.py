"""A tiny random model, and a plain one with the same weights."""

from __future__ import annotations

import pytest
from lazy import LazyModule
from tiny_llama import Plain, tiny_model, tiny_tokenizer

from ragassay.models.local.engine import Engine

transformers = LazyModule("transformers")


@pytest.fixture(scope="session")
def tokenizer() -> transformers.PreTrainedTokenizerFast:
    return tiny_tokenizer()


@pytest.fixture(scope="session")
def plain(tokenizer) -> Plain:
    return Plain(tiny_model(len(tokenizer)))


@pytest.fixture
def engine(tokenizer) -> Engine:
    return Engine(tiny_model(len(tokenizer)), tokenizer)

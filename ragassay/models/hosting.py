"""Models that another process holds: embedders, adapted verifiers and the local judge.

A worker of a cluster has none of its own: one process a machine holds each model once, for all of
its workers. What they compute is the same: one text, one pair or one prompt at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.adapters import Adapter
    from ragassay.models.embeddings import Embedder, Encoded
    from ragassay.models.entailment import Pair
    from ragassay.models.local.batcher import Batcher
    from ragassay.models.local.engine import Prompt, Reply


class ModelHost(Protocol):
    """Computes with models of another process."""

    def encode(self, embedder: str, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return a vector for each text, as `Embedder.encode` does."""
        ...

    def encode_tokens(self, embedder: str, texts: Sequence[str]) -> list[Encoded]:
        """Return each text's vector and those of its tokens."""
        ...

    def compare(
        self, adapter: Adapter, cache_dir: Path, pairs: Sequence[Pair]
    ) -> NDArray[np.float64]:
        """Return the probabilities of an adapted verifier, shape (n_pairs, 3)."""
        ...

    def reply(self, model: str, cache_dir: Path, dtype: str, prompt: Prompt) -> Future[Reply]:
        """Return what the local judge will reply."""
        ...


_HOST: ModelHost | None = None


def current_host() -> ModelHost | None:
    """Return what computes for this process; None where it has its own models."""
    return _HOST


@contextmanager
def hosted(host: ModelHost | None) -> Iterator[None]:
    """Have another process compute for this one, in all of its threads, while it is open."""
    global _HOST
    before, _HOST = _HOST, host
    try:
        yield
    finally:
        _HOST = before


class OwnModels:
    """The models of this process, for others: it fulfils `ModelHost`."""

    def encode(self, embedder: str, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return a vector for each text."""
        return list(_embedder(embedder).encode(texts))

    def encode_tokens(self, embedder: str, texts: Sequence[str]) -> list[Encoded]:
        """Return each text's vector and those of its tokens."""
        return _embedder(embedder).encode_tokens(texts)

    def compare(
        self, adapter: Adapter, cache_dir: Path, pairs: Sequence[Pair]
    ) -> NDArray[np.float64]:
        """Return the probabilities of an adapted verifier, shape (n_pairs, 3)."""
        from ragassay.models.verifiers import adapted_verifier

        return adapted_verifier(adapter, cache_dir).probabilities(pairs)

    def reply(self, model: str, cache_dir: Path, dtype: str, prompt: Prompt) -> Future[Reply]:
        """Return what the local judge will reply; prompts that wait together form a batch."""
        return _batcher(model, cache_dir, dtype).submit(prompt)

    def answer(self, model: str, cache_dir: Path, dtype: str, prompt: Prompt) -> Reply:
        """Return what the local judge replies."""
        return self.reply(model, cache_dir, dtype, prompt).result()


@functools.cache
def _embedder(name: str) -> Embedder:
    from ragassay.models.embeddings import Embedder

    return Embedder(name)


@functools.cache
def _batcher(model: str, cache_dir: Path, dtype: str) -> Batcher:
    from ragassay.models.local.batcher import Batcher
    from ragassay.models.local.provider import load_engine

    return Batcher(functools.partial(load_engine, model, cache_dir, dtype))

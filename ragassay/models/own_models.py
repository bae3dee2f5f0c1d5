"""The models of this process, each made once, for others that have none."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.models.hosting import Recipe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.embeddings import Embedder
    from ragassay.models.hosting import Encoded
    from ragassay.models.local.batcher import Batcher
    from ragassay.models.local.replies import Prompt, Reply


class OwnModels:
    """The models of this process, for others: it fulfils `ModelHost`."""

    def encode(self, embedder: str, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return a vector for each text."""
        return list(_embedder(embedder).encode(texts))

    def encode_tokens(self, embedder: str, texts: Sequence[str]) -> list[Encoded]:
        """Return each text's vector and those of its tokens."""
        return _embedder(embedder).encode_tokens(texts)

    def compute(self, recipe: Recipe, method: str, given: Sequence[Any]) -> Any:
        """Return what a model's method returns; the model is made at its first call."""
        return getattr(_make_once(recipe.kind, *recipe.given), method)(*given)

    def reply(self, model: str, cache_dir: Path, dtype: str, prompt: Prompt) -> Future[Reply]:
        """Return what the local judge will reply; prompts that wait together form a batch."""
        return _batcher(model, cache_dir, dtype).submit(prompt)

    def answer(self, model: str, cache_dir: Path, dtype: str, prompt: Prompt) -> Reply:
        """Return what the local judge replies."""
        return self.reply(model, cache_dir, dtype, prompt).result()


_MAKING = threading.Lock()
_MADE: dict[tuple[Hashable, ...], Any] = {}


def _make_once(kind: Callable[..., Any], *given: Hashable) -> Any:
    """Return a model, made once a process, however many threads ask for it at once."""
    with _MAKING:
        if (kind, *given) not in _MADE:
            _MADE[kind, *given] = kind(*given)
        return _MADE[kind, *given]


def _embedder(name: str) -> Embedder:
    from ragassay.models.embeddings import Embedder

    return _make_once(Embedder, name)


def _batcher(model: str, cache_dir: Path, dtype: str) -> Batcher:
    return _make_once(_new_batcher, model, cache_dir, dtype)


def _new_batcher(model: str, cache_dir: Path, dtype: str) -> Batcher:
    from ragassay.models.local.batcher import Batcher
    from ragassay.models.local.loading import load_engine

    return Batcher(functools.partial(load_engine, model, cache_dir, dtype))

"""Embed questions, answers, pairs and sentences, each as a model wants to be told of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ragassay.model_names import MINILM
from ragassay.models.embeddings import Embedder
from ragassay.models.kept_vectors import KeptVectors
from ragassay.prompts.embedders import TextRole, form_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Encode = Callable[[Sequence[str], TextRole], "NDArray[np.float32]"]
"""Gives texts of a role as vectors of length 1, shape (n_texts, n_dimensions)."""


class _Encoder(Protocol):
    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


def encode_role(encoder: _Encoder, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
    """Return an encoder's vectors of texts that search or are searched.

    An encoder other than an `Embedder` knows no roles and gets the texts as they are.
    """
    if isinstance(encoder, Embedder):
        return encoder.encode_role(texts, role)
    return encoder.encode(texts)


class RoleEncoder:
    """Embeds texts by their role: an `Encode` made from a model.

    Args:
        model: A name as `Embedder` takes it.
        embedder: What embeds; by default an `Embedder` of the model.
    """

    def __init__(self, model: str = MINILM, embedder: Embedder | KeptVectors | None = None) -> None:
        self.name = model
        self._embedder = embedder or Embedder(model)
        self._form = form_of(model)

    def __call__(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        """Return vectors of length 1, shape (n_texts, n_dimensions); (0, 0) without a text."""
        prefix = self._form.prefix(role)
        return self._embedder.encode_many([prefix + text for text in texts])

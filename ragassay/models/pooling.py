"""Pool an embedding model as its name's form says, where its folder does not say it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ragassay.errors import SettingsError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from ragassay.prompts.embedders import EmbedderForm, Pooling

MODULES = "modules.json"


class TokenPooling(nn.Module):
    """Takes one token's vector for the text's.

    Args:
        which: "cls" for the first token, "lasttoken" for the last, "pooler" for the first through
            `pooler`.
        pooler: The pooler of a model of transformers: a dense layer, then tanh.
    """

    def __init__(self, which: Pooling, pooler: nn.Module | None = None) -> None:
        super().__init__()
        self.which, self.pooler = which, pooler

    def forward(self, features: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        """Return features with the vectors of the texts, shape (n_texts, width)."""
        states, mask = features["token_embeddings"], features["attention_mask"]
        places = mask.argmax(dim=1)  # padding may stand on either side
        if self.which == "lasttoken":
            places = mask.shape[1] - 1 - mask.flip(1).argmax(dim=1)
        vectors = states[torch.arange(len(states), device=states.device), places]
        # A pooler takes the first of a text's tokens itself.
        return {
            **features,
            "sentence_embedding": self.pooler(vectors[:, None]) if self.pooler else vectors,
        }


def set_pooling(model: SentenceTransformer, source: str, form: EmbedderForm) -> None:
    """Change the pooling of a loaded model to that of its form.

    Nothing changes for a model with a modules.json of its own, which says how it is pooled.

    Args:
        model: As sentence-transformers loads it: a model of transformers, then its pooling.
        source: Its folder, or its name on the hub.
        form: From `ragassay.prompts.embedders.form_of`.

    Raises:
        SettingsError: The form needs the model's pooler, and it has none.
    """
    if len(model) != 2 or has_modules(source):
        return
    if form.pooling == "mean":
        return  # the default, but for decoders, which no form of the table pools so
    first: Any = model[0]
    base = first.model if hasattr(first, "model") else first.auto_model  # before version 6
    pooler = getattr(base, "pooler", None) if form.pooling == "pooler" else None
    if form.pooling == "pooler" and pooler is None:
        raise SettingsError(
            f"embedder {source}: its vector is its pooler's output, and this {type(base).__name__} "
            f"has no pooler; a {MODULES} of sentence-transformers in its folder would say how else "
            "it is pooled"
        )
    model[1] = TokenPooling(form.pooling, pooler)


def has_modules(source: str) -> bool:
    """Return whether a model's folder, or what the hub gave of it, has a modules.json."""
    if (Path(source) / MODULES).is_file():
        return True
    if Path(source).exists():
        return False
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(source, MODULES), str)

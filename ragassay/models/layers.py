"""Layers of encoders: pooling as a model's form says, and weights in oneDNN's layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ragassay.errors import SettingsError
from ragassay.models.minilm import minilm_weights
from ragassay.models.weights import loading, minilm_folder, read_config
from ragassay.process import use_one_core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer
    from transformers import PreTrainedModel

    from ragassay.prompts.model_forms import EmbedderForm, Pooling


MODULES = "modules.json"


class HubTexts:
    """Texts as vectors, by any model that sentence-transformers can load.

    Raises:
        SettingsError: It is unavailable, or cannot be pooled so.
    """

    def __init__(self, name: str, form: EmbedderForm) -> None:
        from sentence_transformers import SentenceTransformer

        with loading(name):
            self._model = SentenceTransformer(name, device="cpu", trust_remote_code=False)
        set_pooling(self._model, name, form)
        # Sets the tokenizer's limits: two threads must not do it at once.
        self._model.encode([""], show_progress_bar=False)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text that are read; 1 for a static model."""
        tokenizer: Any = self._model.tokenizer
        if not callable(tokenizer):  # it has no place for padding
            return [1] * len(texts)
        read: Any = tokenizer(list(texts), truncation=True, max_length=self._model.max_seq_length)
        return [len(row) for row in read["input_ids"]]

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts of one length in tokens, shape (n_texts, n_dimensions)."""
        use_one_core()
        return self._model.encode(list(texts), batch_size=len(texts), show_progress_bar=False)

    def vector_and_tokens(self, text: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the vector of a text, and those of its tokens but the special ones."""
        import numpy as np

        use_one_core()
        rows: Any = self._model.encode([text], output_value=None, show_progress_bar=False)
        vector = rows[0]["sentence_embedding"].numpy()
        if "token_embeddings" not in rows[0]:
            return vector, vector[None]
        special = getattr(self._model.tokenizer, "all_special_ids", [])
        is_special = np.isin(rows[0]["input_ids"].numpy(), special)
        return vector, rows[0]["token_embeddings"].numpy()[~is_special]


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


def load_minilm() -> PreTrainedModel:
    """Load the packaged all-MiniLM-L6-v2 in torch, in single precision.

    Raises:
        SettingsError: Its weights differ from their digests.
    """
    from transformers import AutoModel

    model = AutoModel.from_config(read_config(str(minilm_folder())), dtype=torch.float32)
    # Copied: the arrays are shared by all models of this process.
    weights = {name: torch.tensor(rows) for name, rows in minilm_weights().items()}
    model.load_state_dict(weights, strict=True)
    return model.eval()


_N_ROWS = 64
"""Rows for which the layout is chosen; it suits any number."""


class PackedLinear(nn.Module):
    """A linear layer for inference: the same sums, with weights reordered once."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        self._weight: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, _N_ROWS)
        self._bias = linear.bias.detach()

    def forward(self, rows: Tensor) -> Tensor:
        """Return the layer's output, shape (..., n_out)."""
        return torch.ops.mkldnn._linear_pointwise(rows, self._weight, self._bias, "none", [], "")


def pack(model: nn.Module) -> None:
    """Replace a model's linear layers, where oneDNN is there and they are in single precision."""
    if not torch.backends.mkldnn.is_available():
        return
    for parent in list(model.modules()):
        for name, layer in parent.named_children():
            if type(layer) is nn.Linear and _is_fit(layer):
                setattr(parent, name, PackedLinear(layer))


def _is_fit(layer: nn.Linear) -> bool:
    is_plain = layer.weight.dtype == torch.float32 and layer.weight.device.type == "cpu"
    return is_plain and layer.bias is not None

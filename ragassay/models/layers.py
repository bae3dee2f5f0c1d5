"""Encoder layers: configurable pooling, and linear layers in oneDNN's memory layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ragassay.errors import SettingsError
from ragassay.models.minilm import read_minilm_weights
from ragassay.models.weights import guard_loading, locate_minilm, read_config
from ragassay.process import use_one_core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer
    from transformers import PreTrainedModel

    from ragassay.prompts.model_forms import EmbedderForm, Pooling


MODULES = "modules.json"


class HubTexts:
    """Embedder that uses a sentence-transformers model.

    Raises `SettingsError` if the model is unavailable.
    """

    def __init__(self, name: str, form: EmbedderForm) -> None:
        from sentence_transformers import SentenceTransformer

        with guard_loading(name):
            self._model = SentenceTransformer(name, device="cpu", trust_remote_code=False)
        set_pooling(self._model, name, form)
        # Sets the tokenizer's limits, which is not thread-safe.
        self._model.encode([""], show_progress_bar=False)

    def count_text_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens read from each text, or 1 for static models."""
        tokenizer: Any = self._model.tokenizer
        if not callable(tokenizer):  # a static model, which does not pad
            return [1] * len(texts)
        encoded: Any = tokenizer(
            list(texts), truncation=True, max_length=self._model.max_seq_length
        )
        return [len(row) for row in encoded["input_ids"]]

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return embeddings of texts with equal token counts, shape (n_texts, n_dimensions)."""
        use_one_core()
        return self._model.encode(list(texts), batch_size=len(texts), show_progress_bar=False)

    def embed_text_and_tokens(self, text: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the embeddings of a text and of its tokens, without special tokens."""
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
    """Pooling layer that uses the vector of one token.

    Args:
        which: "cls" for the first token, "lasttoken" for the last token, or "pooler" to apply
            `pooler` to the first token.
        pooler: Pooler of a transformers model: a dense layer followed by tanh.
    """

    def __init__(self, which: Pooling, pooler: nn.Module | None = None) -> None:
        super().__init__()
        self.which, self.pooler = which, pooler

    def forward(self, features: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        """Return the features with sentence embeddings, shape (n_texts, width)."""
        states, mask = features["token_embeddings"], features["attention_mask"]
        positions = mask.argmax(dim=1)  # padding may be on the left or right
        if self.which == "lasttoken":
            positions = mask.shape[1] - 1 - mask.flip(1).argmax(dim=1)
        vectors = states[torch.arange(len(states), device=states.device), positions]
        # The pooler expects a sequence and uses its first token.
        return {
            **features,
            "sentence_embedding": self.pooler(vectors[:, None]) if self.pooler else vectors,
        }


def set_pooling(model: SentenceTransformer, source: str, form: EmbedderForm) -> None:
    """Set the pooling of a loaded model to the method that `form` defines.

    Models with a modules.json file already define their pooling and are left unchanged.

    Raises:
        SettingsError: The form needs a pooler that the model does not have.
    """
    if len(model) != 2 or has_modules(source) or form.pooling == "mean":
        return  # Mean pooling is the default, except for decoders, for which no form uses it.
    first: Any = model[0]
    base = first.model if hasattr(first, "model") else first.auto_model  # before version 6
    pooler = getattr(base, "pooler", None) if form.pooling == "pooler" else None
    if form.pooling == "pooler" and pooler is None:
        raise SettingsError(
            f"embedder {source}: the embedding is the pooler output, and this "
            f"{type(base).__name__} has no pooler; add a sentence-transformers {MODULES} to its "
            "folder to define another pooling"
        )
    model[1] = TokenPooling(form.pooling, pooler)


def has_modules(source: str) -> bool:
    """Return whether a model folder or the Hugging Face cache has a modules.json file."""
    if (Path(source) / MODULES).is_file():
        return True
    if Path(source).exists():
        return False
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(source, MODULES), str)


def load_minilm() -> PreTrainedModel:
    """Load the packaged all-MiniLM-L6-v2 in float32.

    Raises `SettingsError` if a file is damaged.
    """
    from transformers import AutoModel

    model = AutoModel.from_config(read_config(str(locate_minilm())), dtype=torch.float32)
    # Copy the arrays, which are shared by all models in this process.
    weights = {name: torch.tensor(rows) for name, rows in read_minilm_weights().items()}
    model.load_state_dict(weights, strict=True)
    return model.eval()


_N_ROWS = 64
"""Batch size for which the memory layout of weights is chosen.

The layout works for any batch size.
"""


class PackedLinear(nn.Module):
    """Linear layer for inference with weights in oneDNN's memory layout. Outputs are unchanged."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        self._weight: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, _N_ROWS)
        self._bias = linear.bias.detach()

    def forward(self, rows: Tensor) -> Tensor:
        """Return the layer's output, shape (..., n_out)."""
        return torch.ops.mkldnn._linear_pointwise(rows, self._weight, self._bias, "none", [], "")


def pack(model: nn.Module) -> None:
    """Use `PackedLinear` for a model's linear float32 layers on the CPU, if oneDNN is available."""
    if not torch.backends.mkldnn.is_available():
        return
    for parent in list(model.modules()):
        for name, layer in parent.named_children():
            if type(layer) is nn.Linear and _can_pack(layer):
                setattr(parent, name, PackedLinear(layer))


def _can_pack(layer: nn.Linear) -> bool:
    is_plain = layer.weight.dtype == torch.float32 and layer.weight.device.type == "cpu"
    return is_plain and layer.bias is not None

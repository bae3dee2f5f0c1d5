"""Load base models as cross-encoders: the two packaged ones, and any of the hub."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.errors import SettingsError
from ragassay.model_names import MINILM, SMOLLM2
from ragassay.models.hub import loading, source_of
from ragassay.models.weights import MINILM_SAFETENSORS_SHA256, SMOLLM2_GGUF_SHA256

if TYPE_CHECKING:
    import torch

    from ragassay.models.cross_encoder import PairEncoder

PACKAGED: Mapping[str, str] = {SMOLLM2: SMOLLM2_GGUF_SHA256, MINILM: MINILM_SAFETENSORS_SHA256}
"""Packaged base models, with the SHA-256 of their weights."""


def pair_encoder(base: str, cache_dir: Path, n_labels: int = 3) -> PairEncoder:
    """Load a base model as a cross-encoder with an untrained head.

    A model of the hub runs on the GPU, in half precision, where there is one; the packaged ones are
    small enough for the processor, and return the same values everywhere.

    Args:
        base: One of `PACKAGED`, a name on the hub, or a folder.
        cache_dir: The folder of SmolLM2's converted weights.
        n_labels: Labels of the head; a verifier has three.

    Raises:
        SettingsError: It is unavailable, is neither an encoder nor a decoder of text, or its
            weights differ from the packaged ones.
    """
    import torch

    on_gpu = base not in PACKAGED and torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu else torch.float32
    encoder = _loaded(base, source_of(base, cache_dir), dtype, n_labels)
    return encoder.to("cuda") if on_gpu else encoder


def _loaded(name: str, source: str, dtype: torch.dtype, n_labels: int) -> PairEncoder:
    from transformers import AutoConfig, AutoModel, AutoTokenizer
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    from ragassay.models.bidirectional_encoder import BidirectionalEncoder
    from ragassay.models.causal_encoder import READ, CausalEncoder

    with loading(name):
        config: Any = AutoConfig.from_pretrained(source, trust_remote_code=False)
    if config.is_encoder_decoder or not hasattr(config, "num_hidden_layers"):
        raise SettingsError(
            f"{name} cannot be a cross-encoder: name an encoder or a decoder of text"
        )
    with loading(name):
        reads_both_ways = config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES
        read = {} if reads_both_ways else _lower_layers(config, READ)
        base = AutoModel.from_pretrained(source, dtype=dtype, **read, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    kind = BidirectionalEncoder if reads_both_ways else CausalEncoder
    return kind(base, tokenizer, name, PACKAGED.get(name, ""), n_labels)


def _lower_layers(config: Any, share: float) -> dict[str, Any]:
    """Return settings that load only the lower layers of a model."""
    n_layers = max(1, round(share * config.num_hidden_layers))
    kinds = getattr(config, "layer_types", None)
    return {"num_hidden_layers": n_layers} | ({"layer_types": kinds[:n_layers]} if kinds else {})

"""Load base models and adapters for judging in this process."""

from __future__ import annotations

import copy
import functools
import threading
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ragassay.errors import SettingsError
from ragassay.model_names import PROVIDER
from ragassay.models.tuned import find_adapter_folder, read_note
from ragassay.models.verifiers import is_pair_verifier
from ragassay.models.weights import choose_dtype, guard_loading, locate_model, silence_transformers

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from ragassay.models.local.engine import Engine

ARCHITECTURES = ("llama", "qwen2", "qwen3")
"""Supported architectures, whose layers all cache the keys and values of all tokens."""


def load_engine(name: str, cache_dir: Path, dtype: str = "auto") -> Engine:
    """Load a model for judging in this process.

    Args:
        name: `SMOLLM2`, a shipped adapter, a Hugging Face id, or a folder.
        cache_dir: Folder for converted weights.
        dtype: "auto", "bfloat16" or "float32".

    Raises:
        SettingsError: The architecture is not supported, or the model cannot generate text.
    """
    from ragassay.models.local.engine import Engine

    if is_pair_verifier(f"{PROVIDER}/{name}"):
        raise SettingsError(
            f"{PROVIDER}/{name} is a verifier and cannot generate text; use it with --verifier"
        )
    folder = find_adapter_folder(name)
    base = read_note(folder).base if folder else name
    model, tokenizer = load_base(base, cache_dir, dtype)
    if folder is not None:
        model = load_adapted(model, folder)
    return Engine(model, tokenizer)


def load_base(
    name: str, cache_dir: Path, dtype: str = "auto"
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Load a base model and its tokenizer once for all adapters, or raise `SettingsError`."""
    with _LOADING:
        return _load_base(name, cache_dir, dtype)


_LOADING = threading.Lock()


@functools.lru_cache(maxsize=2)
def _load_base(
    name: str, cache_dir: Path, dtype: str
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = locate_model(name, cache_dir)
    torch_dtype = choose_dtype() if dtype == "auto" else getattr(torch, dtype)
    with guard_loading(name):
        model = AutoModelForCausalLM.from_pretrained(
            source, dtype=torch_dtype, trust_remote_code=False
        ).eval()
        tokenizer = AutoTokenizer.from_pretrained(
            _locate_tokenizer(model, source), trust_remote_code=False
        )
    if model.config.model_type not in ARCHITECTURES:
        raise SettingsError(
            f"model {name!r} has the architecture {model.config.model_type!r}; in-process judging "
            f"supports {', '.join(ARCHITECTURES)}. Serve the model over HTTP and pass its endpoint"
        )
    return model, tokenizer


def _locate_tokenizer(model: PreTrainedModel, source: str) -> str:
    """Return where to load the tokenizer from.

    Published adapters use their base model's tokenizer.
    """
    adapters = getattr(model, "peft_config", None) or {}
    bases = (config.base_model_name_or_path for config in adapters.values())
    return next(filter(None, bases), source)


def load_adapted(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """Return a copy of a model with an adapter. The copy shares the base weights."""
    from peft import PeftModel

    shared = {id(t): t for t in (*model.parameters(), *model.buffers())}
    with silence_transformers():
        tuned = PeftModel.from_pretrained(copy.deepcopy(model, shared), str(folder))
    return cast("PreTrainedModel", tuned.get_base_model()).eval()

"""Load models that judge in this process: whole ones, and adapters over one base."""

from __future__ import annotations

import copy
import functools
import threading
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ragassay.errors import SettingsError
from ragassay.model_names import PROVIDER
from ragassay.models.tuned import adapter_folder, read_note
from ragassay.models.verifiers import is_pair_verifier
from ragassay.models.weights import best_dtype, loading, quiet_loading, source_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from ragassay.models.local.engine import Engine

ARCHITECTURES = ("llama", "qwen2", "qwen3")
"""Those whose layers all keep every token's keys and values, which the engine copies."""


def load_engine(name: str, cache_dir: Path, dtype: str = "auto") -> Engine:
    """Load a model for in-process judging.

    Args:
        name: `SMOLLM2`, a shipped adapter, a Hugging Face id, or a folder.
        cache_dir: Where converted weights live.
        dtype: "auto", "bfloat16" or "float32".

    Raises:
        SettingsError: The architecture is none of `ARCHITECTURES`, or the model writes nothing.
    """
    from ragassay.models.local.engine import Engine

    if is_pair_verifier(f"{PROVIDER}/{name}"):
        raise SettingsError(
            f"{PROVIDER}/{name} compares a claim with a passage and writes nothing: name it as "
            "--verifier"
        )
    folder = adapter_folder(name)
    base = read_note(folder).base if folder else name
    model, tokenizer = load_base(base, cache_dir, dtype)
    if folder is not None:
        model = load_adapted(model, folder)
    return Engine(model, tokenizer)


def load_base(
    name: str, cache_dir: Path, dtype: str = "auto"
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Load a whole model and its tokenizer, once for all adapters on it.

    Safe across threads: each model's own thread loads it.

    Raises:
        SettingsError: It is unavailable, or its architecture is none of `ARCHITECTURES`.
    """
    with _LOADING:
        return _loaded_base(name, cache_dir, dtype)


_LOADING = threading.Lock()


@functools.lru_cache(maxsize=2)
def _loaded_base(
    name: str, cache_dir: Path, dtype: str
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = source_of(name, cache_dir)
    chosen = best_dtype() if dtype == "auto" else getattr(torch, dtype)
    with loading(name):
        model = AutoModelForCausalLM.from_pretrained(
            source, dtype=chosen, trust_remote_code=False
        ).eval()
        tokenizer = AutoTokenizer.from_pretrained(
            _tokenizer_source(model, source), trust_remote_code=False
        )
    if model.config.model_type not in ARCHITECTURES:
        raise SettingsError(
            f"model {name!r} is a {model.config.model_type!r}; in-process judging knows "
            f"{', '.join(ARCHITECTURES)}: serve it over HTTP and name its endpoint instead"
        )
    return model, tokenizer


def _tokenizer_source(model: PreTrainedModel, source: str) -> str:
    """Return where a model's tokenizer is: a published adapter, such as YESciEval's, has none."""
    adapters = getattr(model, "peft_config", None) or {}
    bases = (config.base_model_name_or_path for config in adapters.values())
    return next(filter(None, bases), source)


def load_adapted(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """Return a model with an adapter beside its weights, which it shares with the model given."""
    from peft import PeftModel

    shared = {id(t): t for t in (*model.parameters(), *model.buffers())}
    with quiet_loading():
        tuned = PeftModel.from_pretrained(copy.deepcopy(model, shared), str(folder))
    return cast("PreTrainedModel", tuned.get_base_model()).eval()

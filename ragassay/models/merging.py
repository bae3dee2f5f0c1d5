"""Merge an adapter into its base, for servers that load whole models: vLLM, llama.cpp."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragassay.errors import InputError, SettingsError
from ragassay.extras import EXTRAS, need
from ragassay.model_names import SMOLLM2
from ragassay.models.hub import loading, source_of
from ragassay.models.quiet import quiet_loading
from ragassay.models.tuned import read_note
from ragassay.models.weights import SMOLLM2_PACKAGE, packaged_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class Merged:
    """A base model with an adapter added to its weights, in float32.

    Attributes:
        name: Its name in the written files.
        base: Name of the base model.
        model: The merged one.
        tokenizer: The base's tokenizer.
        changed: Modules whose weights the adapter changed, as `model.layers.0.mlp.up_proj`.
    """

    name: str
    base: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    changed: tuple[str, ...]


def merge(folder: Path, cache_dir: Path) -> Merged:
    """Add an adapter to its base.

    Args:
        folder: The adapter's folder.
        cache_dir: The folder of converted weights.

    Raises:
        SettingsError: The adapter is damaged, or its base is unavailable.
    """
    need(*EXTRAS["local"])
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = read_note(folder).base
    source = source_of(base, cache_dir)
    with loading(base):
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        below = AutoModelForCausalLM.from_pretrained(
            source, dtype=torch.float32, trust_remote_code=False
        ).eval()
        tuned = PeftModel.from_pretrained(below, str(folder))
        changed = tuple(sorted(tuned.targeted_module_names))
        whole: Any = tuned.merge_and_unload(safe_merge=True)
    return Merged(folder.name, base, whole, tokenizer, changed)


def write_hf(
    merged: Merged, folder: Path, dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
) -> None:
    """Write a plain Hugging Face folder: weights, configuration, tokenizer, chat template.

    Args:
        merged: The model; it is left in `dtype`.
        folder: Created; it appears when it is complete.
        dtype: Type of the weights.

    Raises:
        InputError: The folder exists already.
    """
    import torch

    with _appearing(folder) as partial, quiet_loading():
        partial.mkdir()
        merged.model.to(getattr(torch, dtype)).save_pretrained(partial)  # type: ignore[arg-type]
        merged.tokenizer.save_pretrained(partial)


def write_gguf(merged: Merged, path: Path) -> None:
    """Write a GGUF file: the packaged one with the changed matrices replaced, in half precision.

    Metadata, tokenizer and chat template are the packaged file's, as are all other tensors in
    their own precision.

    Args:
        merged: The model, in float32.
        path: The file; it appears when it is complete.

    Raises:
        InputError: The file exists already.
        SettingsError: The base is not the packaged model, so there is no file to start from.
    """
    if merged.base != SMOLLM2:
        raise SettingsError(
            f"--gguf begins with the packaged {SMOLLM2}, and the base is {merged.base}: write "
            "--hf and convert that folder with llama.cpp's convert_hf_to_gguf.py"
        )
    import gguf
    from gguf.scripts.gguf_new_metadata import MetadataDetails, copy_with_new_metadata

    source = gguf.GGUFReader(packaged_file(SMOLLM2_PACKAGE, ".gguf"))
    _replace_changed(source, merged)
    keys, kinds = gguf.Keys.General, gguf.GGUFValueType
    name = f"{source.fields[keys.NAME].contents()}, with ragassay's adapter {merged.name}"
    described = {
        keys.NAME: MetadataDetails(kinds.STRING, name),
        keys.FILE_TYPE: MetadataDetails(kinds.UINT32, int(gguf.LlamaFileType.MOSTLY_F16)),
    }
    with _appearing(path) as partial:
        writer = gguf.GGUFWriter(
            partial, source.fields[keys.ARCHITECTURE].contents(), endianess=source.endianess
        )
        copy_with_new_metadata(source, writer, described, [])


def _replace_changed(source: Any, merged: Merged) -> None:
    """Put the changed matrices into what was read of the packaged file.

    Raises:
        SettingsError: The file has no place for one of them.
    """
    import gguf

    config: Any = merged.model.config
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    places = {tensor.name: n for n, tensor in enumerate(source.tensors)}
    for module in merged.changed:
        place = places.get(f"{names.get_name(module)}.weight")
        if place is None:
            raise SettingsError(f"the adapter changes {module}, for which GGUF has no known place")
        half = _half(merged.model, module)
        source.tensors[place] = source.tensors[place]._replace(
            data=half, n_bytes=half.nbytes, tensor_type=gguf.GGMLQuantizationType.F16
        )


def _half(model: PreTrainedModel, module: str) -> NDArray[np.float16]:
    """Return a module's weight as GGUF has it, shape (n_out, n_in)."""
    weight: Any = model.get_submodule(module).weight
    values = weight.detach().float().numpy()
    config: Any = model.config
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    n_heads = heads.get(module.rpartition(".")[2])
    return (rotated(values, n_heads) if n_heads else values).astype("float16")


def rotated(weight: NDArray[np.floating], n_heads: int) -> NDArray[np.floating]:
    """Put a query or key matrix into llama.cpp's order of rows.

    For rotary positions, transformers pairs the first half of a head's rows with the second;
    llama.cpp pairs neighbours, so it stores row i of the first half next to row i of the second.

    Args:
        weight: shape (n_heads * head_size, n_in).
        n_heads: The number of heads of this matrix.

    Returns:
        The same shape.
    """
    halves = weight.reshape(n_heads, 2, -1, weight.shape[1])
    return halves.swapaxes(1, 2).reshape(weight.shape)


@contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """Give a place to write to, which becomes `target` when all went well.

    Raises:
        InputError: `target` exists already.
    """
    if target.exists():
        raise InputError(f"{target} is there already: name another place, or remove it")
    target.parent.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(dir=target.parent, prefix=".merging-"))
    try:
        yield room / target.name
        (room / target.name).rename(target)
    finally:
        shutil.rmtree(room, ignore_errors=True)

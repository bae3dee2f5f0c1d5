"""Merge an adapter into its base, for servers that load whole models: vLLM, llama.cpp."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragassay.errors import InputError, SettingsError
from ragassay.model_names import SMOLLM2
from ragassay.models.hub import loading, source_of
from ragassay.models.quiet import quiet_loading
from ragassay.models.tuned import read_note
from ragassay.models.weights import SMOLLM2_PACKAGE, packaged_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_LAYER = re.compile(r"model\.layers\.(\d+)\.(.+)")


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
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = read_note(folder).base
    source = source_of(base, cache_dir)
    with loading(base):
        tokenizer = AutoTokenizer.from_pretrained(source)
        below = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).eval()
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
    from gguf import GGUFReader

    source = GGUFReader(packaged_file(SMOLLM2_PACKAGE, ".gguf"))
    with _appearing(path) as partial:
        _write_copy(source, _replacements(merged), merged.name, partial)


def _replacements(merged: Merged) -> dict[str, Callable[[], NDArray[np.float16]]]:
    """Yield the changed matrices by their GGUF names; computed when they are written."""
    return {gguf_name(name): lambda name=name: _half(merged.model, name) for name in merged.changed}


def gguf_name(module: str) -> str:
    """Return llama.cpp's name for the weight of a module.

    Raises:
        SettingsError: It has no such name.

    Example:
        >>> gguf_name("model.layers.3.mlp.up_proj")
        'blk.3.ffn_up.weight'
    """
    found = _LAYER.fullmatch(module)
    if found is None or found[2] not in _GGUF_NAMES:
        raise SettingsError(f"the adapter changes {module}, for which GGUF has no known place")
    return f"blk.{found[1]}.{_GGUF_NAMES[found[2]]}.weight"


def _half(model: PreTrainedModel, module: str) -> NDArray[np.float16]:
    """Return a module's weight as GGUF has it, shape (n_out, n_in)."""
    import numpy as np

    weight: Any = model.get_submodule(module).weight
    values = weight.detach().float().numpy()
    if module.endswith(("q_proj", "k_proj")):
        config: Any = model.config
        is_query = module.endswith("q_proj")
        values = rotated(
            values, config.num_attention_heads if is_query else config.num_key_value_heads
        )
    return values.astype(np.float16)


def rotated(weight: NDArray[np.floating], n_heads: int) -> NDArray[np.floating]:
    """Return a query or key matrix in llama.cpp's order of rows.

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


def _write_copy(
    source: Any, replaced: dict[str, Callable[[], NDArray[np.float16]]], name: str, path: Path
) -> None:
    import gguf
    import numpy as np

    unknown = set(replaced) - {tensor.name for tensor in source.tensors}
    if unknown:
        raise SettingsError(f"the packaged GGUF has no {', '.join(sorted(unknown))}")
    architecture = source.fields[gguf.Keys.General.ARCHITECTURE].contents()
    writer = gguf.GGUFWriter(path, architecture, endianess=source.endianess)
    _copy_metadata(source, writer, name)
    half = gguf.GGMLQuantizationType.F16
    for tensor in source.tensors:
        data = tensor.data
        if tensor.name in replaced:
            shape = [int(n) for n in tensor.shape[::-1]]
            size = 2 * int(np.prod(shape))
            writer.add_tensor_info(tensor.name, shape, np.dtype(np.float16), size, half)
        else:
            writer.add_tensor_info(
                tensor.name, data.shape, data.dtype, data.nbytes, tensor.tensor_type
            )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in source.tensors:
        make = replaced.get(tensor.name)
        data = make() if make else tensor.data
        writer.write_tensor_data(data, tensor_endianess=source.endianess)
    writer.close()


def _copy_metadata(source: Any, writer: Any, name: str) -> None:
    """Copy all fields except those that the writer sets itself and the model's name."""
    import gguf

    for field in source.fields.values():
        if field.name == gguf.Keys.General.ARCHITECTURE or field.name.startswith("GGUF."):
            continue
        is_array = field.types[0] == gguf.GGUFValueType.ARRAY
        value = field.contents()
        if field.name == gguf.Keys.General.NAME:
            value = f"{value}, with ragassay's adapter {name}"
        elif field.name == gguf.Keys.General.FILE_TYPE:
            value = int(gguf.LlamaFileType.MOSTLY_F16)
        writer.add_key_value(
            field.name, value, field.types[0], sub_type=field.types[-1] if is_array else None
        )


@contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `target` on success.

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

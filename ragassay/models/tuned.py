"""Fine-tuned generative models: read and write adapters, and merge them into base models."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from ragassay.errors import InputError, SettingsError, find_first_problem
from ragassay.extras import EXTRAS, need
from ragassay.files import read_small
from ragassay.model_names import PROVIDER, SMOLLM2, is_ragassay_model
from ragassay.models.weights import (
    SMOLLM2_GGUF_SHA256,
    SMOLLM2_PACKAGE,
    check_digest,
    compute_sha256,
    find_packaged_file,
    guard_loading,
    locate_model,
    silence_transformers,
)
from ragassay.records.base import Frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ragassay.settings import Settings


NOTE, SHAPE, WEIGHTS = "ragassay.json", "adapter_config.json", "adapter_model.safetensors"

TunedTask = Literal["judge", "verifier", "labeller", "qa"]


class TunedNote(Frozen):
    """Description of an adapter and its training.

    Attributes:
        base: Base model: `SMOLLM2`, a Hugging Face id, or a folder.
        base_sha256: Digest of the base model if it is the embedded one, otherwise "".
        method: "sft" or "cpo".
        recipe: Training settings as JSON.
        data_sha256: Hash of the training examples, including the prompts.
        targets: Training targets of a judge: "made" for ratings derived from known perturbations,
            or "replies" for ratings by the judges in the data. For other tasks, "".
        source_chars: Maximum number of characters from sources in a judge's prompt, or 0 for no
            sources.
    """

    task: TunedTask
    base: str
    base_sha256: str = ""
    weights_sha256: str
    method: str
    recipe: str
    data: tuple[str, ...]
    data_sha256: str
    n_examples: int
    seed: int
    versions: dict[str, str]
    targets: Literal["", "made", "replies"] = ""
    source_chars: int = 0


def find_base_digest(base: str) -> str:
    """Return the SHA-256 of a base model if it is the embedded one, otherwise ""."""
    return SMOLLM2_GGUF_SHA256 if base == SMOLLM2 else ""


def find_adapter_folder(name: str) -> Path | None:
    """Return the folder of a shipped adapter or of a user's adapter, or None for a full model."""
    shipped = Path(str(files("ragassay.models.adapters"))) / name
    for folder in (shipped, Path(name)):
        if (folder / NOTE).is_file():
            return folder
    return None


@functools.lru_cache(maxsize=32)
def read_note(folder: Path) -> TunedNote:
    """Read the description of an adapter and check its weights, once per process.

    May raise `SettingsError`.
    """
    try:
        note = TunedNote.model_validate_json(read_small(folder / NOTE))
    except ValidationError as error:
        field, problem = find_first_problem(error)
        raise SettingsError(f"{folder / NOTE}: {field}: {problem}") from error
    if not (folder / WEIGHTS).is_file():
        raise SettingsError(f"{folder} has no {WEIGHTS}; train the adapter again")
    check_digest(folder / WEIGHTS, note.weights_sha256)
    return note


def find_tuned_note(model: str) -> TunedNote | None:
    """Return the description of a fine-tuned model by its LiteLLM name, or None for other models.

    If a server runs the model, the adapter must have the same name or folder on this machine.

    Raises:
        SettingsError: The adapter is invalid.
    """
    if not is_ragassay_model(model):
        return None
    folder = find_adapter_folder(model.partition(f"{PROVIDER}/")[2])
    return read_note(folder) if folder else None


def find_base_model(model: str) -> str:
    """Return the model to use for tasks for which a model was not fine-tuned.

    A fine-tuned model is replaced by its base model. Any other model is returned unchanged.
    """
    note = find_tuned_note(model)
    server, ours, _ = model.partition(f"{PROVIDER}/")
    return f"{server}{ours}{note.base}" if note else model


def use_base_model(settings: Settings) -> Settings:
    """Return the settings with the judge replaced by its base model (see `find_base_model`)."""
    return settings.model_copy(update={"model": find_base_model(settings.judge.model)})


def save_adapter(model: PeftModel, folder: Path, note: TunedNote) -> TunedNote:
    """Write an adapter as float16, with its description and the digest of the weights."""
    import json

    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: tensor.detach().to("cpu", torch.float16).contiguous()
        for name, tensor in sorted(get_peft_model_state_dict(model).items())
    }
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    config = model.peft_config["default"].to_dict()
    config |= {"base_model_name_or_path": HUB_NAMES.get(note.base, note.base)}
    fields = {key: _sort_set(value) for key, value in sorted(config.items()) if value is not None}
    (folder / SHAPE).write_text(json.dumps(fields | {"inference_mode": True}, indent=2) + "\n")
    written = note.model_copy(update={"weights_sha256": compute_sha256(folder / WEIGHTS)})
    (folder / NOTE).write_text(written.model_dump_json(indent=2) + "\n", encoding="utf-8")
    read_note.cache_clear()
    return written


HUB_NAMES = {SMOLLM2: "HuggingFaceTB/SmolLM2-135M-Instruct"}
"""Hugging Face ids of the embedded base models."""


def _sort_set(value: object) -> object:
    return sorted(value) if isinstance(value, set) else value


@dataclass(frozen=True)
class Merged:
    """Base model with a merged adapter, in float32.

    The attribute `changed` lists the modules that the adapter changes.
    """

    name: str
    base: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    changed: tuple[str, ...]


def merge(folder: Path, cache_dir: Path) -> Merged:
    """Merge an adapter into its base model.

    Raises `SettingsError` if a file is damaged or missing.
    """
    need(*EXTRAS["local"])
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = read_note(folder).base
    source = locate_model(base, cache_dir)
    with guard_loading(base):
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        base_model = AutoModelForCausalLM.from_pretrained(
            source, dtype=torch.float32, trust_remote_code=False
        ).eval()
        tuned = PeftModel.from_pretrained(base_model, str(folder))
        changed = tuple(sorted(tuned.targeted_module_names))
        merged: Any = tuned.merge_and_unload(safe_merge=True)
    return Merged(folder.name, base, merged, tokenizer, changed)


def check_new_path(path: Path) -> None:
    """Raise `InputError` if `path` exists."""
    if path.exists():
        raise InputError(f"{path} already exists; choose another path or remove it")


def write_hf(
    merged: Merged, folder: Path, dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
) -> None:
    """Write a Hugging Face model folder with weights, config, tokenizer and chat template.

    Args:
        merged: Model, converted to `dtype` in place.
        folder: Output folder, which appears only after all files have been written.

    Raises:
        InputError: The folder already exists.
    """
    import torch

    with _open_new_path(folder) as partial, silence_transformers():
        partial.mkdir()
        merged.model.to(getattr(torch, dtype)).save_pretrained(partial)  # type: ignore[arg-type]
        merged.tokenizer.save_pretrained(partial)


def write_gguf(merged: Merged, path: Path) -> None:
    """Write a GGUF file, which is the packaged file with the changed matrices replaced in float16.

    Metadata, tokenizer, chat template and unchanged tensors are copied from the packaged file.

    Args:
        merged: Model in float32.
        path: Output file, which appears only after it has been written completely.

    Raises:
        InputError: The file already exists.
        SettingsError: The base model is not the packaged one, so there is no GGUF file to modify.
    """
    if merged.base != SMOLLM2:
        raise SettingsError(
            f"--gguf requires the base model {SMOLLM2}, but this model's base is {merged.base}; "
            "use --hf and convert the resulting folder with llama.cpp's convert_hf_to_gguf.py"
        )
    import gguf
    from gguf.scripts.gguf_new_metadata import MetadataDetails, copy_with_new_metadata

    keys, kinds = gguf.Keys.General, gguf.GGUFValueType
    with _open_new_path(path) as partial:
        source = gguf.GGUFReader(find_packaged_file(SMOLLM2_PACKAGE, ".gguf"))
        _replace_changed(source, merged)
        name = f"{source.fields[keys.NAME].contents()}, with ragassay's adapter {merged.name}"
        metadata = {
            keys.NAME: MetadataDetails(kinds.STRING, name),
            keys.FILE_TYPE: MetadataDetails(kinds.UINT32, int(gguf.LlamaFileType.MOSTLY_F16)),
        }
        writer = gguf.GGUFWriter(
            partial, source.fields[keys.ARCHITECTURE].contents(), endianess=source.endianess
        )
        copy_with_new_metadata(source, writer, metadata, [])


def _replace_changed(source: Any, merged: Merged) -> None:
    import gguf

    config: Any = merged.model.config
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    indices = {tensor.name: index for index, tensor in enumerate(source.tensors)}
    for module in merged.changed:
        index = indices.get(f"{names.get_name(module)}.weight")
        if index is None:
            raise SettingsError(f"the adapter changes {module}, which has no tensor in GGUF")
        half = _convert_weight(merged.model, module)
        source.tensors[index] = source.tensors[index]._replace(
            data=half, n_bytes=half.nbytes, tensor_type=gguf.GGMLQuantizationType.F16
        )


def _convert_weight(model: PreTrainedModel, module: str) -> NDArray[np.float16]:
    """Return a module's weight in GGUF's row order, shape (n_out, n_in), as float16."""
    weight: Any = model.get_submodule(module).weight
    values = weight.detach().float().numpy()
    config: Any = model.config
    head_counts = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    n_heads = head_counts.get(module.rpartition(".")[2])
    return (rotate_rows(values, n_heads) if n_heads else values).astype("float16")


def rotate_rows(weight: NDArray[np.floating], n_heads: int) -> NDArray[np.floating]:
    """Reorder the rows of a query or key matrix for llama.cpp.

    For rotary positions, transformers pairs the first half of a head's rows with the second half.
    llama.cpp pairs neighbouring rows, so the halves are interleaved.

    Args:
        weight: Matrix of shape (n_heads * head_size, n_in).
    """
    halves = weight.reshape(n_heads, 2, -1, weight.shape[1])
    return halves.swapaxes(1, 2).reshape(weight.shape)


@contextmanager
def _open_new_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path, and rename it to `target` at the end."""
    check_new_path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=".merging-"))
    try:
        yield folder / target.name
        (folder / target.name).rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

"""Small fine-tuned models: adapters in folders, and merged into their bases for servers."""

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

from ragassay.errors import InputError, SettingsError, first_problem
from ragassay.extras import EXTRAS, need
from ragassay.files import read_small
from ragassay.model_names import PROVIDER, SMOLLM2, is_ours
from ragassay.models.weights import (
    SMOLLM2_GGUF_SHA256,
    SMOLLM2_PACKAGE,
    check_digest,
    loading,
    packaged_file,
    quiet_loading,
    sha256_of,
    source_of,
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
    """The description of an adapter and of its training.

    Attributes:
        base: The model below it: `SMOLLM2`, a Hugging Face id, or a folder.
        base_sha256: Digest of the embedded base model; empty for another.
        method: "sft" or "cpo".
        recipe: How it was trained, as JSON.
        data_sha256: Hash of the examples, prompts included.
        targets: Of a judge: "made" ratings and reasons by what was done to the answers, or the
            "replies" of the data's own judges; empty for other tasks.
        source_chars: Of a judge: budget of the sources that it reads; 0 for none.
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


def base_digest(base: str) -> str:
    """Return the SHA-256 of the embedded base model; "" for another."""
    return SMOLLM2_GGUF_SHA256 if base == SMOLLM2 else ""


def adapter_folder(name: str) -> Path | None:
    """Return the folder of a local model's adapter; None where the name is a whole model's.

    Args:
        name: A model's name without the provider: that of a shipped adapter, or a folder.
    """
    shipped = Path(str(files("ragassay.models.adapters"))) / name
    for folder in (shipped, Path(name)):
        if (folder / NOTE).is_file():
            return folder
    return None


@functools.lru_cache(maxsize=32)
def read_note(folder: Path) -> TunedNote:
    """Read the note of an adapter; its weights are checked once a process.

    Raises:
        SettingsError: The note cannot be read, or the weights differ.
    """
    try:
        note = TunedNote.model_validate_json(read_small(folder / NOTE))
    except ValidationError as error:
        where, problem = first_problem(error)
        raise SettingsError(f"{folder / NOTE}: {where}: {problem}") from error
    if not (folder / WEIGHTS).is_file():
        raise SettingsError(f"{folder} has no {WEIGHTS}: train it again")
    check_digest(folder / WEIGHTS, note.weights_sha256)
    return note


def metadata_of(model: str) -> TunedNote | None:
    """Return the note of a model by its LiteLLM name; None where we did not fine-tune it.

    For a served model, the note of the same name here: of a shipped adapter, or of the same folder.

    Raises:
        SettingsError: The adapter cannot be used.
    """
    if not is_ours(model):
        return None
    folder = adapter_folder(model.partition(f"{PROVIDER}/")[2])
    return read_note(folder) if folder else None


def base_of(model: str) -> str:
    """Return the LiteLLM name of the model for all tasks that a model was not fine-tuned for.

    That is the base of a fine-tuned one, and any other model itself.
    """
    note = metadata_of(model)
    server, ours, _ = model.partition(f"{PROVIDER}/")
    return f"{server}{ours}{note.base}" if note else model


def with_base_model(settings: Settings) -> Settings:
    """Return the settings with the model for all tasks that theirs was not fine-tuned for."""
    return settings.model_copy(update={"model": base_of(settings.judge.model)})


def save_adapter(model: PeftModel, folder: Path, note: TunedNote) -> TunedNote:
    """Write an adapter in half precision, and its note with the digest of the weights.

    Args:
        folder: Created if missing; its content is replaced.
        note: The note, without a digest of the weights.
    """
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
    kept = {key: _plain(value) for key, value in sorted(config.items()) if value is not None}
    (folder / SHAPE).write_text(json.dumps(kept | {"inference_mode": True}, indent=2) + "\n")
    written = note.model_copy(update={"weights_sha256": sha256_of(folder / WEIGHTS)})
    (folder / NOTE).write_text(written.model_dump_json(indent=2) + "\n", encoding="utf-8")
    read_note.cache_clear()
    return written


HUB_NAMES = {SMOLLM2: "HuggingFaceTB/SmolLM2-135M-Instruct"}
"""Other libraries' names of the embedded base models."""


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, set) else value


@dataclass(frozen=True)
class Merged:
    """A base model with an adapter added to its weights, in float32.

    Attributes:
        changed: Modules whose weights the adapter changed, as `model.layers.0.mlp.up_proj`.
    """

    name: str
    base: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    changed: tuple[str, ...]


def merge(folder: Path, cache_dir: Path) -> Merged:
    """Add an adapter to its base.

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
    head_counts = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    n_heads = head_counts.get(module.rpartition(".")[2])
    return (rotate_rows(values, n_heads) if n_heads else values).astype("float16")


def rotate_rows(weight: NDArray[np.floating], n_heads: int) -> NDArray[np.floating]:
    """Put a query or key matrix into llama.cpp's order of rows.

    For rotary positions, transformers pairs the first half of a head's rows with the second;
    llama.cpp pairs neighbours, so it stores row i of the first half next to row i of the second.

    Args:
        weight: shape (n_heads * head_size, n_in).

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

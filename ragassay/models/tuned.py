"""Manage small fine-tuned models: adapters in folders, shipped or the user's.

A folder has PEFT's format (`adapter_config.json`, `adapter_model.safetensors`), so that any library
that reads PEFT can read it, and a note, `ragassay.json`, that describes it.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from ragassay.errors import SettingsError, first_problem
from ragassay.model_names import PROVIDER, SMOLLM2, is_ours
from ragassay.models.weights import SMOLLM2_GGUF_SHA256, check_digest, sha256_of
from ragassay.records.base import Frozen
from ragassay.small_files import read_small

if TYPE_CHECKING:
    from peft import PeftModel

    from ragassay.settings import Settings

NOTE, SHAPE, WEIGHTS = "ragassay.json", "adapter_config.json", "adapter_model.safetensors"

TunedTask = Literal["judge", "verifier", "labeller", "qa"]


class TunedNote(Frozen):
    """The description of an adapter and of its training.

    Attributes:
        task: The task it was fine-tuned for.
        base: The model below it: `SMOLLM2`, a Hugging Face id, or a folder.
        base_sha256: Digest of the embedded base model; empty for another.
        weights_sha256: Digest of the adapter.
        method: "sft" or "cpo".
        recipe: How it was trained, as JSON.
        data: Names of the training files.
        data_sha256: Hash of the examples, prompts included.
        n_examples: The number of examples.
        seed: Seed of all draws.
        versions: Versions of the libraries that trained it.
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


def note_of(model: str) -> TunedNote | None:
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
    note = note_of(model)
    server, ours, _ = model.partition(f"{PROVIDER}/")
    return f"{server}{ours}{note.base}" if note else model


def untuned(settings: Settings) -> Settings:
    """Return the settings with the model for all tasks that theirs was not fine-tuned for."""
    return settings.model_copy(update={"model": base_of(settings.judge.model)})


def save_adapter(model: PeftModel, folder: Path, note: TunedNote) -> TunedNote:
    """Write an adapter in half precision, and its note with the digest of the weights.

    Args:
        model: The trained model.
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
    """Return a setting as JSON has it."""
    return sorted(value) if isinstance(value, set) else value

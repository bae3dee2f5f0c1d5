"""Train, calibrate and save a low-rank adapter that turns a base model into a cross-encoder."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ragassay.errors import InputError, SettingsError
from ragassay.models.adapters import VERDICTS, Shape, Training, read_shape
from ragassay.models.cross_encoder import (
    N_LABELS,
    PairEncoder,
    Row,
    StandardisedHead,
    load_head,
    pad_rows,
    read_as,
    read_tensors,
    save_adapter,
)
from ragassay.models.entailment import CONTRADICTS, load_pair_encoder
from ragassay.optimizers.finetuning.claims import NOT_CONTRADICTED, Example
from ragassay.optimizers.finetuning.tunings import (
    EncoderJob,
    Tuning,
    build_trainer_options,
    reserve_folder,
)
from ragassay.records import Bound
from ragassay.settings import load_settings

if TYPE_CHECKING:
    from transformers import Trainer


LIBRARIES = ("torch", "transformers", "peft")
"""Libraries whose versions are stored with a trained adapter."""

SCALE = 2.0
"""Scaling factor of the low-rank update (alpha / rank)."""

N_MEASURED = 240
"""Number of examples from which the mean and the spread of the features are computed before
training."""


class _Learner(nn.Module):
    def __init__(self, encoder: PairEncoder, smoothing: float) -> None:
        super().__init__()
        self.encoder, self._smoothing = encoder, smoothing

    def forward(self, labels: Tensor, **tokens: Tensor) -> dict[str, Tensor]:
        return {"loss": compute_partial_loss(self.encoder(tokens), labels[:, 0], self._smoothing)}


def compute_partial_loss(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """Return the mean cross-entropy. The label `NOT_CONTRADICTED` allows two of the three classes.

    For `NOT_CONTRADICTED`, the probabilities of the two allowed classes are summed.

    Args:
        logits: Shape (n, n_labels), with three labels for a verifier.
        labels: Shape (n,).
        smoothing: Weight of the uniform distribution (label smoothing).
    """
    shares = logits.float().log_softmax(-1)
    n_labels = logits.shape[-1]
    allowed = torch.arange(n_labels, device=labels.device) == labels[:, None]
    if n_labels == N_LABELS:  # With more labels, NOT_CONTRADICTED would be a regular label.
        is_open = torch.arange(N_LABELS, device=labels.device) != CONTRADICTS
        allowed |= is_open & (labels == NOT_CONTRADICTED)[:, None]
    right = shares.masked_fill(~allowed, -torch.inf).logsumexp(-1)
    return -((1 - smoothing) * right + smoothing * shares.mean(-1)).mean()


def train(
    encoder: PairEncoder,
    examples: Sequence[Example],
    tuning: Tuning,
    work: Path,
    epochs: float,
    *,
    seed: int,
    steps: int = 0,
    start: Path | None = None,
) -> dict[str, Tensor]:
    """Train an adapter, starting from the last checkpoint in `work` if there is one.

    Args:
        encoder: Encoder to train in place.
        work: Checkpoint folder, which can contain only checkpoints for the same data and tuning.
        steps: Maximum number of steps of `tuning.batch` examples (0 for no limit).
        start: Folder of an adapter to start from, if any. The adapter must have the same base model
            and rank.

    Returns:
        Tensors for `save_adapter`.

    Raises:
        InputError: The checkpoints were made for other data or another tuning, or the adapter in
            `start` has another base model or rank.
    """
    from transformers import set_seed
    from transformers.trainer_utils import get_last_checkpoint

    tensors = _read_start(start, encoder, tuning) if start else {}
    length = {"epochs": epochs, "seed": seed, "steps": steps, "start": _read_digest(start)}
    base = {"base": encoder.base_name, "base_sha256": encoder.base_sha256}
    reserve_folder(
        work,
        {"data_sha256": hash_examples(examples), **base, **dataclasses.asdict(tuning), **length},
    )
    if tensors:
        load_head(encoder, tensors)
    else:
        _standardise(encoder, examples, tuning, seed)
    set_seed(seed)
    _add_adapter(encoder, tuning, tensors)
    options = build_trainer_options(work, epochs=epochs, steps=steps, seed=seed)
    trainer = _build_trainer(encoder, examples, tuning, options)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(work)))
    encoder.eval()
    head = {f"head.{name}": tensor for name, tensor in encoder.head.state_dict().items()}
    return _collect_factors(encoder.base) | head


def _add_adapter(encoder: PairEncoder, tuning: Tuning, tensors: Mapping[str, Tensor]) -> None:
    """Add low-rank factors to an encoder, with the values in `tensors` where these have any."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=tuning.rank,
        lora_alpha=int(SCALE * tuning.rank),
        lora_dropout=0.05,
        target_modules=_list_targets(encoder.base, tuning.untouched),
    )
    encoder.base = get_peft_model(encoder.base, config)  # pyright: ignore[reportArgumentType]
    for name, tensor in _collect_factors(encoder.base).items():
        if name in tensors:
            tensor.copy_(tensors[name])


def create_encoder(job: EncoderJob, n_labels: int) -> PairEncoder:
    """Return the base model of a job with a new classification head.

    Raises:
        SettingsError: The base model is unavailable.
    """
    torch.manual_seed(job.seed)  # For the initialization of the head.
    return load_pair_encoder(job.base, load_settings().literature.cache_dir, n_labels)


def train_encoder(
    job: EncoderJob,
    encoder: PairEncoder,
    examples: Sequence[Example],
    *,
    start: Path | None = None,
    name: str = "",
) -> dict[str, Tensor]:
    """Train the encoder of a job with `train`, and store checkpoints in the subfolder `name`."""
    work = (job.work or job.out / "checkpoints") / name
    seed, steps = job.seed, job.steps
    return train(
        encoder, examples, job.tuning, work, job.epochs, seed=seed, steps=steps, start=start
    )


def describe_training(
    job: EncoderJob,
    examples: Sequence[Any],
    data_sha256: str = "",
    *,
    start: Path | None = None,
    dev: Path | None = None,
) -> Training:
    """Return metadata of a training job. `data_sha256` defaults to a hash of the examples."""
    return Training(
        data=tuple(path.name for path in job.data),
        data_sha256=data_sha256 or hash_examples(examples),
        n_examples=len(examples),
        start=_read_digest(start),
        dev=dev.name if dev else "",
        epochs=job.steps * job.tuning.batch / len(examples) if job.steps else job.epochs,
        seed=job.seed,
        versions={name: importlib.metadata.version(name) for name in LIBRARIES},
    )


def hash_examples(examples: Sequence[Example]) -> str:
    """Return the SHA-256 of training examples."""
    rows = [dataclasses.astuple(example) for example in examples]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _standardise(
    encoder: PairEncoder, examples: Sequence[Example], tuning: Tuning, seed: int
) -> None:
    if not isinstance(encoder.head, StandardisedHead):
        return
    chosen = random.Random(seed).sample(examples, min(N_MEASURED, len(examples)))
    rows = [_build_row(encoder.eval(), one, tuning) for one in chosen]
    with torch.inference_mode():
        features = torch.cat([encoder.pool(encoder.build_batch([row])) for row in rows])
    encoder.head.standardise(features)


def _list_targets(base: nn.Module, untouched: float) -> list[str]:
    """Return the names of all linear modules in the upper layers.

    Raises:
        SettingsError: The base model has no linear layers.
    """
    config: Any = base.config
    first = round(untouched * config.num_hidden_layers)
    found = [
        name
        for name, module in base.named_modules()
        if isinstance(module, nn.Linear)
        and (layer := re.search(r"\.(\d+)\.", name))
        and int(layer[1]) >= first
    ]
    if not found:
        raise SettingsError(
            "a head cannot be trained on this base model because it has no linear layers"
        )
    return found


def _build_trainer(
    encoder: PairEncoder, examples: Sequence[Example], tuning: Tuning, options: Mapping[str, Any]
) -> Trainer:
    from transformers import Trainer, TrainingArguments

    has_gpu = torch.cuda.is_available()
    arguments = TrainingArguments(
        **options,
        per_device_train_batch_size=tuning.batch,
        bf16=has_gpu,
        lr_scheduler_type=tuning.schedule,
        warmup_steps=0.06,
        train_sampling_strategy="group_by_length",
        logging_steps=20,
        save_steps=500 if has_gpu else 50,
    )
    rows: Any = [
        {**_build_row(encoder, example, tuning), "labels": [example.label]} for example in examples
    ]
    factors = [p for p in encoder.base.parameters() if p.requires_grad]
    head = {"params": list(encoder.head.parameters()), "lr": tuning.head_rate}
    optimizer = torch.optim.AdamW(
        [{"params": factors}, head], lr=tuning.learning_rate, weight_decay=0.01
    )
    return Trainer(
        model=_Learner(encoder, tuning.smoothing),
        args=arguments,
        train_dataset=rows,
        data_collator=pad_rows,
        optimizers=(optimizer, None),
    )


def _build_row(encoder: PairEncoder, example: Example, tuning: Tuning) -> Row:
    pair = read_as(tuning.reads, example.claim, example.passage)
    return encoder.encode_pair(*pair, tuning.n_tokens)


def _read_digest(start: Path | None) -> str:
    return read_shape(start).weights_sha256 if start else ""


def _read_start(start: Path, encoder: PairEncoder, tuning: Tuning) -> dict[str, Tensor]:
    tensors, shape = read_tensors(start), read_shape(start)
    expected = (encoder.base_name, encoder.base_sha256)
    if (shape.base or encoder.base_name, shape.base_sha256) != expected:
        raise InputError(f"{start} is an adapter for another base model; set --base to that model")
    ranks = {tensor.shape[0] for name, tensor in tensors.items() if name.endswith(".a")}
    if ranks != {tuning.rank}:
        raise InputError(f"{start} has rank {min(ranks)}; set --rank to the same value")
    return tensors


def _collect_factors(base: nn.Module) -> dict[str, Tensor]:
    """Return the low-rank factors, keyed by the name of the matrix with ".a" or ".b"."""
    return {
        name.split(f".{factor}.")[0].removeprefix("base_model.model.") + letter: tensor
        for name, tensor in base.state_dict().items()
        for factor, letter in (("lora_A", ".a"), ("lora_B", ".b"))
        if f".{factor}." in name
    }


def predict_logits(encoder: PairEncoder, examples: Sequence[Example], tuning: Tuning) -> Tensor:
    """Return logits, shape (n_examples, n_labels). Examples are computed one by one."""
    with torch.inference_mode():
        batches = [
            encoder.build_batch([_build_row(encoder, example, tuning)]) for example in examples
        ]
        return torch.cat([encoder(batch).cpu() for batch in batches])


def write_trained(
    out: Path,
    encoder: PairEncoder,
    tensors: Mapping[str, Tensor],
    tuning: Tuning,
    held: Sequence[Example],
    training: Training | None = None,
    *,
    labels: Sequence[str] = VERDICTS,
    bounds: Sequence[Bound] = (),
) -> Shape:
    """Calibrate and save a trained adapter.

    Args:
        held: Held-out examples for calibration. Without examples, the adapter is not calibrated.
    """
    temperature = 1.0
    if held:
        logits = predict_logits(encoder, held, tuning)
        temperature = fit_temperature(logits, torch.tensor([e.label for e in held]))
    return save_adapter(
        out,
        tensors,
        base=encoder.base_name,
        base_sha256=encoder.base_sha256,
        scale=SCALE,
        n_tokens=tuning.n_tokens,
        temperature=temperature,
        reads=tuning.reads,
        training=training,
        labels=labels,
        bounds=bounds,
    )


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """Return the temperature with the lowest negative log-likelihood (Guo et al. 2017, 4.2).

    Args:
        logits: Shape (n, n_labels).
        labels: Shape (n,).
    """
    from scipy.optimize import minimize_scalar

    found: Any = minimize_scalar(
        lambda t: float(cross_entropy(logits / t, labels)), bounds=(0.25, 8.0), method="bounded"
    )
    return float(found.x)

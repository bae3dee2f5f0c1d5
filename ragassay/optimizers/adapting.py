"""Train a low-rank adapter that makes a base model a cross-encoder with three labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ragassay.models.cross_encoder import PairEncoder, padded

if TYPE_CHECKING:
    from transformers import Trainer, TrainingArguments

SEED = 20250714
SCALE = 2.0
"""What the product of the two factors is multiplied with."""

BATCH = 16


@dataclasses.dataclass(frozen=True)
class Tuning:
    """How an adapter is trained on a base model.

    Attributes:
        targets: Names of the matrices that are changed, in a layer.
        layers: The layers that are changed; below them nothing is, which saves time.
        layers_pattern: What the base model calls its layers.
        rank: Of the two factors of each changed matrix.
        n_tokens: Longest input.
        learning_rate: Of the factors, at its highest.
        head_rate: Of the head.
        schedule: How the rates fall.
        smoothing: Of the labels, which are noisy.
        excluded: Matrices that are not changed though `targets` names them.
    """

    targets: tuple[str, ...]
    layers: range
    layers_pattern: str
    rank: int
    n_tokens: int
    learning_rate: float
    head_rate: float
    schedule: Literal["linear", "cosine"]
    smoothing: float
    excluded: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Example:
    """A claim, a passage, and `SUPPORTS`, `CONTRADICTS` or `NEUTRAL`."""

    claim: str
    passage: str
    label: int


class _Learner(nn.Module):
    """An encoder with its loss, as the trainer wants it."""

    def __init__(self, encoder: PairEncoder, smoothing: float) -> None:
        super().__init__()
        self.encoder, self._smoothing = encoder, smoothing

    def forward(self, labels: Tensor, **tokens: Tensor) -> dict[str, Tensor]:
        logits = self.encoder(tokens)
        loss = cross_entropy(logits, labels, label_smoothing=self._smoothing)
        return {"loss": loss, "logits": logits}


def train(
    encoder: PairEncoder, examples: Sequence[Example], tuning: Tuning, work: Path, epochs: float
) -> dict[str, Tensor]:
    """Train an adapter, with progress; goes on from the last checkpoint in `work`.

    Args:
        encoder: Is changed, and is in the end the trained one, on the processor.
        examples: What to learn.
        tuning: How.
        work: Holds checkpoints.
        epochs: How often each example is seen.

    Returns:
        The tensors that `save_adapter` takes.
    """
    from transformers import set_seed
    from transformers.trainer_utils import get_last_checkpoint

    set_seed(SEED)
    encoder.base = _adapted(encoder.base, tuning)
    trainer = _trainer(encoder, examples, tuning, _arguments(tuning, work, epochs))
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(work)))
    encoder.cpu().eval()
    return adapter_tensors(encoder)


def _adapted(base: nn.Module, tuning: Tuning) -> nn.Module:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=tuning.rank,
        lora_alpha=int(SCALE * tuning.rank),
        lora_dropout=0.05,
        target_modules=list(tuning.targets),
        exclude_modules=list(tuning.excluded) or None,
        layers_to_transform=list(tuning.layers),
        layers_pattern=tuning.layers_pattern,
    )
    return get_peft_model(base, config)  # pyright: ignore[reportArgumentType]


def _arguments(tuning: Tuning, work: Path, epochs: float) -> TrainingArguments:
    from transformers import TrainingArguments

    return TrainingArguments(
        output_dir=str(work),
        num_train_epochs=epochs,
        per_device_train_batch_size=BATCH,
        learning_rate=tuning.learning_rate,
        lr_scheduler_type=tuning.schedule,
        weight_decay=0.01,
        warmup_steps=0.06,
        max_grad_norm=1.0,
        seed=SEED,
        train_sampling_strategy="group_by_length",
        logging_steps=20,
        save_steps=50,
        save_total_limit=1,
        report_to="none",
        remove_unused_columns=False,
        dataloader_pin_memory=False,
    )


def _trainer(
    encoder: PairEncoder,
    examples: Sequence[Example],
    tuning: Tuning,
    arguments: TrainingArguments,
) -> Trainer:
    from transformers import Trainer

    def collate(rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        inputs = [{name: ids for name, ids in row.items() if name != "labels"} for row in rows]
        return padded(inputs) | {"labels": torch.tensor([row["labels"] for row in rows])}

    rows: Any = [
        {**encoder.row(example.claim, example.passage, tuning.n_tokens), "labels": example.label}
        for example in examples
    ]
    factors = [p for p in encoder.base.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        [
            {"params": factors, "lr": tuning.learning_rate},
            {"params": list(encoder.head.parameters()), "lr": tuning.head_rate},
        ],
        weight_decay=arguments.weight_decay,
    )
    return Trainer(
        model=_Learner(encoder, tuning.smoothing),
        args=arguments,
        train_dataset=rows,
        data_collator=collate,
        optimizers=(optimizer, None),
    )


def adapter_tensors(encoder: PairEncoder) -> dict[str, Tensor]:
    """The two factors of each adapted matrix, named after it, and the head."""
    found: dict[str, Tensor] = {}
    for name, tensor in encoder.base.state_dict().items():
        for factor, letter in (("lora_A", "a"), ("lora_B", "b")):
            if f".{factor}." in name:
                matrix = name.split(f".{factor}.")[0].removeprefix("base_model.model.")
                found[f"{matrix}.{letter}"] = tensor
    return found | {f"head.{name}": tensor for name, tensor in encoder.head.state_dict().items()}


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """What the logits are to be divided by for the least negative log-likelihood.

    Guo et al. 2017, section 4.2.

    Args:
        logits: shape (n, n_labels).
        labels: shape (n,).
    """
    from scipy.optimize import minimize_scalar

    found: Any = minimize_scalar(
        lambda t: float(cross_entropy(logits / t, labels)), bounds=(0.25, 8.0), method="bounded"
    )
    return float(found.x)

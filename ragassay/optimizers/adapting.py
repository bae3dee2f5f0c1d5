"""Train a low-rank adapter that makes all-MiniLM-L6-v2 a cross-encoder with three labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ragassay.models.cross_encoder import Encoder, load_base

if TYPE_CHECKING:
    from transformers import Trainer, TrainingArguments

SEED = 20250714
N_TOKENS = 176
RANK = 32
LAYERS = (2, 3, 4, 5)
"""The upper layers of six: below them nothing is changed, which saves a third of the time."""

SCALE = 2.0
LEARNING_RATE = 4e-4
BATCH = 16
SMOOTHING = 0.05
"""Of the labels, which are noisy."""


@dataclasses.dataclass(frozen=True)
class Example:
    """A claim, a passage, and `SUPPORTS`, `CONTRADICTS` or `NEUTRAL`."""

    claim: str
    passage: str
    label: int


class _Learner(nn.Module):
    """An encoder with its loss, as the trainer wants it."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, labels: Tensor, **tokens: Tensor) -> dict[str, Tensor]:
        logits = self.encoder(tokens)
        loss = cross_entropy(logits, labels, label_smoothing=SMOOTHING)
        return {"loss": loss, "logits": logits}


def train(
    examples: Sequence[Example], work: Path, epochs: float
) -> tuple[Encoder, dict[str, Tensor]]:
    """Train an adapter, with progress; goes on from the last checkpoint in `work`.

    Args:
        examples: What to learn.
        work: Holds checkpoints.
        epochs: How often each example is seen.

    Returns:
        The trained encoder, and the tensors that `save_adapter` takes.
    """
    from transformers import set_seed
    from transformers.trainer_utils import get_last_checkpoint

    set_seed(SEED)
    base, tokenizer = load_base()
    encoder = Encoder(_adapted(base))
    trainer = _trainer(_Learner(encoder), tokenizer, examples, _arguments(work, epochs))
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(work)))
    return encoder.cpu().eval(), adapter_tensors(encoder)


def _adapted(base: nn.Module) -> nn.Module:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=RANK,
        lora_alpha=int(SCALE * RANK),
        lora_dropout=0.05,
        target_modules=["query", "key", "value", "dense"],
        exclude_modules=["pooler.dense"],
        layers_to_transform=list(LAYERS),
        layers_pattern="layer",
    )
    return get_peft_model(base, config)  # pyright: ignore[reportArgumentType]


def _arguments(work: Path, epochs: float) -> TrainingArguments:
    from transformers import TrainingArguments

    return TrainingArguments(
        output_dir=str(work),
        num_train_epochs=epochs,
        per_device_train_batch_size=BATCH,
        learning_rate=LEARNING_RATE,
        weight_decay=0.01,
        warmup_steps=0.06,
        max_grad_norm=1.0,
        seed=SEED,
        train_sampling_strategy="group_by_length",
        logging_steps=50,
        save_steps=100,
        save_total_limit=1,
        report_to="none",
        remove_unused_columns=False,
        dataloader_pin_memory=False,
    )


def _trainer(
    learner: _Learner, tokenizer: Any, examples: Sequence[Example], arguments: TrainingArguments
) -> Trainer:
    from transformers import Trainer

    def tokens(example: Example) -> dict[str, Any]:
        pair = example.claim, example.passage
        return dict(tokenizer(*pair, truncation="longest_first", max_length=N_TOKENS))

    def collate(rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        inputs = [{name: ids for name, ids in row.items() if name != "labels"} for row in rows]
        padded = dict(tokenizer.pad(inputs, return_tensors="pt"))
        return padded | {"labels": torch.tensor([row["labels"] for row in rows])}

    rows: Any = [{**tokens(example), "labels": example.label} for example in examples]
    return Trainer(model=learner, args=arguments, train_dataset=rows, data_collator=collate)


def adapter_tensors(encoder: Encoder) -> dict[str, Tensor]:
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

"""Training settings, checkpoint folders, results and model cards of fine-tuned adapters."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ragassay.errors import InputError
from ragassay.metrics.stats.agreement import Agreement
from ragassay.model_names import MINILM, SMOLLM2
from ragassay.models.adapters import Form, Training
from ragassay.records import CardFigure, ModelCard, Score

NOTE = "training.json"
SCORE_FIELDS = {"value", "low", "high", "n"}


def reserve_folder(work: Path, training: Mapping[str, object]) -> None:
    """Store the training options in a checkpoint folder, or compare them with those stored there.

    Args:
        training: Hash of the data, and training options. Values that JSON cannot represent are
            stored as their `repr`.

    Raises:
        InputError: The folder contains checkpoints of another training job.
    """
    work.mkdir(parents=True, exist_ok=True)
    note, text = work / NOTE, json.dumps(training, indent=2, default=repr)
    if note.exists() and note.read_text("utf-8") != text:
        raise InputError(
            f"{work} contains checkpoints for other data or training options; choose another "
            "--work folder, or delete it"
        )
    note.write_text(text, "utf-8")


@dataclass(frozen=True)
class Tuning:
    """Training settings for an adapter on a base model.

    Attributes:
        untouched: Share of the layers, counted from the bottom, that are not trained.
        n_tokens: Maximum number of input tokens.
    """

    untouched: float
    rank: int
    n_tokens: int
    learning_rate: float
    head_rate: float
    schedule: Literal["linear", "cosine"]
    smoothing: float
    batch: int = 16
    reads: Form = "whole"


TUNINGS: Mapping[str, Tuning] = {
    MINILM: Tuning(
        untouched=0.0,
        rank=64,
        n_tokens=512,
        learning_rate=6e-4,
        head_rate=6e-4,
        schedule="cosine",
        smoothing=0.05,
    ),
    SMOLLM2: Tuning(
        untouched=0.4,
        rank=16,
        n_tokens=512,
        learning_rate=2e-4,
        head_rate=1e-3,
        schedule="cosine",
        smoothing=0.0,
    ),
}
"""Training settings, keyed by base model. All base models that are not listed use SmolLM2's
settings."""


@dataclass(frozen=True, kw_only=True)
class EncoderJob:
    """Job for training a base model with a classification head.

    Attributes:
        learning_rate: Learning rate of the adapter, or None for the base model's default.
        rank: Rank of the adapter, or None for the base model's default.
        limit: Maximum number of examples (0 for all).
        steps: Maximum number of steps (0 for no limit).
        work: Checkpoint folder, or None for `out/checkpoints`.
    """

    data: tuple[Path, ...]
    out: Path
    base: str = SMOLLM2
    epochs: float = 3.0
    learning_rate: float | None = None
    rank: int | None = None
    seed: int = 0
    limit: int = 0
    steps: int = 0
    work: Path | None = None

    @property
    def tuning(self) -> Tuning:
        """The base model's training settings, with the values that the job sets."""
        own = TUNINGS.get(self.base, TUNINGS[SMOLLM2])
        rate = own.learning_rate if self.learning_rate is None else self.learning_rate
        return replace(own, learning_rate=rate, rank=self.rank or own.rank)

    @property
    def options(self) -> dict[str, object]:
        """Command-line options that all training jobs have in common, keyed by name."""
        return {
            "base": self.base,
            "epochs": self.epochs,
            "learning-rate": self.learning_rate,
            "rank": self.rank,
        }


@dataclass(frozen=True)
class Finetuned:
    """Result of a training job.

    Attributes:
        n_rejected: Number of rejected lines in the training data.
        measured: Agreement with the labels of held-out examples, if there are any.
    """

    weights_sha256: str
    n_bytes: int
    n_examples: int
    n_rejected: int
    measured: Agreement | None = None


def format_command(task: str, data: Sequence[Path], chosen_options: Mapping[str, object]) -> str:
    """Return the shell command that runs a job.

    Example:
        >>> format_command("verifier", [Path("my claims.jsonl")], {"rank": 8, "dev": None})
        "ragassay finetune verifier --data 'my claims.jsonl' --rank 8"
    """
    options = [("data", path) for path in data]
    options += [(name, value) for name, value in chosen_options.items() if value is not None]
    words = [word for name, value in options for word in (f"--{name}", str(value))]
    return shlex.join(["ragassay", "finetune", task, *words])


TASK = "claims and passages, three labels"
FITTED = (
    "Its probabilities were calibrated on the claims on which it was measured. Calibration does "
    "not change its labels."
)
NOT_MEASURED = "It was not measured on held-out claims."


def build_head_card(
    model: str,
    base: str,
    digest: str,
    training: Training,
    measured: Agreement | None,
    command: str,
) -> ModelCard:
    """Return the model card of a fine-tuned verifier."""
    begun = f", starting from the adapter {training.start[:12]}" if training.start else ""
    epochs = "1 epoch" if training.epochs == 1 else f"{training.epochs:.3g} epochs"
    rows: list[tuple[str, str, Score]] = []
    if measured is not None:
        f1 = measured.averages["macro"].f1
        rows = [(training.dev, "accuracy", measured.accuracy), (training.dev, "macro-F1", f1)]
    return ModelCard(
        model=model,
        description=(
            f"A low-rank adapter that turns {base} into a cross-encoder. It reads a passage and a "
            "claim, and a linear head decides whether the passage supports the claim. It generates "
            f"no text. Trained on {training.n_examples:,} examples from "
            f"{', '.join(training.data)} (SHA-256 {training.data_sha256}) for {epochs}, "
            f"seed {training.seed}{begun}."
        ),
        digest=digest,
        limits=(NOT_MEASURED if measured is None else FITTED,),
        figures=build_card_figures(TASK, rows, command),
    )


def build_card_figures(
    task: str, rows: Iterable[tuple[str, str, Score]], command: str
) -> tuple[CardFigure, ...]:
    """Return the figures of a model card from rows of data name, metric and score."""
    fields = {"task": task, "command": command}
    return tuple(
        CardFigure(data=data, metric=metric, **fields, **score.model_dump(include=SCORE_FIELDS))
        for data, metric, score in rows
        if score.value is not None
    )

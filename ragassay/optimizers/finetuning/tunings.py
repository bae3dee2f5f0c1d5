"""Settings, checkpoints, result and card of a fine-tuned adapter."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ragassay.errors import InputError
from ragassay.metrics.stats.agreement import Agreement
from ragassay.model_names import MINILM, SMOLLM2
from ragassay.models.adapters import Form, Training
from ragassay.records import CardFigure, ModelCard

NOTE = "training.json"


def claim_folder(work: Path, training: Mapping[str, object]) -> None:
    """Record in a folder what is trained there, so that no other job resumes its checkpoints.

    Args:
        work: The folder; created if missing.
        training: The data's hash and the recipe, stored as JSON; other types as their `repr`.

    Raises:
        InputError: The folder contains checkpoints of another training.
    """
    work.mkdir(parents=True, exist_ok=True)
    note, mine = work / NOTE, json.dumps(training, indent=2, default=repr)
    if note.exists() and note.read_text("utf-8") != mine:
        raise InputError(
            f"{work} holds checkpoints of other data or of another recipe: name another --work, "
            "or delete it"
        )
    note.write_text(mine, "utf-8")


@dataclass(frozen=True)
class Tuning:
    """Training settings of an adapter on a base model.

    Attributes:
        untouched: Share of the layers, from the lowest, that stays unchanged, which saves time.
        rank: Rank of the two factors of each changed matrix.
        n_tokens: Longest input.
        learning_rate: Highest learning rate of the factors.
        smoothing: Smoothing of the labels, which are noisy.
        batch: Examples a step.
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
"""Training settings of each packaged base model; one from the hub gets those of SmolLM2."""


@dataclass(frozen=True, kw_only=True)
class EncoderJob:
    """A training job of a base model with a head.

    Attributes:
        base: A packaged model, one from the hub, or a folder.
        learning_rate: Learning rate of the low-rank factors; None for the base's default.
        rank: Rank of the low-rank factors; None for the base's default.
        limit: Most examples; 0 for all.
        steps: Most steps; 0 for all epochs.
        work: Folder of checkpoints; None for `out/checkpoints`.
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
        """The base's settings, with those of the job."""
        own = TUNINGS.get(self.base, TUNINGS[SMOLLM2])
        rate = own.learning_rate if self.learning_rate is None else self.learning_rate
        return replace(own, learning_rate=rate, rank=self.rank or own.rank)

    @property
    def options(self) -> dict[str, object]:
        """The options of the command that all training has, by name."""
        chosen_options = {
            "base": self.base,
            "epochs": self.epochs,
            "learning-rate": self.learning_rate,
        }
        return {**chosen_options, "rank": self.rank}


@dataclass(frozen=True)
class Finetuned:
    """A written adapter.

    Attributes:
        n_rejected: Lines of the data that could not be read.
        measured: Its agreement with the labels of held-out claims; None without any.
    """

    weights_sha256: str
    n_bytes: int
    n_examples: int
    n_rejected: int
    measured: Agreement | None = None


def command_text(task: str, data: Sequence[Path], chosen_options: Mapping[str, object]) -> str:
    """Return the shell command of a job.

    Args:
        data: The user's files.
        chosen_options: Its options by name; those that are None are left out.

    Example:
        >>> command_text("verifier", [Path("my claims.jsonl")], {"rank": 8, "dev": None})
        "ragassay finetune verifier --data 'my claims.jsonl' --rank 8"
    """
    options = [("data", path) for path in data]
    options += [(name, value) for name, value in chosen_options.items() if value is not None]
    words = [word for name, value in options for word in (f"--{name}", str(value))]
    return shlex.join(["ragassay", "finetune", task, *words])


TASK = "claims and passages, three labels"
FITTED = (
    "Its probabilities were fitted to the claims that it was measured on, which changes no label."
)
NOT_MEASURED = "It was not measured on claims that it did not learn from."


def head_card(
    model: str,
    base: str,
    digest: str,
    training: Training,
    measured: Agreement | None,
    command: str,
) -> ModelCard:
    """Return the card that a report and `ragassay models show` print for a user's verifier."""
    begun = f", begun with the adapter {training.start[:12]}" if training.start else ""
    return ModelCard(
        model=model,
        description=(
            f"A low-rank adapter that makes {base} a cross-encoder: it reads a passage and a "
            "claim, and a linear head tells whether one supports the other. It writes nothing. "
            f"Trained on {training.n_examples:,} examples from {', '.join(training.data)} "
            f"(SHA-256 {training.data_sha256}), each seen {_times(training.epochs)}, "
            f"seed {training.seed}{begun}."
        ),
        digest=digest,
        limits=(NOT_MEASURED if measured is None else FITTED,),
        figures=() if measured is None else _figures(measured, training.dev, command),
    )


def _figures(measured: Agreement, data: str, command: str) -> tuple[CardFigure, ...]:
    scores = {"accuracy": measured.accuracy, "macro-F1": measured.averages["macro"].f1}
    return tuple(
        CardFigure(
            task=TASK,
            data=data,
            metric=metric,
            value=score.value,
            low=score.low,
            high=score.high,
            n=score.n,
            command=command,
        )
        for metric, score in scores.items()
        if score.value is not None
    )


def _times(epochs: float) -> str:
    return "once" if epochs == 1 else f"{epochs:.3g} times"

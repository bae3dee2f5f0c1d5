"""Training settings of an adapter with a head, by base model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragassay.model_names import MINILM, SMOLLM2
from ragassay.models.adapters import Form


@dataclass(frozen=True)
class Tuning:
    """Training settings of an adapter on a base model.

    Attributes:
        untouched: Share of the layers, from the lowest, that stays unchanged, which saves time.
        rank: Rank of the two factors of each changed matrix.
        n_tokens: Longest input.
        learning_rate: Highest learning rate of the factors.
        head_rate: Learning rate of the head.
        schedule: Schedule of the rates.
        smoothing: Smoothing of the labels, which are noisy.
        batch: Examples a step.
        reads: The form of the passages.
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
"""Training settings of each packaged base model."""


def tuning_of(base: str) -> Tuning:
    """Return a base model's settings; one from the hub gets those of SmolLM2."""
    return TUNINGS.get(base, TUNINGS[SMOLLM2])

"""How an adapter with a head is trained, by its base model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragassay.model_names import SMOLLM2
from ragassay.models.embeddings import EMBEDDED as MINILM


@dataclass(frozen=True)
class Tuning:
    """How an adapter is trained on a base model.

    Attributes:
        untouched: Share of the layers, the lower ones, that is not changed, which saves time.
        rank: Of the two factors of each changed matrix.
        n_tokens: Longest input.
        learning_rate: Of the factors, at its highest.
        head_rate: Of the head.
        schedule: How the rates fall.
        smoothing: Of the labels, which are noisy.
    """

    untouched: float
    rank: int
    n_tokens: int
    learning_rate: float
    head_rate: float
    schedule: Literal["linear", "cosine"]
    smoothing: float


TUNINGS: Mapping[str, Tuning] = {
    MINILM: Tuning(
        untouched=1 / 3,
        rank=32,
        n_tokens=176,
        learning_rate=4e-4,
        head_rate=4e-4,
        schedule="linear",
        smoothing=0.05,
    ),
    SMOLLM2: Tuning(
        untouched=0.4,
        rank=16,
        n_tokens=384,
        learning_rate=2e-4,
        head_rate=1e-3,
        schedule="cosine",
        smoothing=0.0,
    ),
}
"""How each packaged base model is tuned."""


def tuning_of(base: str) -> Tuning:
    """How a base model is tuned; one of the hub as SmolLM2 is."""
    return TUNINGS.get(base, TUNINGS[SMOLLM2])

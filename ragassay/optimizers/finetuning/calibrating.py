"""Calibrate an adapter's probabilities, and write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ragassay.models.adapters import Shape, Training
from ragassay.models.cross_encoder import PairEncoder, read_as, save_adapter
from ragassay.optimizers.finetuning.adapting import SCALE
from ragassay.optimizers.finetuning.pairs import Example
from ragassay.optimizers.finetuning.tunings import Tuning


def write_trained(
    out: Path,
    encoder: PairEncoder,
    tensors: Mapping[str, Tensor],
    tuning: Tuning,
    held: Sequence[Example],
    training: Training | None = None,
) -> Shape:
    """Calibrate a trained adapter, and write it.

    Args:
        out: Folder of the adapter.
        encoder: The trained encoder.
        tensors: The result of `train`.
        tuning: How it was trained.
        held: Held-out examples for calibration; without any, the probabilities stay unchanged.
        training: A description of its training.
    """
    return save_adapter(
        out,
        tensors,
        base=encoder.base_name,
        base_sha256=encoder.base_sha256,
        scale=SCALE,
        n_tokens=tuning.n_tokens,
        temperature=_temperature(encoder, held, tuning) if held else 1.0,
        reads=tuning.reads,
        training=training,
    )


def _temperature(encoder: PairEncoder, held: Sequence[Example], tuning: Tuning) -> float:
    pairs = [read_as(tuning.reads, e.claim, e.passage) for e in held]
    rows = [encoder.row(*pair, tuning.n_tokens) for pair in pairs]
    with torch.inference_mode():
        logits = torch.cat([encoder(encoder.batch([row])).cpu() for row in rows])
    return fit_temperature(logits, torch.tensor([e.label for e in held]))


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """Return the divisor of the logits with the least negative log-likelihood.

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

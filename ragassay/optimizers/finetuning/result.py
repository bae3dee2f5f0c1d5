"""The result of a fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.metrics.agreement import Agreement


@dataclass(frozen=True)
class Finetuned:
    """A written adapter.

    Attributes:
        weights_sha256: SHA-256 of its weights.
        n_bytes: Their size.
        n_examples: Number of training examples.
        n_rejected: Lines of the data that could not be read.
        measured: Its agreement with the labels of held-out claims; None without any.
    """

    weights_sha256: str
    n_bytes: int
    n_examples: int
    n_rejected: int
    measured: Agreement | None = None

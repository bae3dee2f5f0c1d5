"""What came of a fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.metrics.agreement import Agreement


@dataclass(frozen=True)
class Finetuned:
    """An adapter that was written.

    Attributes:
        weights_sha256: Of its weights.
        n_bytes: Their size.
        n_examples: What it learnt from.
        n_rejected: Lines of the data that could not be read.
        measured: Its labels beside those of claims that it did not learn from; None without any.
    """

    weights_sha256: str
    n_bytes: int
    n_examples: int
    n_rejected: int
    measured: Agreement | None = None

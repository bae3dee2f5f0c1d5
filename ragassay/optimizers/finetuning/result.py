"""The result of a fine-tuning, and the command of one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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


def command_text(task: str, data: Sequence[Path], given: Mapping[str, object]) -> str:
    """Return the shell command of a job.

    Args:
        task: What the model is for.
        data: The user's files.
        given: Its options by name; those that are None are left out.

    Example:
        >>> command_text("verifier", [Path("my claims.jsonl")], {"rank": 8, "dev": None})
        "ragassay finetune verifier --data 'my claims.jsonl' --rank 8"
    """
    options = [("data", path) for path in data]
    options += [(name, value) for name, value in given.items() if value is not None]
    words = [word for name, value in options for word in (f"--{name}", str(value))]
    return shlex.join(["ragassay", "finetune", task, *words])

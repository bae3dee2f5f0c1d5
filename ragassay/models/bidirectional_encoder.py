"""Use a bidirectional model, such as all-MiniLM-L6-v2, as a cross-encoder: claim, passage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ragassay.models.cross_encoder import N_LABELS, PairEncoder, Row, mean_where


class BidirectionalEncoder(PairEncoder):
    """A linear head over the first state and the mean of all.

    Args:
        base: An encoder of transformers.
        tokenizer: Its tokenizer.
        name: The base model's name.
        sha256: Digest of its published weights; empty where unknown.
        n_labels: Labels of the head.
    """

    def __init__(
        self,
        base: nn.Module,
        tokenizer: Any,
        name: str,
        sha256: str = "",
        n_labels: int = N_LABELS,
    ) -> None:
        width: Any = base.config.hidden_size  # pyright: ignore[reportAttributeAccessIssue]
        super().__init__(base, nn.Linear(2 * width, n_labels), name, sha256)
        self._tokenizer = tokenizer

    def row(self, claim: str, passage: str, n_tokens: int) -> Row:
        """Return a pair as tokens; if it is too long, the longer text is cut at its end."""
        # Judged text is plain text, even where it spells one of the model's own marks.
        return dict(
            self._tokenizer(
                claim,
                passage,
                truncation="longest_first",
                max_length=n_tokens,
                split_special_tokens=True,
            )
        )

    def pooled(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Return first state and mean, shape (n_pairs, 2 * width)."""
        states = self.base(**tokens).last_hidden_state
        means = mean_where(states, tokens["attention_mask"])
        return torch.cat([states[:, 0].to(means.dtype), means], -1)

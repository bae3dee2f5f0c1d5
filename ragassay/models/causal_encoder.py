"""Use a causal model, such as SmolLM2, as a cross-encoder: passage, claim, a question.

It knows the passage when it reads the claim, and both when it reads the question. The middle layers
represent them best: the layers above prepare the next word, so they are neither computed nor
trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ragassay.models.cross_encoder import N_LABELS, PairEncoder, Row, mean_where

READ = 2 / 3
"""Share of the layers that is computed, from the lowest."""

FINAL_NORMS = ("norm", "ln_f", "final_layer_norm")
"""Architectures' names for the norm after their last layer, which fits only that layer's states."""

N_CLAIM = 120
"""Most tokens of a claim."""

DROPOUT = 0.1
"""Dropout of the head's features, in training."""

BEFORE, BETWEEN = "Passage:\n", "\n\nClaim: "
QUESTION = "\n\nDoes the passage support the claim, contradict it, or neither? Answer:"

CALM = 8.0
"""Multiple of its spread that a feature is divided by: over a thousand features the head then
learns at its rate without oscillating."""


class StandardisedHead(nn.Linear):
    """A linear map of standardised features: mean 0 and equal spread.

    Args:
        width: Number of features.
        n_labels: Number of labels.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, width: int, n_labels: int = N_LABELS) -> None:
        super().__init__(width, n_labels)
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("spread", torch.ones(width))

    def forward(self, input: Tensor) -> Tensor:
        """Return logits, shape (n_pairs, n_labels)."""
        standard = (input - self.mean) / (CALM * self.spread)
        return super().forward(nn.functional.dropout(standard, DROPOUT, self.training))

    def standardise(self, features: Tensor) -> None:
        """Measure mean and spread, before training, of features of shape (n_pairs, width)."""
        self.mean.copy_(features.mean(0))
        self.spread.copy_(features.std(0))


class CausalEncoder(PairEncoder):
    """A linear head over the mean state of the claim and that of the question.

    Args:
        base: The lower layers of a model of transformers, without the language model's head.
        tokenizer: Its tokenizer.
        name: The base model's name.
        sha256: Digest of its published weights; empty where unknown.
        n_labels: Labels of the head.
    """

    head: StandardisedHead

    def __init__(
        self,
        base: nn.Module,
        tokenizer: Any,
        name: str,
        sha256: str = "",
        n_labels: int = N_LABELS,
    ) -> None:
        width: Any = base.config.hidden_size  # pyright: ignore[reportAttributeAccessIssue]
        super().__init__(base, StandardisedHead(2 * width, n_labels), name, sha256)
        for norm in FINAL_NORMS:
            if hasattr(base, norm):
                setattr(base, norm, nn.Identity())
        self._tokenizer = tokenizer
        self._before = [*tokenizer.encode(""), *self._ids(BEFORE)]  # some need a mark at the start
        self._between, self._question = self._ids(BETWEEN), self._ids(QUESTION)

    def row(self, claim: str, passage: str, n_tokens: int) -> Row:
        """Return a pair as tokens, with the positions of the claim and the question."""
        claim_ids = self._ids(claim)[:N_CLAIM]
        fixed = len(self._before) + len(self._between) + len(self._question)
        read = self._ids(passage)[: max(0, n_tokens - fixed - len(claim_ids))]
        before = [*self._before, *read, *self._between]
        parts = (before, claim_ids, self._question)
        return {
            "input_ids": [token for part in parts for token in part],
            "attention_mask": [1] * sum(map(len, parts)),
            "claim": _mask(parts, 1),
            "question": _mask(parts, 2),
        }

    def pooled(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Return mean states of claim and question, shape (n_pairs, 2 * width)."""
        states = self.base(
            input_ids=tokens["input_ids"],
            attention_mask=tokens["attention_mask"],
            use_cache=False,
        ).last_hidden_state
        means = [mean_where(states, tokens[name]) for name in ("claim", "question")]
        return torch.cat(means, -1)

    def _ids(self, text: str) -> list[int]:
        # Judged text is plain text, even where it spells one of the model's own marks.
        return self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)


def _mask(parts: tuple[list[int], ...], place: int) -> list[int]:
    return [int(i == place) for i, part in enumerate(parts) for _ in part]

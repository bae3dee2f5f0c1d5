"""all-MiniLM-L6-v2 as a cross-encoder: claim, then passage, read at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ragassay.models.cross_encoder import N_LABELS, PairEncoder, Row, mean_where
from ragassay.models.quiet import quiet_loading
from ragassay.models.weights import MINILM_SAFETENSORS_SHA256, minilm_folder


class MiniLMEncoder(PairEncoder):
    """A linear head over the first state and the mean of all.

    Args:
        base: A BERT of transformers.
        tokenizer: Its tokenizer.
    """

    def __init__(self, base: nn.Module, tokenizer: Any) -> None:
        width: Any = base.config.hidden_size  # pyright: ignore[reportAttributeAccessIssue]
        super().__init__(base, nn.Linear(2 * width, N_LABELS), MINILM_SAFETENSORS_SHA256)
        self._tokenizer = tokenizer

    @classmethod
    def load(cls) -> MiniLMEncoder:
        """The packaged model, its weights checked; its head is not trained."""
        from transformers import AutoModel, AutoTokenizer

        folder = minilm_folder()
        with quiet_loading():
            return cls(AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))

    def row(self, claim: str, passage: str, n_tokens: int) -> Row:
        """A pair as tokens; of one that is too long the longer text is cut at its end."""
        # What is judged is plain text, also where it spells one of the model's own marks.
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
        """First state and mean, shape (n_pairs, 768)."""
        states = self.base(**tokens).last_hidden_state
        return torch.cat([states[:, 0], mean_where(states, tokens["attention_mask"])], -1)

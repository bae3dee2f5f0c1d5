"""Cross-encoders from base models such as MiniLM and SmolLM2, with one logit per label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ragassay.models.adapters import (
    SHAPE,
    VERDICTS,
    WEIGHTS,
    Adapter,
    Form,
    Shape,
    Training,
    read_shape,
)
from ragassay.models.layers import pack
from ragassay.models.weights import check_digest, compute_sha256
from ragassay.process import get_core_pool, use_one_core
from ragassay.records import Bound
from ragassay.text.search import insert_closest_sentence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


N_LABELS = 3

Row = Mapping[str, Sequence[int]]
"""Model inputs for a text pair, such as `input_ids`, with one value per token."""


class PairEncoder(nn.Module, ABC):
    """Base model with a classification head for text pairs.

    Args:
        head: Module that maps the output of `pool` to one logit per label.
        base_sha256: Digest of the base model's weights, or "" if unknown.
    """

    def __init__(
        self, base: nn.Module, head: nn.Module, base_name: str, base_sha256: str = ""
    ) -> None:
        super().__init__()
        self.base, self.head = base, head
        self.base_name, self.base_sha256 = base_name, base_sha256

    def build_batch(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return padded rows on the model's device. See `pad_rows`."""
        device = next(self.parameters()).device
        return {name: tensor.to(device) for name, tensor in pad_rows(rows).items()}

    @abstractmethod
    def encode_pair(self, claim: str, passage: str, n_tokens: int) -> Row:
        """Return the model inputs for a pair, truncated to `n_tokens` tokens."""

    @abstractmethod
    def pool(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Return the input of the head for a padded batch, shape (n_pairs, width)."""

    def forward(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Return logits, shape (n_pairs, n_labels)."""
        return self.head(self.pool(tokens))


class CrossEncoder:
    """Pair encoder with an adapter merged into its base model. Thread-safe."""

    def __init__(self, encoder: PairEncoder, shape: Shape) -> None:
        self._encoder, self._shape = encoder.eval(), shape
        # Sets the tokenizer's limits, which is not thread-safe.
        encoder.encode_pair("", "", shape.n_tokens)

    @classmethod
    def load(cls, adapter: Adapter, encoder: PairEncoder) -> CrossEncoder:
        """Merge an adapter into its base model.

        Raises `SettingsError` if the adapter is invalid.
        """
        shape = merge(adapter, encoder)
        pack(encoder.base)
        return cls(encoder, shape)

    def predict_probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return label probabilities, shape (n_pairs, n_labels).

        Pairs are computed one by one, so that results do not depend on the batch.
        """
        import numpy as np

        rows = list(get_core_pool().map(self._predict_shares, pairs))
        return np.array(rows).reshape(len(rows), len(self._shape.labels))

    def _predict_shares(self, pair: tuple[str, str]) -> NDArray[np.float64]:
        use_one_core()
        with torch.inference_mode():
            tokens = self._encoder.build_batch(
                [
                    self._encoder.encode_pair(
                        *read_as(self._shape.reads, *pair), self._shape.n_tokens
                    )
                ]
            )
            logits = self._encoder(tokens)[0] / self._shape.temperature
            return logits.cpu().double().softmax(-1).numpy()


def read_as(form: Form, claim: str, passage: str) -> tuple[str, str]:
    """Return claim and passage in the format in which an adapter was trained."""
    return claim, (
        insert_closest_sentence(claim, passage) if form == "closest_first" else passage
    ).strip()


def merge(adapter: Adapter, encoder: PairEncoder) -> Shape:
    """Merge an adapter into its base model, load its head, and return its metadata."""
    shape, tensors = read_shape(adapter.folder), read_tensors(adapter.folder)
    load_head(encoder, tensors)
    parameters = dict(encoder.base.named_parameters())
    with torch.no_grad():
        for name in sorted(k.removesuffix(".a") for k in tensors if k.endswith(".a")):
            change = tensors[f"{name}.b"] @ tensors[f"{name}.a"]
            weight = parameters[f"{name}.weight"]
            weight.add_(change.to(weight), alpha=shape.scale)
    return shape


def pad_rows(rows: Sequence[Row]) -> dict[str, Tensor]:
    """Convert token rows to tensors padded with zeros. Each tensor has shape (n_rows, n_tokens)."""
    from torch.nn.utils.rnn import pad_sequence

    return {
        name: pad_sequence([torch.tensor(row[name]) for row in rows], batch_first=True)
        for name in rows[0]
    }


def average_states(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of hidden states (n_pairs, n_tokens, width) where the mask is 1.

    The mean is computed in float32.
    """
    weights = mask[..., None].float()
    return (states.float() * weights).sum(1) / weights.sum(1).clamp(min=1)


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Read an adapter as float32. Raises `SettingsError` if the adapter is invalid."""
    from safetensors.torch import load_file

    check_digest(folder / WEIGHTS, read_shape(folder).weights_sha256)
    return {name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()}


def load_head(encoder: PairEncoder, tensors: Mapping[str, Tensor]) -> None:
    """Load the head of an encoder from an adapter's tensors."""
    names = encoder.head.state_dict()
    encoder.head.load_state_dict({name: tensors[f"head.{name}"] for name in names})


def save_adapter(
    folder: Path,
    tensors: Mapping[str, Tensor],
    *,
    base: str,
    base_sha256: str,
    scale: float,
    n_tokens: int,
    temperature: float,
    reads: Form = "whole",
    training: Training | None = None,
    labels: Sequence[str] = VERDICTS,
    bounds: Sequence[Bound] = (),
) -> Shape:
    """Write an adapter: factors `NAME.a` (rank, in) and `NAME.b` (out, rank), and `head.*`.

    The factors are stored as float16.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    stored = {
        name: (tensor if name.startswith("head.") else tensor.half()).detach().cpu().contiguous()
        for name, tensor in sorted(tensors.items())
    }
    save_file(stored, folder / WEIGHTS)
    shape = Shape(
        base=base,
        base_sha256=base_sha256,
        weights_sha256=compute_sha256(folder / WEIGHTS),
        scale=scale,
        n_tokens=n_tokens,
        temperature=round(temperature, 4),
        reads=reads,
        training=training,
        labels=tuple(labels),
        bounds=tuple(bounds),
    )
    text = shape.model_dump_json(indent=2, exclude_none=True)
    (folder / SHAPE).write_text(text + "\n", encoding="utf-8")
    return shape


class BidirectionalEncoder(PairEncoder):
    """Pair encoder with a linear head on the first and the mean hidden state."""

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

    def encode_pair(self, claim: str, passage: str, n_tokens: int) -> Row:
        """Return the model inputs for a pair.

        If the pair is too long, the longer text is truncated.
        """
        # Evaluated text is plain text, even if it contains the model's special tokens.
        return dict(
            self._tokenizer(
                claim,
                passage,
                truncation="longest_first",
                max_length=n_tokens,
                split_special_tokens=True,
            )
        )

    def pool(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Return the first and the mean hidden state, shape (n_pairs, 2 * width)."""
        states = self.base(**tokens).last_hidden_state
        means = average_states(states, tokens["attention_mask"])
        return torch.cat([states[:, 0].to(means.dtype), means], -1)


READ = 2 / 3
"""Fraction of the layers to use, starting at the lowest."""

FINAL_NORMS = ("norm", "ln_f", "final_layer_norm")
"""Names of the normalization after the last layer.

The layer is removed because only lower layers are used.
"""

N_CLAIM = 120

DROPOUT = 0.1

BEFORE, BETWEEN = "Passage:\n", "\n\nClaim: "
QUESTION = "\n\nDoes the passage support the claim, contradict it, or neither? Answer:"

DAMPING_FACTOR = 8.0
"""Factor that enlarges the standard deviation in standardization.

Without this factor, training with over a thousand features would oscillate.
"""


class StandardisedHead(nn.Linear):
    """Linear layer on features that are standardized to mean 0 and equal variance."""

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
        scaled = (input - self.mean) / (DAMPING_FACTOR * self.spread)
        return super().forward(nn.functional.dropout(scaled, DROPOUT, self.training))

    def standardise(self, features: Tensor) -> None:
        """Compute mean and standard deviation from training features, shape (n_pairs, width)."""
        self.mean.copy_(features.mean(0))
        self.spread.copy_(features.std(0))


class CausalEncoder(PairEncoder):
    """Pair encoder from a decoder's lower layers.

    The head reads the mean hidden states of the claim and of the question after it.
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
        self._before = [
            *tokenizer.encode(""),
            *self._encode_text(BEFORE),
        ]  # includes any start token
        self._between, self._question = self._encode_text(BETWEEN), self._encode_text(QUESTION)

    def encode_pair(self, claim: str, passage: str, n_tokens: int) -> Row:
        """Return the model inputs for a pair, with masks of the claim and the question."""
        claim_ids = self._encode_text(claim)[:N_CLAIM]
        fixed = len(self._before) + len(self._between) + len(self._question)
        passage_ids = self._encode_text(passage)[: max(0, n_tokens - fixed - len(claim_ids))]
        before = [*self._before, *passage_ids, *self._between]
        parts = (before, claim_ids, self._question)
        return {
            "input_ids": [token for part in parts for token in part],
            "attention_mask": [1] * sum(map(len, parts)),
            "claim": _mask(parts, 1),
            "question": _mask(parts, 2),
        }

    def pool(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Return the mean hidden states of claim and question, shape (n_pairs, 2 * width)."""
        states = self.base(
            input_ids=tokens["input_ids"],
            attention_mask=tokens["attention_mask"],
            use_cache=False,
        ).last_hidden_state
        means = [average_states(states, tokens[name]) for name in ("claim", "question")]
        return torch.cat(means, -1)

    def _encode_text(self, text: str) -> list[int]:
        # Evaluated text is plain text, even if it contains the model's special tokens.
        return self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)


def _mask(parts: tuple[list[int], ...], index: int) -> list[int]:
    return [int(i == index) for i, part in enumerate(parts) for _ in part]

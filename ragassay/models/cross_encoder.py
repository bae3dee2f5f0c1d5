"""Base models, such as MiniLM and SmolLM2, as cross-encoders: a logit a label out."""

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
from ragassay.models.weights import check_digest, sha256_of
from ragassay.process import cores, use_one_core
from ragassay.records import Bound
from ragassay.text.search import with_closest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


N_LABELS = 3
"""Labels of a verifier."""

Row = Mapping[str, Sequence[int]]
"""A pair as tokens: `input_ids` and the encoder's other inputs for each token, all of one
length."""


class PairEncoder(nn.Module, ABC):
    """A base model with a classification head over pairs.

    Args:
        head: Maps `pooled` to a logit for each label.
        base_sha256: Digest of its published weights; empty where unknown.
    """

    def __init__(
        self, base: nn.Module, head: nn.Module, base_name: str, base_sha256: str = ""
    ) -> None:
        super().__init__()
        self.base, self.head = base, head
        self.base_name, self.base_sha256 = base_name, base_sha256

    def batch(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return rows as one batch, on the model's device: see `pad_rows`."""
        device = next(self.parameters()).device
        return {name: tensor.to(device) for name, tensor in pad_rows(rows).items()}

    @abstractmethod
    def row(self, claim: str, passage: str, n_tokens: int) -> Row:
        """Return a pair as a limited number of tokens; a pair too long loses the passage's end."""

    @abstractmethod
    def pool(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Return the head's input for a padded batch, shape (n_pairs, width)."""

    def forward(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Return logits, shape (n_pairs, n_labels)."""
        return self.head(self.pool(tokens))


class CrossEncoder:
    """An encoder with its adapter; safe across threads."""

    def __init__(self, encoder: PairEncoder, shape: Shape) -> None:
        self._encoder, self._shape = encoder.eval(), shape
        # Sets the tokenizer's limits: two threads must not do it at once.
        encoder.row("", "", shape.n_tokens)

    @classmethod
    def load(cls, adapter: Adapter, encoder: PairEncoder) -> CrossEncoder:
        """Load an adapter onto its base model.

        Raises:
            SettingsError: The adapter cannot be read, or its weights differ from its note.
        """
        shape = merge(adapter, encoder)
        pack(encoder.base)
        return cls(encoder, shape)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return the softmax of the logits, shape (n_pairs, n_labels).

        One pair at a time, so that the last digits of a probability do not depend on the other
        pairs.
        """
        import numpy as np

        rows = list(cores().map(self._shares, pairs))
        return np.array(rows).reshape(len(rows), len(self._shape.labels))

    def _shares(self, pair: tuple[str, str]) -> NDArray[np.float64]:
        use_one_core()
        with torch.inference_mode():
            tokens = self._encoder.batch(
                [self._encoder.row(*read_as(self._shape.reads, *pair), self._shape.n_tokens)]
            )
            logits = self._encoder(tokens)[0] / self._shape.temperature
            return logits.cpu().double().softmax(-1).numpy()


def read_as(form: Form, claim: str, passage: str) -> tuple[str, str]:
    """Return a pair in the form that an adapter was trained on."""
    return claim, (with_closest(claim, passage) if form == "closest_first" else passage).strip()


def merge(adapter: Adapter, encoder: PairEncoder) -> Shape:
    """Add an adapter to the weights of its base model, load its head, and return its shape.

    Raises:
        SettingsError: The adapter cannot be read, or its weights differ from its note.
    """
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
    """Pad rows with zeros into a batch; shape (n_rows, n_tokens) each."""
    from torch.nn.utils.rnn import pad_sequence

    return {
        name: pad_sequence([torch.tensor(row[name]) for row in rows], batch_first=True)
        for name in rows[0]
    }


def mean_where(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of states, shape (n_pairs, n_tokens, width), where a 0/1 mask has 1.

    In single precision, even for half-precision states.
    """
    weights = mask[..., None].float()
    return (states.float() * weights).sum(1) / weights.sum(1).clamp(min=1)


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Read an adapter written by `save_adapter`, in single precision.

    Raises:
        SettingsError: The adapter cannot be read, or its weights differ from its note.
    """
    from safetensors.torch import load_file

    check_digest(folder / WEIGHTS, read_shape(folder).weights_sha256)
    return {name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()}


def load_head(encoder: PairEncoder, tensors: Mapping[str, Tensor]) -> None:
    """Load the head from an adapter's tensors into an encoder."""
    own = encoder.head.state_dict()
    encoder.head.load_state_dict({name: tensors[f"head.{name}"] for name in own})


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

    The factors are stored in half precision.
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
        weights_sha256=sha256_of(folder / WEIGHTS),
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
    """A linear head over the first state and the mean of all."""

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

    def pool(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Return first state and mean, shape (n_pairs, 2 * width)."""
        states = self.base(**tokens).last_hidden_state
        means = mean_where(states, tokens["attention_mask"])
        return torch.cat([states[:, 0].to(means.dtype), means], -1)


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
    """A linear map of standardised features: mean 0 and equal spread."""

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

    def pool(self, tokens: Mapping[str, Tensor]) -> Tensor:
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

"""Base models read as cross-encoders: claim and passage in one input, three logits out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ragassay.models.adapters import SHAPE, WEIGHTS, Adapter, Shape, Training, read_shape
from ragassay.models.weights import check_digest, sha256_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_LABELS = 3

Row = Mapping[str, Sequence[int]]
"""A pair as tokens: `input_ids` and what else an encoder needs of each token, of one length."""


class PairEncoder(nn.Module, ABC):
    """A base model with a head over what it makes of a pair.

    Args:
        base: Of transformers.
        head: From the width of `pooled` to `N_LABELS` logits.
        base_name: The base model's name.
        base_sha256: Of its weights, as they are published; empty where nobody noted it.
    """

    def __init__(
        self, base: nn.Module, head: nn.Module, base_name: str, base_sha256: str = ""
    ) -> None:
        super().__init__()
        self.base, self.head = base, head
        self.base_name, self.base_sha256 = base_name, base_sha256

    def batch(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Rows as one batch, where the model is: see `padded`."""
        device = next(self.parameters()).device
        return {name: tensor.to(device) for name, tensor in padded(rows).items()}

    @abstractmethod
    def row(self, claim: str, passage: str, n_tokens: int) -> Row:
        """A pair as at most so many tokens; of one that is too long the passage's end is cut."""

    @abstractmethod
    def pooled(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """What the head sees of a padded batch, shape (n_pairs, width)."""

    def forward(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Logits, shape (n_pairs, 3)."""
        return self.head(self.pooled(tokens))


class CrossEncoder:
    """An encoder with the shape of its adapter; safe across threads.

    Each core computes pairs of its own: to share one pair among them would cost more than it saves.
    """

    def __init__(self, encoder: PairEncoder, shape: Shape) -> None:
        self._encoder, self._shape = encoder.eval(), shape
        self._cores = ThreadPoolExecutor(
            torch.get_num_threads(),
            "ragassay-verifier",
            initializer=torch.set_num_threads,
            initargs=(1,),
        )

    @classmethod
    def load(cls, adapter: Adapter, encoder: PairEncoder) -> CrossEncoder:
        """Put an adapter onto its base model.

        Raises:
            SettingsError: The adapter cannot be read, or its weights are not those that it says.
        """
        shape, tensors = read_shape(adapter.folder), read_tensors(adapter.folder)
        load_head(encoder, tensors)
        parameters = dict(encoder.base.named_parameters())
        with torch.no_grad():
            for name in sorted(k.removesuffix(".a") for k in tensors if k.endswith(".a")):
                change = tensors[f"{name}.b"] @ tensors[f"{name}.a"]
                weight = parameters[f"{name}.weight"]
                weight.add_(change.to(weight), alpha=shape.scale)
        return cls(encoder, shape)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Softmax of the logits, shape (n_pairs, 3).

        One pair at a time: a probability then does not depend, in its last digits, on which pairs
        it was computed with.
        """
        import numpy as np

        rows = list(self._cores.map(self._shares, pairs))
        return np.array(rows).reshape(len(rows), N_LABELS)

    def _shares(self, pair: tuple[str, str]) -> NDArray[np.float64]:
        with torch.inference_mode():
            tokens = self._encoder.batch([self._encoder.row(*pair, self._shape.n_tokens)])
            logits = self._encoder(tokens)[0] / self._shape.temperature
            return logits.cpu().double().softmax(-1).numpy()


def padded(rows: Sequence[Row]) -> dict[str, Tensor]:
    """Rows as a batch, each filled up with zeros to the longest; shape (n_rows, n_tokens) each."""
    from torch.nn.utils.rnn import pad_sequence

    return {
        name: pad_sequence([torch.tensor(row[name]) for row in rows], batch_first=True)
        for name in rows[0]
    }


def mean_where(states: Tensor, mask: Tensor) -> Tensor:
    """Mean of the states, shape (n_pairs, n_tokens, width), where a mask of 0 and 1 has 1.

    In single precision, also of states in half.
    """
    weights = mask[..., None].float()
    return (states.float() * weights).sum(1) / weights.sum(1).clamp(min=1)


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """What `save_adapter` wrote, in single precision.

    Raises:
        SettingsError: The adapter cannot be read, or its weights are not those that it says.
    """
    from safetensors.torch import load_file

    check_digest(folder / WEIGHTS, read_shape(folder).weights_sha256)
    return {name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()}


def load_head(encoder: PairEncoder, tensors: Mapping[str, Tensor]) -> None:
    """Put the head among an adapter's tensors onto an encoder."""
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
    training: Training | None = None,
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
        training=training,
    )
    said = shape.model_dump_json(indent=2, exclude_none=True)
    (folder / SHAPE).write_text(said + "\n", encoding="utf-8")
    return shape

"""all-MiniLM-L6-v2 read as a cross-encoder: claim and passage in one input, three logits out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from ragassay.models.adapters import SHAPE, WEIGHTS, Adapter
from ragassay.models.quiet import quiet_loading
from ragassay.models.weights import MINILM_SAFETENSORS_SHA256, check_digest, minilm_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_LABELS = 3


class Shape(BaseModel):
    """What an adapter's weights need to be read.

    Attributes:
        base_sha256: Of the base model's weights.
        weights_sha256: Of the adapter's own.
        scale: What the product of the two factors is multiplied with.
        n_tokens: Longest input; of a longer one the passage's end is cut.
        temperature: What the logits are divided by, so that probabilities mean what they say.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_sha256: str
    weights_sha256: str
    scale: float = Field(gt=0)
    n_tokens: int = Field(ge=16, le=512)
    temperature: float = Field(default=1.0, gt=0)


class Encoder(nn.Module):
    """The base model with a linear head over its first state and the mean of all.

    Args:
        base: A BERT of transformers.
    """

    def __init__(self, base: nn.Module) -> None:
        super().__init__()
        self.base = base
        width: Any = base.config.hidden_size  # pyright: ignore[reportAttributeAccessIssue]
        self.head = nn.Linear(2 * width, N_LABELS)

    def forward(self, tokens: dict[str, Tensor]) -> Tensor:
        """Logits, shape (n_pairs, 3)."""
        states = self.base(**tokens).last_hidden_state
        weights = tokens["attention_mask"][..., None].to(states.dtype)
        mean = (states * weights).sum(1) / weights.sum(1)
        return self.head(torch.cat([states[:, 0], mean], -1))


class CrossEncoder:
    """An encoder with its tokenizer; safe across threads.

    Each core computes pairs of its own: to share one pair among them would cost more than it saves.
    """

    def __init__(self, encoder: Encoder, tokenizer: Any, shape: Shape) -> None:
        self._encoder, self._tokenizer, self._shape = encoder.eval(), tokenizer, shape
        self._cores = ThreadPoolExecutor(
            torch.get_num_threads(),
            "ragassay-verifier",
            initializer=torch.set_num_threads,
            initargs=(1,),
        )

    @classmethod
    def load(cls, adapter: Adapter) -> CrossEncoder:
        """Put an adapter onto its base model.

        Raises:
            SettingsError: The weights are not those that the adapter says.
        """
        from safetensors.torch import load_file

        shape = Shape.model_validate(json.loads((adapter.folder / SHAPE).read_text("utf-8")))
        check_digest(adapter.folder / WEIGHTS, shape.weights_sha256)
        tensors = {k: v.float() for k, v in load_file(adapter.folder / WEIGHTS).items()}
        base, tokenizer = load_base()
        encoder = Encoder(base)
        encoder.head.load_state_dict({k: tensors.pop(f"head.{k}") for k in ("weight", "bias")})
        parameters = dict(base.named_parameters())
        with torch.no_grad():
            for name in sorted(k.removesuffix(".a") for k in tensors if k.endswith(".a")):
                change = tensors[f"{name}.b"] @ tensors[f"{name}.a"]
                parameters[f"{name}.weight"].add_(change, alpha=shape.scale)
        return cls(encoder, tokenizer, shape)

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
            tokens = pair_tokens(self._tokenizer, [pair], self._shape.n_tokens)
            logits = self._encoder(tokens)[0] / self._shape.temperature
            return logits.double().softmax(-1).numpy()


def load_base() -> tuple[nn.Module, Any]:
    """The packaged MiniLM and its tokenizer, its weights checked."""
    from transformers import AutoModel, AutoTokenizer

    folder = minilm_folder()
    with quiet_loading():
        return AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


def pair_tokens(
    tokenizer: Any, pairs: Sequence[tuple[str, str]], n_tokens: int
) -> dict[str, Tensor]:
    """A padded batch of pairs; of a pair that is too long the longer text is cut at its end."""
    claims, passages = [claim for claim, _ in pairs], [passage for _, passage in pairs]
    return dict(
        tokenizer(
            claims,
            passages,
            padding=True,
            truncation="longest_first",
            max_length=n_tokens,
            return_tensors="pt",
        )
    )


def save_adapter(
    folder: Path, tensors: dict[str, Tensor], scale: float, n_tokens: int, temperature: float
) -> None:
    """Write an adapter: factors `NAME.a` (rank, in) and `NAME.b` (out, rank), and `head.*`.

    Stored in half precision.
    """
    from safetensors.torch import save_file

    from ragassay.models.weights import sha256_of

    folder.mkdir(parents=True, exist_ok=True)
    half = {name: tensor.detach().half().contiguous() for name, tensor in sorted(tensors.items())}
    save_file(half, folder / WEIGHTS)
    shape = Shape(
        base_sha256=MINILM_SAFETENSORS_SHA256,
        weights_sha256=sha256_of(folder / WEIGHTS),
        scale=scale,
        n_tokens=n_tokens,
        temperature=round(temperature, 4),
    )
    (folder / SHAPE).write_text(shape.model_dump_json(indent=2) + "\n", encoding="utf-8")

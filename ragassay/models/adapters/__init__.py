"""Low-rank adapters: shipped in the package, or in the user's folders.

Each has a folder. Adapters that write have PEFT's format, with a note (`ragassay.models.tuned`).
Adapters that compare a claim with a passage are read by `ragassay.models.cross_encoder`:
`adapter.safetensors` has the two factors of each changed matrix and the head, `adapter.json` their
shape. The card of a shipped one names its training data.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field, TypeAdapter, ValidationError

from ragassay.errors import SettingsError
from ragassay.model_names import (
    MINILM_VERIFIER,
    PROVIDER,
    SIGNALS_VERIFIER,
    SMOLLM2_VERIFIER,
)
from ragassay.models.weights import sha256_of
from ragassay.records import Bound, Frozen

WEIGHTS, SHAPE = "adapter.safetensors", "adapter.json"

VERDICTS = ("supports", "contradicts", "neutral")
"""Labels of a verifier's head, in the order of its logits."""

CORRECTNESS = ("correct", "incorrect")
"""Labels of a head for correctness (BioACE, section 4.1.3)."""


@dataclass(frozen=True)
class Adapter:
    """An adapter and its place."""

    model: str
    folder: Path


class Training(Frozen):
    """The training of an adapter.

    Attributes:
        start: SHA-256 of the adapter it started from; empty where it started afresh.
        dev: Name of the file that the temperature was fitted to; empty where it was not fitted.
        epochs: How often each example was seen.
    """

    data: tuple[str, ...]
    data_sha256: str
    n_examples: int
    start: str = ""
    dev: str
    epochs: float
    seed: int
    versions: dict[str, str]


Form = Literal["whole", "closest_first"]
"""A passage as it is, or with the sentence closest to the claim repeated in front."""


class Shape(Frozen):
    """The data needed to read an adapter's weights.

    Attributes:
        base: The base model's name; empty where only its weights' digest identifies it.
        base_sha256: Digest of the base model's weights; empty where unknown.
        weights_sha256: Digest of the adapter's own weights.
        scale: Factor of the product of the two matrices.
        n_tokens: Longest input; a longer one loses the passage's end.
        temperature: Divisor of the logits that calibrates the probabilities.
        reads: The form of the passages that it was trained on.
        labels: What its logits stand for, in their order.
        bounds: What its verdicts need to count, and to lead a report, by label; without any, all
            do.
        training: Its training; None where only its card describes that.
    """

    base: str = ""
    base_sha256: str
    weights_sha256: str
    scale: float = Field(gt=0)
    n_tokens: int = Field(ge=16, le=512)
    temperature: float = Field(default=1.0, gt=0)
    reads: Form = "whole"
    labels: tuple[str, ...] = VERDICTS
    bounds: tuple[Bound, ...] = ()
    training: Training | None = None


_ROOM = Path(str(files(__name__)))

WHOLE = Adapter(f"{MINILM_VERIFIER}-whole", _ROOM / "verifier_whole")
CLOSEST = Adapter(f"{MINILM_VERIFIER}-closest", _ROOM / "verifier_closest")
SIGNALS = Adapter(SIGNALS_VERIFIER, _ROOM / "signals_verifier")
SMOLLM2 = Adapter(SMOLLM2_VERIFIER, _ROOM / "smollm2_verifier")


def adapter_of(name: str) -> Adapter | None:
    """Return the adapter of a verifier by its name; None where there is none.

    Args:
        name: A shipped adapter's name, or `ragassay/FOLDER`.
    """
    for shipped in (SMOLLM2, SIGNALS):
        if name == shipped.model:
            return shipped
    folder = Path(name.removeprefix(f"{PROVIDER}/"))
    is_one = name.startswith(f"{PROVIDER}/") and (folder / SHAPE).is_file()
    return Adapter(name, folder) if is_one else None


def read_shape(folder: Path) -> Shape:
    """Read the shape of the adapter in a folder.

    Raises:
        SettingsError: It cannot be read.
    """
    try:
        return Shape.model_validate_json((folder / SHAPE).read_bytes())
    except (OSError, ValidationError) as error:
        raise SettingsError(f"{folder / SHAPE} cannot be read: train the adapter again") from error


@functools.cache
def bounds_of_means() -> dict[str, tuple[Bound, ...]]:
    """Return the bounds of the verifiers that are means of adapters, by name."""
    return _BOUNDS.validate_json((_ROOM / "bounds.json").read_bytes())


_BOUNDS: TypeAdapter[dict[str, tuple[Bound, ...]]] = TypeAdapter(dict[str, tuple[Bound, ...]])


@functools.cache
def adapter_digest(adapter: Adapter) -> str:
    """Return the SHA-256 of an adapter's weights."""
    return sha256_of(adapter.folder / WEIGHTS)

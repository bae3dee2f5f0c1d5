"""Low-rank adapters, shipped with the package or stored in user folders.

Generative adapters are in PEFT format, with an additional metadata file (`ragassay.models.tuned`).
Verifier adapters are loaded by `ragassay.models.cross_encoder`: `adapter.safetensors` contains the
two factors of each changed matrix and the head, and `adapter.json` describes them. The training
data of shipped adapters is listed on their cards.
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
from ragassay.models.weights import compute_sha256
from ragassay.records import Bound, Frozen

WEIGHTS, SHAPE = "adapter.safetensors", "adapter.json"

VERDICTS = ("supports", "contradicts", "neutral")
"""Labels of a verifier head, in the order of its logits."""

CORRECTNESS = ("correct", "incorrect")
"""Labels of a correctness head (BioACE, section 4.1.3)."""


@dataclass(frozen=True)
class Adapter:
    """Name and folder of an adapter."""

    model: str
    folder: Path


class Training(Frozen):
    """Training details of an adapter.

    Attributes:
        start: SHA-256 of the adapter that training started from. Empty if none.
        dev: Name of the file used to fit the temperature, or "" if it was not fitted.
        epochs: Number of passes over the training data.
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
"""How the model gets a passage: unchanged, or after a copy of its sentence closest to the claim."""


class Shape(Frozen):
    """Metadata needed to load the weights of an adapter.

    Attributes:
        base: Name of the base model, or "" if it is identified only by its digest.
        base_sha256: Digest of the base model's weights, or "" if unknown.
        weights_sha256: Digest of the adapter's weights.
        scale: Factor applied to the low-rank matrix product.
        n_tokens: Maximum number of input tokens. If the input is longer, the passage is truncated
            at the end.
        temperature: Divisor of the logits that calibrates the probabilities.
        reads: Passage format used in training.
        labels: Labels, in the order of the logits.
        bounds: Minimum probabilities of each label for a verdict to count, and for it to become a
            main finding. Without bounds, all verdicts count.
        training: Training details, or None if only the model card describes the training.
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


def find_adapter(name: str) -> Adapter | None:
    """Return the adapter of a shipped verifier or of `ragassay/FOLDER`, if there is one."""
    shipped = next((each for each in (SMOLLM2, SIGNALS) if each.model == name), None)
    folder = Path(name.removeprefix(f"{PROVIDER}/"))
    is_folder = name.startswith(f"{PROVIDER}/") and (folder / SHAPE).is_file()
    return shipped or (Adapter(name, folder) if is_folder else None)


def read_shape(folder: Path) -> Shape:
    """Read the metadata of an adapter. Raises `SettingsError` if the metadata are invalid."""
    try:
        return Shape.model_validate_json((folder / SHAPE).read_bytes())
    except (OSError, ValidationError) as error:
        raise SettingsError(f"cannot read {folder / SHAPE}; train the adapter again") from error


@functools.cache
def load_mean_bounds() -> dict[str, tuple[Bound, ...]]:
    """Return the bounds of verifiers that average several adapters, keyed by name."""
    return _BOUNDS.validate_json((_ROOM / "bounds.json").read_bytes())


_BOUNDS: TypeAdapter[dict[str, tuple[Bound, ...]]] = TypeAdapter(dict[str, tuple[Bound, ...]])


@functools.cache
def hash_adapter(adapter: Adapter) -> str:
    """Return the SHA-256 of an adapter's weights."""
    return compute_sha256(adapter.folder / WEIGHTS)

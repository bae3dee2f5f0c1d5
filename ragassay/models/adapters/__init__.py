"""Low-rank adapters: those that are shipped in the package, and the user's in folders.

Each has a folder. Those that write are PEFT's, with a note (`ragassay.models.tuned`). Those that
compare a claim with a passage are read by `ragassay.models.cross_encoder`: `adapter.safetensors`
with the two factors of each changed matrix and the head, `adapter.json` with what is needed to read
them. What each shipped one was trained on stands in its card.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pydantic import Field, ValidationError

from ragassay.errors import SettingsError
from ragassay.model_names import MINILM_VERIFIER, PROVIDER, SMOLLM2_VERIFIER
from ragassay.models.weights import sha256_of
from ragassay.records.base import Frozen

WEIGHTS, SHAPE = "adapter.safetensors", "adapter.json"


@dataclass(frozen=True)
class Adapter:
    """Where an adapter lies.

    Attributes:
        model: The name that reports and cards give it.
        folder: Holds its two files.
    """

    model: str
    folder: Path


class Training(Frozen):
    """How an adapter came about.

    Attributes:
        data: Names of the files that it learnt from.
        data_sha256: Hash of the examples.
        n_examples: How many there were.
        start: SHA-256 of the adapter that it began with; empty where it began anew.
        dev: Name of the file that the temperature was fitted to; empty where none was.
        epochs: How often each example was seen.
        seed: Of all draws.
        versions: Of the libraries that trained it.
    """

    data: tuple[str, ...]
    data_sha256: str
    n_examples: int
    start: str = ""
    dev: str
    epochs: float
    seed: int
    versions: dict[str, str]


class Shape(Frozen):
    """What an adapter's weights need to be read.

    Attributes:
        base: The base model's name; empty where its weights' digest alone tells it.
        base_sha256: Of the base model's weights; empty where nobody noted it.
        weights_sha256: Of the adapter's own.
        scale: What the product of the two factors is multiplied with.
        n_tokens: Longest input; of a longer one the passage's end is cut.
        temperature: What the logits are divided by, so that probabilities mean what they say.
        training: How it came about; None where its card alone says so.
    """

    base: str = ""
    base_sha256: str
    weights_sha256: str
    scale: float = Field(gt=0)
    n_tokens: int = Field(ge=16, le=512)
    temperature: float = Field(default=1.0, gt=0)
    training: Training | None = None


_ROOM = Path(str(files(__name__)))

MINILM = Adapter(MINILM_VERIFIER, _ROOM / "verifier")
SMOLLM2 = Adapter(SMOLLM2_VERIFIER, _ROOM / "smollm2_verifier")


def adapter_of(name: str) -> Adapter | None:
    """The adapter that compares a claim with a passage, by its name; None where there is none.

    Args:
        name: That of a shipped one, or `ragassay/FOLDER`.
    """
    for shipped in (MINILM, SMOLLM2):
        if name == shipped.model:
            return shipped
    folder = Path(name.removeprefix(f"{PROVIDER}/"))
    is_one = name.startswith(f"{PROVIDER}/") and (folder / SHAPE).is_file()
    return Adapter(name, folder) if is_one else None


def read_shape(folder: Path) -> Shape:
    """What the adapter of a folder needs to be read.

    Raises:
        SettingsError: It cannot be read.
    """
    try:
        return Shape.model_validate_json((folder / SHAPE).read_bytes())
    except (OSError, ValidationError) as error:
        raise SettingsError(f"{folder / SHAPE} cannot be read: train the adapter again") from error


@functools.cache
def adapter_digest(adapter: Adapter) -> str:
    """SHA-256 of an adapter's weights."""
    return sha256_of(adapter.folder / WEIGHTS)

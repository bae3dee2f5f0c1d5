"""Low-rank adapters that are shipped in the package: what ragassay adds to its base models.

Each has a folder here. Those that write are PEFT's, with a note (`ragassay.models.tuned`). Those
that compare a claim with a passage are `ragassay.models.cross_encoder`'s: `adapter.safetensors`
with the two factors of each changed matrix and the head, `adapter.json` with what is needed to read
them. What each was trained on stands in its card.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ragassay.model_names import MINILM_VERIFIER, SMOLLM2_VERIFIER
from ragassay.models.weights import sha256_of

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


_ROOM = Path(str(files(__name__)))

MINILM = Adapter(MINILM_VERIFIER, _ROOM / "verifier")
SMOLLM2 = Adapter(SMOLLM2_VERIFIER, _ROOM / "smollm2_verifier")


@functools.cache
def adapter_digest(adapter: Adapter) -> str:
    """SHA-256 of an adapter's weights."""
    return sha256_of(adapter.folder / WEIGHTS)

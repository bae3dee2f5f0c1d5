"""Low-rank adapters that are shipped in the package: what ragassay adds to its base models.

Each has a folder here. Those on SmolLM2 are PEFT's, with a note (`ragassay.models.tuned`). That on
MiniLM is read here: `adapter.safetensors` with the two factors of each changed matrix and the head,
`adapter.json` with what is needed to read them. What each was trained on stands in its card.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

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


VERIFIER = Adapter("ragassay/minilm-verifier", Path(str(files(__name__))) / "verifier")


@functools.cache
def adapter_digest(adapter: Adapter) -> str:
    """SHA-256 of an adapter's weights."""
    return sha256_of(adapter.folder / WEIGHTS)

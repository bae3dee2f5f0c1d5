"""Embed the texts of a run once, whoever asks for them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.models.embeddings import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_KEPT = 100_000
"""Texts whose vectors are kept: about 700 papers, 150 MB at 384 dimensions."""


class KeptVectors:
    """Embeds as `Embedder.encode_many` does, and keeps the vectors; the oldest go first.

    Args:
        embedder: What embeds.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.digest = embedder.name, embedder.digest
        self._embedder = embedder
        self._kept: dict[str, NDArray[np.float32]] = {}
        self._lock = threading.Lock()

    def encode_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of length 1, shape (n_texts, n_dimensions); (0, 0) without a text."""
        import numpy as np

        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._kept]
            fresh = dict(zip(new, self._embedder.encode_many(new), strict=True))
            found = [fresh[t] if t in fresh else self._kept[t] for t in texts]
            self._kept |= fresh
            for text in list(self._kept)[: max(0, len(self._kept) - MOST_KEPT)]:
                del self._kept[text]
        return np.stack(found) if found else np.zeros((0, 0), dtype=np.float32)

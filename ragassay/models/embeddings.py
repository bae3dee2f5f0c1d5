"""Sentence embeddings through sentence-transformers; by default the packaged all-MiniLM-L6-v2."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.models.quiet import quiet_loading
from ragassay.models.weights import MINILM_SAFETENSORS_SHA256, minilm_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

EMBEDDED = "all-MiniLM-L6-v2"
"""The embedding model that is installed with ragassay."""

N_CACHED = 4096
"""Texts whose vectors are kept: the passages of a corpus come up again and again."""


class Embedder:
    """Texts in, unit vectors out. Loads its model at the first call; safe across threads.

    Args:
        model: `EMBEDDED`, or any model that sentence-transformers can load.
    """

    def __init__(self, model: str = EMBEDDED) -> None:
        self.name = model
        self.digest = MINILM_SAFETENSORS_SHA256 if model == EMBEDDED else ""
        self._model: SentenceTransformer | None = None
        self._cache: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (n_texts, n_dimensions); (0, 0) for no text."""
        import numpy as np

        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._cache]
            fresh = dict(zip(new, self._compute(new), strict=True)) if new else {}
            vectors = [fresh[t] if t in fresh else self._cache[t] for t in texts]
            self._cache.update(fresh)
            for text in texts:
                self._cache.move_to_end(text)
            while len(self._cache) > N_CACHED:
                self._cache.popitem(last=False)
        return np.stack(vectors)

    def _compute(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            source = str(minilm_folder()) if self.name == EMBEDDED else self.name
            with quiet_loading():
                self._model = SentenceTransformer(source, device="cpu")
        # One text at a time: on a processor it costs the same, and a vector then does not depend,
        # in its last bits, on which texts it was computed with.
        return self._model.encode(
            list(texts),
            batch_size=1,
            normalize_embeddings=True,
            show_progress_bar=False,
            convert_to_numpy=True,
        )

"""Embed sentences: by the packaged all-MiniLM-L6-v2, or by a model of sentence-transformers."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ragassay.model_names import MINILM
from ragassay.models.computed import computed_once, is_kept
from ragassay.models.cores import cores
from ragassay.models.hosting import Encoded, current_host
from ragassay.models.weights import MINILM_SAFETENSORS_SHA256
from ragassay.prompts.embedders import TextRole, form_of
from ragassay.rebuilt import Rebuilt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_CACHED = 4096
"""Texts whose vectors are cached: the passages of a corpus recur."""

N_TOKENS_CACHED = 100_000
"""Tokens whose vectors are cached: about 200 abstracts, 150 MB at 384 dimensions."""

N_BATCH_TOKENS = 1024
"""Tokens that pass the model together where many texts are embedded; more is no faster."""


class TextModel(Protocol):
    """A loaded model; safe across threads. Its vectors may have any length."""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text that are read."""
        ...

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts of one length in tokens, shape (n_texts, n_dimensions)."""
        ...

    def vector_and_tokens(self, text: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the vector of a text, and those of its tokens but the special ones."""
        ...


class Embedder(Rebuilt):
    """Turns texts into unit vectors. Loads its model at the first call; safe across threads.

    Its pooling and the words before a text come from the table of `ragassay.prompts.embedders`.

    Args:
        model: `MINILM`, or any model that sentence-transformers can load.

    Attributes:
        name: The model.
        form: How it pools, and what stands before a text.
        digest: SHA-256 of the packaged model's weights; of another one the digest of its form, as
            vectors that were pooled otherwise are others.
    """

    def __init__(self, model: str = MINILM) -> None:
        self.name, self.form = model, form_of(model)
        self.digest = MINILM_SAFETENSORS_SHA256 if model == MINILM else self.form.digest
        self._model: TextModel | None = None
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._encoded: OrderedDict[str, Encoded] = OrderedDict()
        self._n_tokens = 0
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts to compare them with their like.

        Returns:
            Vectors of length 1, shape (n_texts, n_dimensions); (0, 0) without a text.
        """
        return self._encode(self._in_role(texts, "text"))

    def encode_role(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        """Return vectors as `encode` does, of texts that search or are searched."""
        if self.form.prefix(role) == self.form.prefix("text"):
            return self.encode(texts)
        return self._encode(self._in_role(texts, role))

    def _in_role(self, texts: Sequence[str], role: TextRole) -> Sequence[str]:
        prefix = self.form.prefix(role)
        return [prefix + text for text in texts] if prefix else texts

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
            fresh = dict(zip(new, self._compute_vectors(new), strict=True))
            vectors = [fresh[t] if t in fresh else self._vectors[t] for t in texts]
            self._keep_vectors(fresh, texts)
        return np.stack(vectors)

    def encode_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of thousands of texts in less time; keep none.

        The texts pass as they are; `RoleEncoder` adds the words of a role. Texts of one length in
        tokens pass the model together, so the last bits of a vector may depend on the others.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        with self._lock:
            batches = _batches(self._loaded(), list(dict.fromkeys(texts)))
            found = list(cores().map(partial(_vectors, self._loaded()), batches))
        vectors = {
            text: vector
            for batch, rows in zip(batches, found, strict=True)
            for text, vector in zip(batch, rows, strict=True)
        }
        return np.stack([vectors[text] for text in texts])

    def encode_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        """Return each text's vector and those of its tokens, from one pass of the model.

        Text beyond the model's longest input is left out of both. For a model without tokens in
        context, such as a static one, a text is one token. No words stand before a text.
        """
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._encoded]
            fresh = dict(zip(new, self._compute_tokens(new), strict=True))
            found = [fresh[t] if t in fresh else self._encoded[t] for t in texts]
            self._keep_vectors({text: encoded.vector for text, encoded in fresh.items()}, ())
            self._encoded.update(fresh)
            self._n_tokens += sum(len(encoded.tokens) for encoded in fresh.values())
            for text in texts:
                self._encoded.move_to_end(text)
            while self._n_tokens > N_TOKENS_CACHED:
                self._n_tokens -= len(self._encoded.popitem(last=False)[1].tokens)
        return found

    def _keep_vectors(self, fresh: dict[str, NDArray[np.float32]], used: Sequence[str]) -> None:
        self._vectors.update(fresh)
        for text in used:
            self._vectors.move_to_end(text)
        while len(self._vectors) > N_CACHED:
            self._vectors.popitem(last=False)

    def _loaded(self) -> TextModel:
        if self._model is None:
            if self.name == MINILM:
                from ragassay.models.minilm import MiniLMTexts

                self._model = MiniLMTexts()
            else:
                from ragassay.models.pooling import HubTexts

                self._model = HubTexts(self.name, self.form)
        return self._model

    def _compute_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        host = current_host() if texts else None
        if host is not None:
            return host.encode(self.name, texts)
        return list(computed_once("vector", self._stored_as, texts, self._compute_rows))

    def _compute_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        host = current_host() if texts else None
        if host is not None:
            return host.encode_tokens(self.name, texts)
        if not is_kept(self._stored_as):
            return self._compute(texts)
        rows = computed_once("tokens", self._stored_as, texts, self._compute_tables)
        return [Encoded(one[0], one[1:]) for one in rows]

    def _compute_rows(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [one.vector for one in self._compute(texts)]

    def _compute_tables(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return a text's vector, then those of its tokens, shape (1 + n_tokens, n_dimensions)."""
        import numpy as np

        return [np.vstack((one.vector[None], one.tokens)) for one in self._compute(texts)]

    @property
    def _stored_as(self) -> str:
        """The digest of its weights; empty for a model whose weights have none."""
        return self.digest if self.name == MINILM else ""

    def _compute(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode each text by itself: the last bits of a vector do not depend on the others."""
        return list(cores().map(partial(_encoded, self._loaded()), texts)) if texts else []


def _batches(model: TextModel, texts: list[str]) -> list[list[str]]:
    """Return texts in batches of one length in tokens, the longest first: nothing is padded."""
    batches: list[list[str]] = []
    last = 0
    for length, text in sorted(zip(model.lengths(texts), texts, strict=True), reverse=True):
        if length != last or (len(batches[-1]) + 1) * length > N_BATCH_TOKENS:
            batches.append([])
        batches[-1].append(text)
        last = length
    return batches


def _vectors(model: TextModel, batch: list[str]) -> NDArray[np.float32]:
    return _unit(model.vectors(batch))


def _encoded(model: TextModel, text: str) -> Encoded:
    vector, tokens = model.vector_and_tokens(text)
    return Encoded(_unit(vector), _unit(tokens))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)

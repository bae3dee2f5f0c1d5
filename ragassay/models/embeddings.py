"""Embed sentences by sentence-transformers; by default with the packaged all-MiniLM-L6-v2."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from ragassay.model_names import MINILM
from ragassay.models.cores import cores
from ragassay.models.hosting import Encoded, current_host
from ragassay.models.weights import MINILM_SAFETENSORS_SHA256, minilm_folder
from ragassay.prompts.embedders import TextRole, form_of
from ragassay.rebuilt import Rebuilt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

N_CACHED = 4096
"""Texts whose vectors are cached: the passages of a corpus recur."""

N_TOKENS_CACHED = 100_000
"""Tokens whose vectors are cached: about 200 abstracts, 150 MB at 384 dimensions."""

N_BATCH_TOKENS = 1024
"""Tokens that pass the model together where many texts are embedded; more is no faster."""


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
        self._model: SentenceTransformer | None = None
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

    def _loaded(self) -> SentenceTransformer:
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            from ragassay.models.hub import loading
            from ragassay.models.packed import pack
            from ragassay.models.pooling import set_pooling

            source = str(minilm_folder()) if self.name == MINILM else self.name
            with loading(source):
                model = SentenceTransformer(source, device="cpu", trust_remote_code=False)
            set_pooling(model, source, self.form)
            if self.name == MINILM:
                pack(model)
            # Sets the tokenizer's limits: two threads must not do it at once.
            model.encode([""], show_progress_bar=False)
            self._model = model
        return self._model

    def _compute_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        host = current_host() if texts else None
        if host is not None:
            return host.encode(self.name, texts)
        return [encoded.vector for encoded in self._compute(texts)]

    def _compute_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        host = current_host() if texts else None
        return host.encode_tokens(self.name, texts) if host else self._compute(texts)

    def _compute(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode each text by itself: the last bits of a vector do not depend on the others."""
        return list(cores().map(partial(_encoded, self._loaded()), texts)) if texts else []


def _batches(model: SentenceTransformer, texts: list[str]) -> list[list[str]]:
    """Return texts in batches of one length in tokens, the longest first: nothing is padded."""
    tokenizer = model.tokenizer
    if callable(tokenizer):
        # Its type is that of any processor, of images too.
        of_text = cast("Callable[..., dict[str, list[list[int]]]]", tokenizer)
        ids = of_text(texts, truncation=True, max_length=model.max_seq_length)["input_ids"]
        lengths = [len(row) for row in ids]
    else:  # A static model has no place for padding.
        lengths = [1] * len(texts)
    batches: list[list[str]] = []
    last = 0
    for length, text in sorted(zip(lengths, texts, strict=True), reverse=True):
        if length != last or (len(batches[-1]) + 1) * length > N_BATCH_TOKENS:
            batches.append([])
        batches[-1].append(text)
        last = length
    return batches


def _vectors(model: SentenceTransformer, batch: list[str]) -> NDArray[np.float32]:
    rows = model.encode(batch, batch_size=len(batch), show_progress_bar=False)
    return _unit(rows)


def _encoded(model: SentenceTransformer, text: str) -> Encoded:
    import numpy as np

    # Its overloads cover the type of vectors only.
    row = cast(
        "list[dict[str, Tensor]]",
        model.encode([text], output_value=None, show_progress_bar=False),
    )[0]
    vector = _unit(row["sentence_embedding"].numpy())
    if "token_embeddings" not in row:
        return Encoded(vector, vector[None])
    special = getattr(model.tokenizer, "all_special_ids", [])
    is_special = np.isin(row["input_ids"].numpy(), special)
    return Encoded(vector, _unit(row["token_embeddings"].numpy()[~is_special]))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)

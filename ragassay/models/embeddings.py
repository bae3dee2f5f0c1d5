"""Sentence embeddings with prefixes for queries and documents, and the similarity of texts."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ragassay.extras import EXTRAS, need
from ragassay.model_names import MINILM
from ragassay.models.computed import compute_arrays, is_kept
from ragassay.models.hosting import Encoded, Recipe, get_current_host
from ragassay.models.weights import MINILM_SAFETENSORS_SHA256
from ragassay.process import Rebuilt, get_core_pool
from ragassay.prompts.model_forms import TextRole, find_embedder_form
from ragassay.text.search import rank_texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.layers import HubTexts
    from ragassay.models.minilm import MiniLMTexts

N_CACHED = 4096

N_TOKENS_CACHED = 100_000
"""Maximum number of cached token vectors: about 200 abstracts, 150 MB at 384 dimensions."""

N_BATCH_TOKENS = 1024
"""Maximum number of tokens in a batch. Larger batches are not faster."""


class Embedder(Rebuilt):
    """Embedder that converts texts to unit vectors. The model is loaded on first use. Thread-safe.

    Pooling and prefixes are defined in the table of `ragassay.prompts.model_forms`.

    Args:
        model: `MINILM`, or any model that sentence-transformers can load.

    Attributes:
        digest: SHA-256 of the weights of `MINILM`. For models other than `MINILM`, it is the digest
            of pooling and prefixes.

    Raises:
        ExtraError: The `hub` extra is not installed. `MINILM` works without this extra.
    """

    def __init__(self, model: str = MINILM) -> None:
        if model != MINILM:
            need(*EXTRAS["hub"])
        self.name, self.form = model, find_embedder_form(model)
        self.digest = MINILM_SAFETENSORS_SHA256 if model == MINILM else self.form.digest
        self._model: MiniLMTexts | HubTexts | None = None
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._encoded: OrderedDict[str, Encoded] = OrderedDict()
        self._n_tokens = 0
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of texts, shape (n_texts, n_dimensions), or (0, 0) for no texts."""
        return self.encode_as_given(self._add_prefix(texts, "text"))

    def encode_role(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        """Embed texts in the role of a query or a document. Returns unit vectors like `encode`."""
        if self.form.build_prefix(role) == self.form.build_prefix("text"):
            return self.encode(texts)
        return self.encode_as_given(self._add_prefix(texts, role))

    def _add_prefix(self, texts: Sequence[str], role: TextRole) -> Sequence[str]:
        prefix = self.form.build_prefix(role)
        return [prefix + text for text in texts] if prefix else texts

    def encode_as_given(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts without a prefix. Returns unit vectors like `encode`."""
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
        """Embed thousands of texts faster than `encode`, without prefixes or caching.

        Texts with equal token counts are batched, so the last bits of a vector may depend on the
        other texts.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        with self._lock:
            batches = _group_by_length(self._load_model(), list(dict.fromkeys(texts)))
            found = list(get_core_pool().map(partial(_embed_batch, self._load_model()), batches))
        vectors = {
            text: vector
            for batch, rows in zip(batches, found, strict=True)
            for text, vector in zip(batch, rows, strict=True)
        }
        return np.stack([vectors[text] for text in texts])

    def encode_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        """Return the embeddings of texts and of their tokens, without prefixes.

        Text beyond the model's maximum length is ignored. If a model computes no token embeddings,
        as is the case for static embedding models, each text is a single token.
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

    def _load_model(self) -> MiniLMTexts | HubTexts:
        if self._model is None:
            if self.name == MINILM:
                from ragassay.models.minilm import load_minilm_texts

                self._model = load_minilm_texts()
            else:
                from ragassay.models.layers import HubTexts

                self._model = HubTexts(self.name, self.form)
        return self._model

    def _compute_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        host = get_current_host() if texts else None
        if host is not None:
            recipe = Recipe(Embedder, (self.name,))
            return list(host(recipe, "encode_as_given", (texts,)).result())
        return list(compute_arrays("vector", self._stored_as, texts, self._compute_rows))

    def _compute_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        host = get_current_host() if texts else None
        if host is not None:
            return host(Recipe(Embedder, (self.name,)), "encode_tokens", (texts,)).result()
        if not is_kept(self._stored_as):
            return self._compute(texts)
        rows = compute_arrays("tokens", self._stored_as, texts, self._compute_tables)
        return [Encoded(row[0], row[1:]) for row in rows]

    def _compute_rows(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [encoded.vector for encoded in self._compute(texts)]

    def _compute_tables(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        import numpy as np

        return [np.vstack((e.vector[None], e.tokens)) for e in self._compute(texts)]

    @property
    def _stored_as(self) -> str:
        """Digest of the weights as a cache key, or "" if it is unknown and nothing is cached."""
        return self.digest if self.name == MINILM else ""

    def _compute(self, texts: Sequence[str]) -> list[Encoded]:
        """Embed texts one by one, so that the vector of a text does not depend on other texts."""
        return (
            list(get_core_pool().map(partial(_encode_text, self._load_model()), texts))
            if texts
            else []
        )


def _group_by_length(model: MiniLMTexts | HubTexts, texts: list[str]) -> list[list[str]]:
    """Return batches of texts with equal token counts (to avoid padding), longest first."""
    batches: list[list[str]] = []
    last = 0
    for length, text in sorted(
        zip(model.count_text_tokens(texts), texts, strict=True), reverse=True
    ):
        if length != last or (len(batches[-1]) + 1) * length > N_BATCH_TOKENS:
            batches.append([])
        batches[-1].append(text)
        last = length
    return batches


def _embed_batch(model: MiniLMTexts | HubTexts, batch: list[str]) -> NDArray[np.float32]:
    return _normalize_vectors(model.embed_texts(batch))


def _encode_text(model: MiniLMTexts | HubTexts, text: str) -> Encoded:
    vector, tokens = model.embed_text_and_tokens(text)
    return Encoded(_normalize_vectors(vector), _normalize_vectors(tokens))


def _normalize_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)


MOST_KEPT = 100_000
"""Maximum number of stored vectors: about 700 papers, 150 MB at 384 dimensions."""


class VectorCache:
    """Embedder with the method `encode_many` that caches vectors and removes the oldest ones."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.digest = embedder.name, embedder.digest
        self._embedder = embedder
        self._kept: dict[str, NDArray[np.float32]] = {}
        self._lock = threading.Lock()

    def encode_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_texts, n_dimensions), or (0, 0) for no texts."""
        import numpy as np

        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._kept]
            fresh = dict(zip(new, self._embedder.encode_many(new), strict=True))
            found = [fresh[t] if t in fresh else self._kept[t] for t in texts]
            self._kept |= fresh
            for text in list(self._kept)[: max(0, len(self._kept) - MOST_KEPT)]:
                del self._kept[text]
        return np.stack(found) if found else np.zeros((0, 0), dtype=np.float32)


Encode = Callable[[Sequence[str], TextRole], "NDArray[np.float32]"]
"""Function that embeds texts in a role, such as query.

Returns unit vectors, shape (n_texts, n_dimensions).
"""


class _Encoder(Protocol):
    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


def encode_role(encoder: _Encoder, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
    """Embed texts in a role, such as query or document.

    Encoders without `encode_role` ignore the role.
    """
    by_role = getattr(encoder, "encode_role", None)
    return by_role(texts, role) if by_role else encoder.encode(texts)


class RoleEncoder:
    """Embedder that adds the prefix of a role to each text, usable as an `Encode` function."""

    def __init__(self, model: str = MINILM, embedder: Embedder | VectorCache | None = None) -> None:
        self.name = model
        self._embedder = embedder or Embedder(model)
        self._form = find_embedder_form(model)

    def __call__(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_texts, n_dimensions), or (0, 0) for no texts."""
        prefix = self._form.build_prefix(role)
        return self._embedder.encode_many([prefix + text for text in texts])


N_NEAR = 12
"""Number of sentences, ranked by BM25, to compare with a claim."""


def find_closest_cosine(claim: str, sentences: Sequence[str], embedder: Embedder) -> float:
    """Return the cosine of a claim and the most similar sentence in a text, in [-1, 1].

    Args:
        sentences: Sentences of the text. Only the `N_NEAR` sentences with the highest BM25 scores
            are embedded. If the text has no sentences, the result is 0.
    """
    near = [sentences[index] for index, _ in rank_texts(claim, sentences)[:N_NEAR]] or sentences[:1]
    if not near:
        return 0.0
    vectors = embedder.encode([claim, *near])
    return float((vectors[1:] @ vectors[0]).max())

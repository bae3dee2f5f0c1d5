"""Rerank search results by BM25 and embeddings, or with a cross-encoder."""

from __future__ import annotations

import functools
import threading
from collections.abc import Collection, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict
from threadpoolctl import ThreadpoolController

from ragassay.errors import SettingsError
from ragassay.extras import EXTRAS, need
from ragassay.models.hosting import Encoded
from ragassay.models.weights import guard_loading
from ragassay.records import Document
from ragassay.retrievers.literature import Hit
from ragassay.text.search import list_windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import CrossEncoder


DEPTH = 50
"""Number of hits to rerank; the included weights were fitted on the top 50 hits of BM25."""

STRIDE = 2
"""Number of sentences between the starts of embedded passages of three sentences. Every sentence is
in at least one passage."""


class Reranker(Protocol):
    """Protocol for rerankers. Implementations must be thread-safe."""

    def rerank(self, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
        """Return the best `k` hits with new scores, keeping the order of hits with equal scores."""
        ...


class TextEncoder(Protocol):
    """Protocol for text encoders, such as `ragassay.models.embeddings.Embedder`."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of shape (n_texts, n_dimensions), or (0, 0) if there are no texts."""
        ...


@runtime_checkable
class TokenVectorEncoder(Protocol):
    """Protocol for text encoders that also return token vectors."""

    def encode_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        """Return the vector and the token vectors of each text."""
        ...


class FusionWeights(BaseModel):
    """Weights of a hit's features, which are standardized over the hits of a query.

    Attributes:
        search: Weight of the search score (BM25).
        title: Weight of the cosine similarity between query and title.
        passage: Weight of the cosine similarity between the query and the most similar passage.
        tokens: Weight of `max_sim` over the tokens of title and passages.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    search: float
    title: float
    passage: float
    tokens: float = 0.0


@functools.cache
def load_shipped_weights() -> FusionWeights:
    """Return the included weights, which `python -m training.reranking` fitted."""
    text = files("ragassay.retrievers").joinpath("weights/reranker.json").read_text("utf-8")
    return FusionWeights.model_validate_json(text)


class EmbeddedReranker:
    """Reranks hits by a weighted sum of the search score and three similarities.

    s(q, d) = w_1 z(search) + w_2 z(cos(q, title)) + w_3 z(max over passages p of cos(q, p)) + w_4
    z(MaxSim(q, d)), with z(x) = (x - mean) / standard deviation over the hits, or 0 if all are
    equal. If a hit has no title, its best passage is used instead, and if a hit has no text, its
    title is used. If the embedding model returns no token vectors, each title and each passage
    counts as a single token.

    Args:
        embedder: Embedding model; the included weights were fitted for the included model.
        weights: Feature weights, or None for the included weights.
    """

    def __init__(self, embedder: TextEncoder, weights: FusionWeights | None = None) -> None:
        self._embedder = embedder
        self._weights = weights

    def rerank(self, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
        """Return the best `k` hits, scored by the weighted sum of their standardized features.

        Args:
            query: Natural-language query; with a blank query, hits keep their order and scores.
            k: Number of hits to return; with 0 or less, the list is empty.
        """
        if not hits or k <= 0:
            return []
        if not query.strip():
            return list(hits[:k])
        return _select_top(hits, self.compute_scores(query, hits), k)

    def compute_scores(self, query: str, hits: Sequence[Hit]) -> NDArray[np.float64]:
        """Return the weighted sum of the standardized features of each hit, shape (n_hits,)."""
        import numpy as np

        weights = self._weights or load_shipped_weights()
        table = compute_hit_features(query, hits, self._embedder)
        row = [weights.search, weights.title, weights.passage, weights.tokens]
        return standardise_columns(table) @ np.array(row)


def compute_hit_features(
    query: str, hits: Sequence[Hit], embedder: TextEncoder
) -> NDArray[np.float64]:
    """Return the search score, title cosine, passage cosine and MaxSim, shape (n_hits, 4)."""
    import numpy as np

    passages = [sample_passages(hit.document) for hit in hits]
    titles = [hit.document.title.strip() for hit in hits]
    texts = [query, *filter(None, titles), *(text for group in passages for text in group)]
    unique = list(dict.fromkeys(texts))
    known = dict(zip(unique, encode_tokens(embedder, unique), strict=True))
    encoded = known[query]
    # Threads would only slow down a hundred small matrix products.
    with _find_blas_libraries().limit(limits=1, user_api="blas"):
        matches = {text: match_tokens(encoded.tokens, known[text].tokens) for text in unique[1:]}
    rows: list[tuple[float, float, float, float]] = []
    for hit, title, group in zip(hits, titles, passages, strict=True):
        cosines = [float(encoded.vector @ known[text].vector) for text in group]
        in_title = float(encoded.vector @ known[title].vector) if title else None
        in_passage = max(cosines, default=in_title or 0.0)
        late = max_sim([matches[text] for text in (title, *group) if text in matches])
        rows.append((hit.score, in_passage if in_title is None else in_title, in_passage, late))
    return np.array(rows, dtype=np.float64)


@functools.cache
def _find_blas_libraries() -> ThreadpoolController:
    """Find the loaded BLAS libraries, and cache the result because finding them is slow."""
    return ThreadpoolController()


def match_tokens(query: NDArray[np.floating], text: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the cosine of each query token and the most similar token of a text.

    Args:
        query: Unit vectors of shape (n_query_tokens, n_dimensions).
        text: Unit vectors of shape (n_tokens, n_dimensions).

    Returns:
        Values in [-1, 1] of shape (n_query_tokens,), or (0,) if the query or the text is empty.
    """
    if not len(query) or not len(text):
        return query[:0, :1].ravel()
    return (query @ text.T).max(axis=1)


def max_sim(matches: Sequence[NDArray[np.floating]]) -> float:
    """Return the MaxSim score of a query and a document.

    MaxSim(q, d) = mean over tokens i of q of max over tokens j of d of q_i . d_j
    (Khattab and Zaharia 2020, SIGIR, equation 3, with a mean in place of the sum)

    Args:
        matches: Result of `match_tokens` for each part of the document.

    Returns:
        Value in [-1, 1], or 0 if the query or the document has no tokens.

    Example:
        >>> import numpy as np
        >>> parts = [np.array([[1.0, 0.0]]), np.array([[0.8, 0.6]])]
        >>> round(max_sim([match_tokens(np.eye(2), part) for part in parts]), 2)
        0.8
    """
    import numpy as np

    filled = [match for match in matches if len(match)]
    return float(np.max(filled, axis=0).mean()) if filled else 0.0


def encode_tokens(embedder: TextEncoder, texts: Sequence[str]) -> list[Encoded]:
    """Embed texts and their tokens; without token vectors, each text counts as one token."""
    if isinstance(embedder, TokenVectorEncoder):
        return embedder.encode_tokens(texts)
    vectors = embedder.encode(texts)
    return [Encoded(vector, vector[None]) for vector in vectors]


def sample_passages(document: Document) -> list[str]:
    """Return every second passage of a document, and always its last passage."""
    texts = [span.text for span in list_windows(document)]
    return texts[::STRIDE] if len(texts) % STRIDE else [*texts[::STRIDE], *texts[-1:]]


def list_reranked_texts(document: Document) -> list[str]:
    """Return the texts of a document that the embedded reranker embeds: title and passages."""
    title = document.title.strip()
    return [*([title] if title else []), *sample_passages(document)]


def standardise_columns(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each column to mean 0 and variance 1, or to 0 if the column is constant."""
    import numpy as np

    spread = table.std(axis=0)
    constant = spread < 1e-9
    return np.where(constant, 0.0, (table - table.mean(axis=0)) / np.where(constant, 1.0, spread))


class CrossEncoderReranker:
    """Reranks hits with a sentence-transformers cross-encoder, which is loaded on first use.

    Args:
        model: Name of a model on the Hugging Face Hub, or path of a model folder.

    Raises:
        ExtraError: A required package is not installed.
    """

    def __init__(self, model: str) -> None:
        need(*EXTRAS["hub"])
        self.name = model
        self._model: CrossEncoder | None = None
        self._lock = threading.Lock()

    def rerank(self, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
        """Return the best `k` hits, scored on the query and the title and text of each hit.

        Args:
            k: Number of hits to return; with 0 or less, the list is empty.

        Raises:
            SettingsError: The model is unavailable, or returns several scores for each hit.
        """
        if not hits or k <= 0:
            return []
        pairs = [(query, f"{h.document.title} {h.document.text}".strip()) for h in hits]
        with self._lock:
            if self._model is None:
                from sentence_transformers import CrossEncoder

                with guard_loading(self.name):
                    self._model = CrossEncoder(self.name, device="cpu", trust_remote_code=False)
            scores = self._model.predict(pairs, show_progress_bar=False, convert_to_numpy=True)
        if scores.ndim != 1:
            raise SettingsError(
                f"{self.name} returns {scores.shape[1]} scores per pair, but a reranker needs one; "
                "use a relevance cross-encoder such as cross-encoder/ms-marco-MiniLM-L6-v2"
            )
        return _select_top(hits, scores, k)


def _select_top(hits: Sequence[Hit], scores: NDArray[np.floating], k: int) -> list[Hit]:
    import numpy as np

    order = np.argsort(-scores, kind="stable")[:k]
    return [Hit(hits[int(i)].document, float(scores[int(i)])) for i in order]


def select_closest_sentences(
    claim: str,
    sentences: Sequence[str],
    embedder: TextEncoder,
    n: int,
    wanted: Collection[int] = (),
) -> list[str]:
    """Return the `n` sentences most similar to a claim, in their original order.

    Args:
        n: Maximum number of sentences, at least 1.
        wanted: Indices of sentences to choose before all others.
    """
    if len(sentences) <= n:
        return list(sentences)
    vectors = embedder.encode([claim, *sentences])
    order = sorted(
        range(len(sentences)), key=lambda i: (i not in wanted, -float(vectors[i + 1] @ vectors[0]))
    )
    return [sentences[i] for i in sorted(order[:n])]

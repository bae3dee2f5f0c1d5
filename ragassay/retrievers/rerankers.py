"""Rerank search results: by BM25 and embeddings together, or by a cross-encoder."""

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
from ragassay.models.weights import loading
from ragassay.records import Document
from ragassay.retrievers.literature import Hit
from ragassay.text.search import windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import CrossEncoder


DEPTH = 50
"""How many hits of a search to pass; the weights were fitted on the best 50 by BM25."""

STRIDE = 2
"""Every second run of three sentences is embedded: each sentence is in one, at half the cost."""


class Reranker(Protocol):
    """Reorders the hits of a search. Calls are safe across threads."""

    def rerank(self, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
        """Return the `k` best hits with the reranker's scores, best first; ties in their order."""
        ...


class TextEncoder(Protocol):
    """The part of `ragassay.models.embeddings.Embedder` that a reranker needs."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of length 1, shape (n_texts, n_dimensions); (0, 0) without a text."""
        ...


@runtime_checkable
class TokenVectorEncoder(Protocol):
    """A `TextEncoder` that also returns the vectors of tokens."""

    def encode_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        """Return each text's vector and those of its tokens in context."""
        ...


class FusionWeights(BaseModel):
    """Weights of the features of a hit, each standardised over the hits of its query.

    Attributes:
        search: Weight of the search's own score (BM25).
        title: Weight of the cosine of query and title.
        passage: Weight of the highest cosine of query and a passage.
        tokens: Weight of `max_sim` over the tokens of title and passages.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    search: float
    title: float
    passage: float
    tokens: float = 0.0


@functools.cache
def shipped_weights() -> FusionWeights:
    """Read the weights that `python -m training.reranking` fitted."""
    text = files("ragassay.retrievers").joinpath("weights/reranker.json").read_text("utf-8")
    return FusionWeights.model_validate_json(text)


class EmbeddedReranker:
    """Orders hits by a weighted sum of the search's score and three similarities.

    s(q, d) = w_1 z(search) + w_2 z(cos(q, title)) + w_3 z(max over passages p of cos(q, p)) + w_4
    z(MaxSim(q, d)), z(x) = (x - mean) / standard deviation over the hits; 0 where all are alike. A
    document without title counts as its best passage does, and one without text as its title does.
    With an embedder without token vectors, each title or passage is one token.

    Args:
        embedder: Encodes queries, titles and passages; the weights were fitted to the packaged one.
        weights: By default those that ragassay ships.
    """

    def __init__(self, embedder: TextEncoder, weights: FusionWeights | None = None) -> None:
        self._embedder = embedder
        self._weights = weights

    def rerank(self, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
        """Return the `k` best hits; their scores are sums of standardised features, of either sign.

        Args:
            query: In plain words. For white space alone, the hits keep the search's order.
            k: 0 or less returns an empty list.
        """
        if not hits or k <= 0:
            return []
        if not query.strip():
            return list(hits[:k])
        return _best(hits, self.scores(query, hits), k)

    def scores(self, query: str, hits: Sequence[Hit]) -> NDArray[np.float64]:
        """Return the weighted sum for each hit, shape (n_hits,)."""
        import numpy as np

        weights = self._weights or shipped_weights()
        table = features(query, hits, self._embedder)
        of_column = [weights.search, weights.title, weights.passage, weights.tokens]
        return standardise_columns(table) @ np.array(of_column)


def features(query: str, hits: Sequence[Hit], embedder: TextEncoder) -> NDArray[np.float64]:
    """Return search score, title and best passage cosine, and MaxSim, shape (n_hits, 4)."""
    import numpy as np

    passages = [passage_texts(hit.document) for hit in hits]
    titles = [hit.document.title.strip() for hit in hits]
    texts = [query, *(t for t in titles if t), *(p for found in passages for p in found)]
    unique = list(dict.fromkeys(texts))
    known = dict(zip(unique, encode_tokens(embedder, unique), strict=True))
    asked = known[query]
    tokens = {text: known[text].tokens for text in unique[1:]}
    # On one core: with two, the threads would wait for each other in hundreds of small products.
    with _threads().limit(limits=1, user_api="blas"):
        matches = {text: best_matches(asked.tokens, rows) for text, rows in tokens.items()}
    rows: list[tuple[float, float, float, float]] = []
    for hit, title, found in zip(hits, titles, passages, strict=True):
        passage = max((float(asked.vector @ known[p].vector) for p in found), default=None)
        titled = float(asked.vector @ known[title].vector) if title else None
        first = titled if titled is not None else passage
        second = passage if passage is not None else titled
        late = max_sim([matches[text] for text in (title, *found) if text in matches])
        rows.append((hit.score, first or 0.0, second or 0.0, late))
    return np.array(rows, dtype=np.float64)


@functools.cache
def _threads() -> ThreadpoolController:
    """Find the loaded BLAS libraries once, since each search for them is slow."""
    return ThreadpoolController()


def best_matches(query: NDArray[np.floating], text: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return, for each token of a query, the cosine with a text's closest token.

    Args:
        query: Vectors of length 1, shape (n_query_tokens, n_dimensions).
        text: Vectors of length 1, shape (n_tokens, n_dimensions).

    Returns:
        Shape (n_query_tokens,), in [-1, 1]; shape (0,) where one has no token.
    """
    if not len(query) or not len(text):
        return query[:0, :1].ravel()
    return (query @ text.T).max(axis=1)


def max_sim(matches: Sequence[NDArray[np.floating]]) -> float:
    """Return the mean best match of a query's tokens in a document.

    MaxSim(q, d) = mean over tokens i of q of max over tokens j of d of q_i . d_j
    (Khattab and Zaharia 2020, SIGIR, equation 3, which sums: the order is the same)

    Args:
        matches: From `best_matches`, of the query with each part of the document.

    Returns:
        In [-1, 1]; 0 where query or document has no token.

    Example:
        >>> import numpy as np
        >>> parts = [np.array([[1.0, 0.0]]), np.array([[0.8, 0.6]])]
        >>> round(max_sim([best_matches(np.eye(2), part) for part in parts]), 2)
        0.8
    """
    import numpy as np

    filled = [match for match in matches if len(match)]
    return float(np.max(filled, axis=0).mean()) if filled else 0.0


def encode_tokens(embedder: TextEncoder, texts: Sequence[str]) -> list[Encoded]:
    """Return vectors of texts and tokens; without token vectors, a text is its own token."""
    if isinstance(embedder, TokenVectorEncoder):
        return embedder.encode_tokens(texts)
    vectors = embedder.encode(texts)
    return [Encoded(vector, vector[None]) for vector in vectors]


def passage_texts(document: Document) -> list[str]:
    """Return every second passage of a document, and its last; empty where it has no text."""
    found = [span.text for span in windows(document)]
    return found[::STRIDE] if len(found) % STRIDE else [*found[::STRIDE], *found[-1:]]


def reranked_texts(document: Document) -> list[str]:
    """Return the texts of a document that the embedded reranker embeds."""
    title = document.title.strip()
    return [*([title] if title else []), *passage_texts(document)]


def standardise_columns(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns with mean 0 and variance 1, shape (n, n_features); 0 for equal rows."""
    import numpy as np

    spread = table.std(axis=0)
    constant = spread < 1e-9
    return np.where(constant, 0.0, (table - table.mean(axis=0)) / np.where(constant, 1.0, spread))


class CrossEncoderReranker:
    """A cross-encoder that sentence-transformers can load; it is loaded at the first call.

    Args:
        model: A name on the hub or a folder.

    Raises:
        ExtraError: What loads it is not installed.
    """

    def __init__(self, model: str) -> None:
        need(*EXTRAS["hub"])
        self.name = model
        self._model: CrossEncoder | None = None
        self._lock = threading.Lock()

    def rerank(self, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
        """Return the `k` best hits with the cross-encoder's scores over query and "title text".

        Args:
            query: In plain words.
            k: 0 or less returns an empty list.

        Raises:
            SettingsError: The model is unavailable, or gives several scores for a pair.
        """
        if not hits or k <= 0:
            return []
        pairs = [(query, f"{h.document.title} {h.document.text}".strip()) for h in hits]
        with self._lock:
            if self._model is None:
                from sentence_transformers import CrossEncoder

                with loading(self.name):
                    self._model = CrossEncoder(self.name, device="cpu", trust_remote_code=False)
            scores = self._model.predict(pairs, show_progress_bar=False, convert_to_numpy=True)
        if scores.ndim != 1:
            raise SettingsError(
                f"{self.name} gives {scores.shape[1]} labels for a pair, and a reranker gives one "
                "score: name a cross-encoder of relevance, e.g. cross-encoder/ms-marco-MiniLM-L6-v2"
            )
        return _best(hits, scores, k)


def _best(hits: Sequence[Hit], scores: NDArray[np.floating], k: int) -> list[Hit]:
    """Return the `k` hits with the highest scores, now their own; ties in their order."""
    import numpy as np

    order = np.argsort(-scores, kind="stable")[:k]
    return [Hit(hits[int(i)].document, float(scores[int(i)])) for i in order]


def closest_sentences(
    claim: str,
    sentences: Sequence[str],
    embedder: TextEncoder,
    n: int,
    wanted: Collection[int] = (),
) -> list[str]:
    """Return at most `n` sentences, those closest to a claim, in their order.

    Args:
        sentences: May be empty.
        embedder: Provides the vectors for the cosine.
        n: At least 1.
        wanted: Positions of sentences to choose before others.
    """
    if len(sentences) <= n:
        return list(sentences)
    vectors = embedder.encode([claim, *sentences])
    order = sorted(
        range(len(sentences)), key=lambda i: (i not in wanted, -float(vectors[i + 1] @ vectors[0]))
    )
    return [sentences[i] for i in sorted(order[:n])]

"""Test doubles used by several tests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragassay.models.embeddings import Encoded
from ragassay.records import Document
from ragassay.retrievers.literature import ANY, Filters, Hit
from ragassay.testing.chat_completions import tokenise
from ragassay.text.search import tokenize

N_DIMENSIONS = 64


def certain_logprobs(text: str, n_top: int, seed: str) -> dict[str, list[dict[str, object]]]:
    """Replace `build_logprobs`: each token is certain, so the score equals the rating."""
    tokens = [
        {"token": token, "logprob": 0.0, "bytes": list(token.encode())} for token in tokenise(text)
    ]
    return {"content": [{**token, "top_logprobs": [token][:n_top]} for token in tokens]}


@dataclass(frozen=True)
class FakeCorpus:
    """Corpus that gives the documents that a function returns for a query."""

    find: Callable[[str], Sequence[Document]]
    sha256: str = "fake"

    def get(self, identifier: str) -> None:
        return None

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        return [Hit(document, 1.0) for document in self.find(query)]


@dataclass
class WordEmbedder:
    """Embedder of texts as hashed bags of words, without a model."""

    name: str = "words"
    digest: str = ""
    asked: list[str] = field(default_factory=list)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        vectors = np.zeros((len(texts), N_DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in tokenize(text):
                place = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
                vectors[row, place % N_DIMENSIONS] += 1
            norm = np.linalg.norm(vectors[row])
            vectors[row] /= norm or 1
        return vectors


class TokenEmbedder(WordEmbedder):
    """A `WordEmbedder` whose tokens are words."""

    def encode_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        words = [
            WordEmbedder().encode(tokenize(text)).astype(np.float16).reshape(-1, N_DIMENSIONS)
            for text in texts
        ]
        return [Encoded(v, w) for v, w in zip(self.encode(texts), words, strict=True)]

"""The passage that speaks to a claim: BM25 over documents, then embeddings."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, PrivateAttr

from ragassay.records import Document, EvidenceSpan
from ragassay.retrievers.bm25 import Bm25Index
from ragassay.retrievers.passages import windows

if TYPE_CHECKING:
    from ragassay.models.embeddings import Embedder

N_CANDIDATES = 10
"""Documents that BM25 hands to the reranker."""


class Corpus:
    """Documents by id, with a BM25 index that is built when it is first searched."""

    def __init__(self, documents: Sequence[Document] = ()) -> None:
        self.documents = tuple(documents)
        self._by_id = {document.id: document for document in documents}

    @functools.cached_property
    def sha256(self) -> str:
        """Hash of all documents in their order."""
        digest = hashlib.sha256()
        for document in self.documents:
            digest.update(document.model_dump_json().encode())
        return digest.hexdigest()

    @functools.cached_property
    def _index(self) -> Bm25Index:
        return Bm25Index([f"{d.title} {d.text}" for d in self.documents])

    def get(self, identifier: str) -> Document | None:
        """The document of this id, or None."""
        return self._by_id.get(identifier)

    def search(self, query: str, k: int = N_CANDIDATES) -> list[Document]:
        """The `k` best documents by BM25 over title and text; each shares a word with the query."""
        return [self.documents[i] for i, _ in self._index.search(query, k)]


def best_passages(
    claims: Sequence[str], candidates: Sequence[Sequence[Document]], embedder: Embedder
) -> list[EvidenceSpan | None]:
    """For each claim the passage of its candidate documents with the highest cosine similarity.

    Args:
        claims: The claims.
        candidates: Documents to look in, for each claim.
        embedder: The reranking model.

    Returns:
        One passage a claim; None where its candidates have no text.
    """
    passages = {
        document.id: windows(document) for documents in candidates for document in documents
    }
    texts = list(dict.fromkeys(p.text for found in passages.values() for p in found))
    vectors = dict(zip(texts, embedder.encode(texts), strict=True))
    best: list[EvidenceSpan | None] = []
    for claim, query, documents in zip(
        claims, embedder.encode(list(claims)), candidates, strict=True
    ):
        own = [p for document in documents for p in passages[document.id]] if claim else []
        scored = [(float(query @ vectors[p.text]), -i, p) for i, p in enumerate(own)]
        if not scored:
            best.append(None)
            continue
        score, _, passage = max(scored, key=lambda item: item[:2])
        best.append(passage.model_copy(update={"relevance_score": round(score, 4)}))
    return best


class PassageRetriever(BaseRetriever):
    """The same search as a LangChain retriever: passages of a corpus, best first.

    Args:
        corpus: What is searched.
        embedder: The reranking model.
        k: How many passages to return, one a document.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    corpus: Corpus
    k: int = 5
    _embedder: Embedder = PrivateAttr()

    def __init__(self, corpus: Corpus, embedder: Embedder, k: int = 5) -> None:
        super().__init__(corpus=corpus, k=k)  # type: ignore[call-arg]
        self._embedder = embedder

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[LangChainDocument]:
        documents = self.corpus.search(query, max(self.k, N_CANDIDATES))
        found = best_passages([query] * len(documents), [[d] for d in documents], self._embedder)
        passages = sorted((p for p in found if p), key=lambda p: -(p.relevance_score or 0.0))
        return [
            LangChainDocument(
                page_content=p.text,
                metadata={
                    "id": p.document,
                    "start": p.start,
                    "end": p.end,
                    "score": p.relevance_score,
                },
            )
            for p in passages[: self.k]
        ]

"""The passage that speaks to a claim: BM25 over documents, then embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from ragassay.records import Document, EvidenceSpan
from ragassay.retrievers.literature import ANY, Filters
from ragassay.retrievers.passages import windows

if TYPE_CHECKING:
    from ragassay.models.embeddings import Embedder

N_CANDIDATES = 10
"""Documents that BM25 hands to the reranker."""


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
    """Passages as a LangChain retriever finds them: the best one of each document, best first.

    Args:
        literature: What is searched.
        embedder: The model that compares passages with the query.
        k: How many passages to return.
        filters: Which articles to look at.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    literature: Any
    embedder: Any
    k: int = 5
    filters: Filters = ANY

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[LangChainDocument]:
        hits = self.literature.search(query, max(self.k, N_CANDIDATES), self.filters)
        own = [[hit.document] for hit in hits]
        found = best_passages([query] * len(own), own, self.embedder)
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

"""The passages that speak to a claim: documents ranked anew, then the passage of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from ragassay.records import Document, EvidenceSpan
from ragassay.retrievers.bm25 import Bm25Index
from ragassay.retrievers.literature import ANY, Filters, Hit
from ragassay.retrievers.passages import WINDOW, windows
from ragassay.retrievers.rerank import DEPTH, Reranker

if TYPE_CHECKING:
    from ragassay.models.embeddings import Embedder

N_CANDIDATES = 10
"""Documents that a query brings up."""


@dataclass(frozen=True)
class Wanted:
    """A claim that passages are wanted for.

    Attributes:
        claim: The claim.
        documents: Where to look; ids differ.
        k: From how many documents, at most.
    """

    claim: str
    documents: Sequence[Document]
    k: int = 1


def find_passages(
    wanted: Sequence[Wanted],
    reranker: Reranker | None,
    embedder: Embedder,
    size: int = WINDOW,
) -> list[tuple[EvidenceSpan, ...]]:
    """For each claim the best passage of each of its `k` best documents, the best document first.

    Args:
        wanted: An empty claim has no passage.
        reranker: Ranks the documents; None leaves them in the order of BM25 among themselves.
        embedder: Compares claim and passages; a passage carries their cosine similarity.
        size: Sentences of a passage.
    """
    documents = {d.id: d for w in wanted for d in w.documents}
    index = Bm25Index([f"{d.title} {d.text}" for d in documents.values()])
    names = list(documents)
    chosen: list[list[Document]] = []
    for w in wanted:
        scores = {names[place]: score for place, score in index.search(w.claim)}
        chosen.append(_ranked(w, scores, reranker))
    pairs = [(w.claim, d) for w, found in zip(wanted, chosen, strict=True) for d in found]
    claims, own = [claim for claim, _ in pairs], [[document] for _, document in pairs]
    spans = iter(best_passages(claims, own, embedder, size))
    return [tuple(span for _ in found if (span := next(spans))) for found in chosen]


def _ranked(
    wanted: Wanted, scores: Mapping[str, float], reranker: Reranker | None
) -> list[Document]:
    """The `k` documents that speak most to a claim: by BM25, and of the best by the reranker."""
    if not wanted.claim.strip():
        return []
    hits = [Hit(document, scores.get(document.id, 0.0)) for document in wanted.documents]
    hits = sorted(hits, key=lambda hit: -hit.score)[:DEPTH]
    if reranker is not None and len(hits) > 1:
        hits = reranker.rerank(wanted.claim, hits, wanted.k)
    return [hit.document for hit in hits[: wanted.k]]


def best_passages(
    claims: Sequence[str],
    candidates: Sequence[Sequence[Document]],
    embedder: Embedder,
    size: int = WINDOW,
) -> list[EvidenceSpan | None]:
    """For each claim the passage of its candidate documents with the highest cosine similarity.

    Args:
        claims: The claims.
        candidates: Documents to look in, for each claim.
        embedder: The reranking model.
        size: Sentences of a passage.

    Returns:
        One passage a claim; None where its candidates have no text.
    """
    passages = {
        document.id: windows(document, size) for documents in candidates for document in documents
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

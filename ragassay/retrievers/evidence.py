"""Find passages relevant to a claim: rerank documents, then select each one's passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.models.text_roles import encode_role
from ragassay.records import Document, EvidenceSpan
from ragassay.retrievers.literature import Hit
from ragassay.retrievers.passages import WINDOW, windows
from ragassay.retrievers.rerank import DEPTH, Reranker
from ragassay.text.bm25 import Bm25Index

if TYPE_CHECKING:
    from ragassay.models.embeddings import Embedder

N_CANDIDATES = 10
"""Documents that a query returns."""


@dataclass(frozen=True)
class Wanted:
    """A claim to find passages for.

    Attributes:
        claim: The claim.
        documents: The documents to search; ids differ.
        k: The most documents to take passages from.
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
    """Return, for each claim, the best passage of each of its `k` best documents, best first.

    Args:
        wanted: An empty claim has no passage.
        reranker: Ranks the documents; None keeps them in BM25's order.
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
    """Return the `k` documents most relevant to a claim: by BM25, the best of them reranked."""
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
    """Return, for each claim, its documents' passage with the highest cosine similarity.

    Args:
        claims: The claims.
        candidates: The documents to search, for each claim.
        embedder: The reranking model.
        size: Sentences of a passage.

    Returns:
        One passage a claim; None where its candidates have no text.
    """
    passages = {
        document.id: windows(document, size) for documents in candidates for document in documents
    }
    texts = list(dict.fromkeys(p.text for found in passages.values() for p in found))
    vectors = dict(zip(texts, encode_role(embedder, texts, "passage"), strict=True))
    best: list[EvidenceSpan | None] = []
    for claim, query, documents in zip(
        claims, encode_role(embedder, list(claims), "query"), candidates, strict=True
    ):
        own = [p for document in documents for p in passages[document.id]] if claim else []
        scored = [(float(query @ vectors[p.text]), -i, p) for i, p in enumerate(own)]
        if not scored:
            best.append(None)
            continue
        score, _, passage = max(scored, key=lambda item: item[:2])
        best.append(passage.model_copy(update={"relevance_score": round(score, 4)}))
    return best

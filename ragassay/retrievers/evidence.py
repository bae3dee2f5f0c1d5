"""Find passages for a claim with fused rankings, reranking and embedding similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.models.embeddings import encode_role
from ragassay.records import Document, EvidenceSpan
from ragassay.retrievers.literature import Hit
from ragassay.retrievers.rerankers import DEPTH, Reranker
from ragassay.text.search import WINDOW, Bm25Index, list_windows

if TYPE_CHECKING:
    from ragassay.models.embeddings import Embedder


RRF_K = 60
"""Constant k of reciprocal rank fusion, which Cormack et al. chose in pilot runs."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], k: int = RRF_K
) -> list[tuple[str, float]]:
    """Combine several rankings into one by reciprocal rank fusion.

    RRF(d) = sum over r in R with d in r of 1 / (k + r(d))   (Cormack, Clarke & Büttcher 2009,
    SIGIR, section 2)

    Args:
        rankings: Rankings of ids, best first. If a ranking contains an id twice, the better rank
            counts.
        k: Constant of at least 0; larger values reduce the weight of the top ranks.

    Returns:
        Unique ids with scores in (0, n_rankings / (k + 1)], best first. Ids with equal scores keep
        the input order.

    Raises:
        ValueError: `k` is negative.

    Example:
        >>> [d for d, _ in reciprocal_rank_fusion([["a", "b", "c"], ["b", "d"]])]
        ['b', 'a', 'd', 'c']
    """
    if k < 0:
        raise ValueError(f"k must be at least 0, got {k}")
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, identifier in enumerate(dict.fromkeys(ranking), start=1):
            scores[identifier] = scores.get(identifier, 0.0) + 1 / (k + rank)
    return sorted(scores.items(), key=lambda item: -item[1])


N_CANDIDATES = 10
"""Default number of documents to retrieve for a claim."""


@dataclass(frozen=True)
class Wanted:
    """A claim, the documents to search for evidence, and the number of passages to find."""

    claim: str
    documents: Sequence[Document]
    k: int = 1


def find_passages(
    wanted: Sequence[Wanted],
    reranker: Reranker | None,
    embedder: Embedder,
    size: int = WINDOW,
) -> list[tuple[EvidenceSpan, ...]]:
    """Find the top `k` documents for each claim, and return the best passage of each document.

    Args:
        wanted: Claims with the documents to search; an empty claim gets no passages.
        reranker: Document reranker, or None to keep the BM25 order.
        embedder: Embedding model that measures the similarity of claims and passages.
    """
    documents = {d.id: d for w in wanted for d in w.documents}
    index = Bm25Index([f"{d.title} {d.text}" for d in documents.values()])
    names = list(documents)
    chosen: list[list[Document]] = []
    for w in wanted:
        scores = {names[i]: score for i, score in index.search(w.claim)}
        chosen.append(_rank_documents(w, scores, reranker))
    pairs = [(w.claim, d) for w, top in zip(wanted, chosen, strict=True) for d in top]
    claims, candidates = [claim for claim, _ in pairs], [[document] for _, document in pairs]
    spans = iter(find_best_passages(claims, candidates, embedder, size))
    return [tuple(span for _ in top if (span := next(spans))) for top in chosen]


def _rank_documents(
    wanted: Wanted, scores: Mapping[str, float], reranker: Reranker | None
) -> list[Document]:
    if not wanted.claim.strip():
        return []
    hits = [Hit(document, scores.get(document.id, 0.0)) for document in wanted.documents]
    hits = sorted(hits, key=lambda hit: -hit.score)[:DEPTH]
    if reranker is not None and len(hits) > 1:
        hits = reranker.rerank(wanted.claim, hits, wanted.k)
    return [hit.document for hit in hits[: wanted.k]]


def find_best_passages(
    claims: Sequence[str],
    candidates: Sequence[Sequence[Document]],
    embedder: Embedder,
    size: int = WINDOW,
) -> list[EvidenceSpan | None]:
    """Return the passage with the highest cosine similarity to each claim.

    Args:
        candidates: Documents to search for each claim.

    Returns:
        One passage per claim, or None if the claim is empty or its documents have no text.
    """
    passages = {
        document.id: list_windows(document, size)
        for documents in candidates
        for document in documents
    }
    texts = list(dict.fromkeys(p.text for spans in passages.values() for p in spans))
    vectors = dict(zip(texts, encode_role(embedder, texts, "passage"), strict=True))
    best: list[EvidenceSpan | None] = []
    for claim, query, documents in zip(
        claims, encode_role(embedder, list(claims), "query"), candidates, strict=True
    ):
        spans = [p for document in documents for p in passages[document.id]] if claim else []
        if not spans:
            best.append(None)
            continue
        scores = [float(query @ vectors[span.text]) for span in spans]
        score = max(scores)
        passage = spans[scores.index(score)]
        best.append(passage.model_copy(update={"relevance_score": round(score, 4)}))
    return best

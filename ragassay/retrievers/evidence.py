"""Find passages relevant to a claim: fuse rankings, rerank documents, select each one's passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.models.embeddings import encode_role
from ragassay.records import Document, EvidenceSpan
from ragassay.retrievers.literature import Hit
from ragassay.retrievers.rerankers import DEPTH, Reranker
from ragassay.text.search import WINDOW, Bm25Index, windows

if TYPE_CHECKING:
    from ragassay.models.embeddings import Embedder


RRF_K = 60
"""Damps the first ranks; Cormack et al. fixed it on pilot runs and it is rarely changed."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], k: int = RRF_K
) -> list[tuple[str, float]]:
    """Fuse rankings by the sum of their reciprocal ranks.

    RRF(d) = sum over r in R with d in r of 1 / (k + r(d))   (Cormack, Clarke & Büttcher 2009,
    SIGIR, section 2)

    Args:
        rankings: Ids, best first, ranks counted from 1. A ranking need not contain every id: a
            missing one adds nothing. An id that occurs twice in a ranking counts at its best.
        k: At least 0; the larger, the less the first ranks dominate.

    Returns:
        Each id once with its score in (0, n_rankings / (k + 1)], best first. Ties keep the order of
        first appearance, ranking by ranking. Empty without a ranking.

    Raises:
        ValueError: `k` is negative.

    Example:
        >>> [d for d, _ in reciprocal_rank_fusion([["a", "b", "c"], ["b", "d"]])]
        ['b', 'a', 'd', 'c']
    """
    if k < 0:
        raise ValueError(f"k is {k}: give 0 or more (60 in the paper)")
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, identifier in enumerate(dict.fromkeys(ranking), start=1):
            scores[identifier] = scores.get(identifier, 0.0) + 1 / (k + rank)
    return sorted(scores.items(), key=lambda item: -item[1])


N_CANDIDATES = 10
"""Documents that a query returns."""


@dataclass(frozen=True)
class Wanted:
    """A claim to find passages for.

    Attributes:
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
        chosen.append(_rank_documents(w, scores, reranker))
    pairs = [(w.claim, d) for w, found in zip(wanted, chosen, strict=True) for d in found]
    claims, own = [claim for claim, _ in pairs], [[document] for _, document in pairs]
    spans = iter(best_passages(claims, own, embedder, size))
    return [tuple(span for _ in found if (span := next(spans))) for found in chosen]


def _rank_documents(
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

"""Compare retrieval methods on SciFact's training claims, printing lines of JSON.

python benchmarks/scifact.py --shared ../shared [--cache FOLDER]

Each measure is printed as a mean with a 95 % interval over the claims. The reranker's weights are
cross-validated: each claim is ranked with weights fitted to other folds, and claims with a common
relevant abstract are in the same fold. Without a cache, the first run embeds 30,000 texts, which
takes most of an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from ragassay.metrics.papers.retrieval import score_retrieval
from ragassay.models.computed import cache_results
from ragassay.models.embeddings import Embedder
from ragassay.retrievers.evidence import reciprocal_rank_fusion
from ragassay.retrievers.rerankers import DEPTH, EmbeddedReranker, TextEncoder

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.reranking import (
    N_FOLDS,
    SEED,
    Bm25Search,
    SciFact,
    collect,
    cross_validated,
    group_folds,
    read_scifact,
)
from training.tokens import CachedTokenEncoder

CACHE_MB = 4096
N_FOUND = 100

Run = dict[str, dict[str, float]]


def show(what: str, data: SciFact, run: Run, note: str = "") -> None:
    figures = {
        name: [round(x, 4) for x in (score.value, score.low, score.high) if x is not None]
        for name, score in score_retrieval(data.qrels, run).items()
    }
    print(json.dumps({"what": what, "note": note, **figures}), flush=True)


def searched(data: SciFact, search: Bm25Search) -> Run:
    return {
        query: {hit.document.id: hit.score for hit in search.search(claim, N_FOUND)}
        for query, claim in data.claims.items()
    }


def embedded(data: SciFact, encoder: TextEncoder) -> Run:
    from rich.progress import track

    names = list(data.documents)
    texts = [f"{d.title} {d.text}" for d in data.documents.values()]
    starts = range(0, len(texts), N_FOUND)
    rows = [encoder.encode(texts[i : i + N_FOUND]) for i in track(starts, "Embedding abstracts")]
    cosines = encoder.encode(list(data.claims.values())) @ np.concatenate(rows).T
    best = np.argsort(-cosines, axis=1, kind="stable")[:, :N_FOUND]
    return {
        query: {names[i]: float(row[i]) for i in order}
        for query, row, order in zip(data.claims, cosines, best, strict=True)
    }


def fused(runs: list[Run], queries: list[str]) -> Run:
    def ranking(run: Run, query: str) -> list[str]:
        return sorted(run[query], key=lambda name: -run[query][name])

    return {
        query: dict(reciprocal_rank_fusion([ranking(run, query) for run in runs]))
        for query in queries
    }


def reranked(data: SciFact, bm25: Run, search: Bm25Search, encoder: TextEncoder) -> Run:
    folds = group_folds(data.qrels, N_FOLDS, SEED)
    run = cross_validated(collect(data, search, encoder), folds)
    # Append the remaining search results in their order.
    for query, best in run.items():
        floor = min(best.values(), default=0.0)
        rest = [name for name in bm25[query] if name not in best]
        best.update({name: floor - 1 - position for position, name in enumerate(rest)})
    return run


def show_speed(data: SciFact, search: Bm25Search, n: int) -> None:
    reranker = EmbeddedReranker(Embedder())
    reranker.rerank("Warm up.", search.search("aspirin", 1), 1)
    seconds: list[float] = []
    for claim in list(data.claims.values())[:n]:
        hits = search.search(claim, DEPTH)
        start = time.perf_counter()
        reranker.rerank(claim, hits, 10)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"what": "seconds a claim", "n": n, "median_s": statistics.median(seconds)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument(
        "--timed", type=int, default=10, help="number of claims timed without a cache"
    )
    arguments = parser.parse_args()
    data = read_scifact(arguments.shared)
    search = Bm25Search(data.documents)
    bm25 = searched(data, search)
    show("BM25", data, bm25)
    cache = arguments.cache
    with cache_results(cache / "abstracts" if cache else Path(), CACHE_MB if cache else 0):
        dense = embedded(data, Embedder())
        show("all-MiniLM-L6-v2", data, dense)
        show("reciprocal rank fusion", data, fused([bm25, dense], list(data.claims)))
    with CachedTokenEncoder(Embedder(), cache / "tokens" if cache else None) as encoder:
        best = reranked(data, bm25, search, encoder)
    show("EmbeddedReranker", data, best, f"best {DEPTH} by BM25, {N_FOLDS} folds")
    show_speed(data, search, arguments.timed)


if __name__ == "__main__":
    main()

"""Measure search latency (p50 and p99) with 1 and 64 clients, for BM25's 1,000 best and reranked.

    python benchmarks/corpus_clients.py --shared ../shared --sizes 100000 1000000

The articles come from benchmarks/corpus.py: abstracts of realistic length with sentences
sampled from 31,932 real ones with a fixed seed. Each SciFact train claim is used as a query once.
Clients are threads of one process, as in an evaluation. The embedded reranker reorders the best 50
of the 1,000 hits. Its token vectors are stored in advance, as by `ragassay corpus embed --tokens`,
but are random. Computing real ones takes long, and reranking time does not depend on their values.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from corpus import SEED, abstracts, claims, sampled

from ragassay.models.embeddings import Embedder, Encoded
from ragassay.retrievers.disk.build import build_corpus
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.reranked_literature import (
    STORE,
    RerankedLiterature,
    StoredEncoder,
    TokenStore,
)
from ragassay.retrievers.rerankers import DEPTH, EmbeddedReranker, list_reranked_texts

K = 1000
N_CLIENTS = 64


def opened(args: argparse.Namespace, folder: Path, n: int) -> tuple[Literature, float]:
    """Build the literature of `n` articles, and return it with the build time in seconds."""
    file = folder / f"{n}.jsonl"
    with file.open("w") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in sampled(abstracts(args.shared), n))
    start = time.perf_counter()
    build_corpus([file], folder / f"corpus-{n}")
    literature = DiskCorpus(folder / f"corpus-{n}")
    took = time.perf_counter() - start
    file.unlink()
    return literature, took


def asked(search: Callable[[str, int], object], queries: Sequence[str], n: int) -> dict[str, float]:
    """Return the latencies when `n` clients share the queries."""

    def ask(query: str) -> float:
        start = time.perf_counter()
        search(query, K)
        return 1000 * (time.perf_counter() - start)

    start = time.perf_counter()
    with ThreadPoolExecutor(n) as clients:
        times = sorted(clients.map(ask, queries))
    return {
        "p50_ms": round(times[len(times) // 2], 1),
        "p99_ms": round(times[int(len(times) * 0.99)], 1),
        "queries_per_s": round(len(times) / (time.perf_counter() - start), 1),
    }


def store_tokens(literature: Literature, queries: Sequence[str], store: TokenStore) -> None:
    """Store random vectors for the best hits of the queries, one for each four characters."""
    rng = np.random.default_rng(SEED)
    hits = {h.document.id: h.document for q in queries for h in literature.search(q, DEPTH)}
    for document in hits.values():
        texts = list_reranked_texts(document)
        made = [rng.standard_normal((1 + min(len(t) // 4, 254), 384), np.float32) for t in texts]
        units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in made]
        store.add(texts, [Encoded(rows[0], rows[1:]) for rows in units])


def measured(args: argparse.Namespace, folder: Path, n: int) -> dict[str, Any]:
    literature, build_s = opened(args, folder, n)
    texts = claims(args.shared)
    plain, reranking = texts[: args.queries], texts[-args.reranked :]
    for query in texts[args.queries : args.queries + 20]:
        literature.search(query, K)
    row: dict[str, Any] = {"documents": n, "build_s": round(build_s, 1), "cores": os.cpu_count()}
    for n_clients in (1, N_CLIENTS):
        row[f"bm25_{n_clients}"] = asked(literature.search, plain, n_clients)
    store = TokenStore(folder / f"{n}-{STORE}", Embedder())
    store_tokens(literature, reranking, store)
    for n_clients in (1, N_CLIENTS):
        # A new embedder has no cached query vectors.
        reranker = EmbeddedReranker(StoredEncoder(Embedder(), store))
        reranked = RerankedLiterature(literature, reranker, "embedded")
        reranked.search("warm up", K)
        row[f"reranked_{n_clients}"] = asked(reranked.search, reranking, n_clients)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--queries", type=int, default=640, help="number of BM25 queries")
    parser.add_argument("--reranked", type=int, default=128, help="number of reranked queries")
    parsed = parser.parse_args()
    for n in parsed.sizes:
        with tempfile.TemporaryDirectory() as name:
            print(json.dumps(measured(parsed, Path(name), n)), flush=True)


if __name__ == "__main__":
    main()

"""A vector store at size: a Chroma server's load rate, memory, disk and latencies.

    python benchmarks/vectors.py --shared ../shared --sizes 100000 1000000 --limit-s 3000

Vectors of 384 dimensions: those of 8,000 titles of the real data by the embedded MiniLM; beyond
these, one of them plus half of another plus noise of length .3, made unit vectors again, seeded.
They are stored with the facts that `ragassay corpus embed` stores, in a graph of its width. Queries
are made in the same way. A size that is not reached within the limit is reported as far as it came.

For each size: vectors a second, peak and resting memory of the server, its disk, p50 and p99 of the
1,000 nearest by one client and by 64 at once, and how many of the true 1,000 and 10 are found. Then
how many of the true ones are found where all vectors are compared, but stored in fewer bits.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ragassay.retrievers.dense.chroma import connect
from ragassay.retrievers.dense.embed import HNSW

SEED = 20250714
N_A_BATCH = 2000
K = 1000
N_QUERIES = 640
N_CHECKED = 50
N_REAL = 8000

Vectors = NDArray[np.float32]


def titles(shared: Path) -> list[str]:
    with gzip.open(shared / "data" / "corpus" / "abstracts.jsonl.gz", "rt") as lines:
        return [json.loads(line)["title"] for line in itertools.islice(lines, N_REAL)]


def mixed(real: Vectors, n: int, seed: int) -> Vectors:
    """Unit vectors between and around the real ones."""
    rng = np.random.default_rng(seed)
    one, other = rng.integers(len(real), size=(2, n))
    noise = rng.standard_normal((n, real.shape[1]), dtype=np.float32)
    noise *= 0.3 / np.linalg.norm(noise, axis=1, keepdims=True)
    made = real[one] + 0.5 * real[other] + noise
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def block(real: Vectors, start: int) -> Vectors:
    """The vectors of one batch: the real ones first."""
    if start + N_A_BATCH <= len(real):
        return real[start : start + N_A_BATCH]
    return mixed(real, N_A_BATCH, SEED + start)


def facts(number: int) -> dict[str, Any]:
    digest = hashlib.sha256(str(number).encode()).hexdigest()[:32]
    return {"digest": digest, "day": 20000101 + number % 28, "retracted": False}


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, int]]:
    """A Chroma server; its address and its process."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    program = Path(sys.executable).parent / "chroma"
    words = [str(program), "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    environment = {**os.environ, "ANONYMIZED_TELEMETRY": "False"}
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment)
    try:
        for _ in range(300):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait()


def gib(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return round(int(next(line for line in lines if line.startswith(name)).split()[1]) / 2**20, 2)


def load(collection: Any, real: Vectors, first: int, n: int, until: float) -> int:
    """Add vectors up to `n`, or as many as the time allows; return how many there are."""
    for start in range(first, n, N_A_BATCH):
        if time.monotonic() > until:
            return start
        numbers = range(start, start + N_A_BATCH)
        collection.upsert(
            ids=[str(40_000_000 + number) for number in numbers],
            embeddings=block(real, start),
            metadatas=[facts(number) for number in numbers],
        )
    return n


def latencies(collection: Any, queries: Vectors, n_clients: int) -> tuple[float, float, float]:
    """p50 and p99 in ms, and queries a second."""

    def ask(query: Vectors) -> float:
        start = time.perf_counter()
        collection.query(query_embeddings=query[None], n_results=K, include=["distances"])
        return 1000 * (time.perf_counter() - start)

    start = time.perf_counter()
    with ThreadPoolExecutor(n_clients) as clients:
        times = sorted(clients.map(ask, queries))
    took = time.perf_counter() - start
    p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
    return round(p50, 1), round(p99, 1), round(len(times) / took, 1)


def nearest(vectors: Vectors, queries: Vectors, k: int) -> NDArray[np.int64]:
    """Positions of the true nearest, best first; shape (n_queries, k)."""
    scores = queries @ vectors.T
    best = np.argpartition(-scores, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def share(found: NDArray[np.int64], true: NDArray[np.int64], k: int) -> float:
    """How many of the true `k` are among as many found."""
    kept = [
        len(set(map(int, a[:k])) & set(map(int, b[:k]))) for a, b in zip(found, true, strict=True)
    ]
    return round(sum(kept) / (k * len(kept)), 4)


def measured(collection: Any, folder: Path, pid: int, all_of: Vectors, asked: Vectors) -> dict:
    """What a loaded server does."""
    collection.query(query_embeddings=asked[:1], n_results=K, include=[])
    row: dict[str, Any] = {"server_peak_gib": gib(pid, "VmHWM"), "server_gib": gib(pid, "VmRSS")}
    files = (path for path in folder.rglob("*") if path.is_file())
    row["disk_gib"] = round(sum(path.stat().st_size for path in files) / 2**30, 2)
    for n_clients, queries in ((1, asked[:200]), (64, asked)):
        p50, p99, per_s = latencies(collection, queries, n_clients)
        names = (f"p50_ms_{n_clients}", f"p99_ms_{n_clients}", f"queries_per_s_{n_clients}")
        row |= dict(zip(names, (p50, p99, per_s), strict=True))
    true = nearest(all_of, asked[:N_CHECKED], K)
    reply = collection.query(query_embeddings=asked[:N_CHECKED], n_results=K, include=[])
    found = np.array([[int(name) - 40_000_000 for name in names] for names in reply["ids"]])
    return row | {"found_of_1000": share(found, true, K), "found_of_10": share(found, true, 10)}


def in_fewer_bits(vectors: Vectors, asked: Vectors) -> dict[str, object]:
    """How many of the true nearest an exact search finds in vectors stored in fewer bits."""
    asked = asked[:N_CHECKED]
    true = nearest(vectors, asked, K)
    low, high = vectors.min(), vectors.max()
    step = (high - low) / 255
    forms = {
        "16 bits": vectors.astype(np.float16).astype(np.float32),
        "8 bits": np.round((vectors - low) / step) * step + low,
        "1 bit": np.sign(vectors),
    }
    row: dict[str, object] = {"what": "exact search in fewer bits", "vectors": len(vectors)}
    for name, stored in forms.items():
        found = nearest(stored.astype(np.float32), asked, 3 * K)
        again = np.take_along_axis(
            found, np.argsort(-np.einsum("qd,qkd->qk", asked, vectors[found]), axis=1), axis=1
        )
        row[name] = {
            "found_of_1000": share(found, true, K),
            "found_of_10": share(found, true, 10),
            "found_of_1000_rescored": share(again, true, K),
        }
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--limit-s", type=float, default=3600, help="for loading, in all")
    given = parser.parse_args()
    from ragassay.models.embeddings import Embedder

    real = np.asarray(Embedder().encode(titles(given.shared)), dtype=np.float32)
    asked = mixed(real, N_QUERIES, SEED - 1)
    with tempfile.TemporaryDirectory() as name, server(Path(name)) as (url, pid):
        client = connect(Path(name), url)
        hnsw = {**HNSW, "sync_threshold": max(1000, max(given.sizes) // 20)}
        collection = client.create_collection(
            "vectors", configuration=cast(Any, {"hnsw": hnsw}), embedding_function=None
        )
        until, n, load_s = time.monotonic() + given.limit_s, 0, 0.0
        for size in given.sizes:
            start, n_before = time.monotonic(), n
            n = load(collection, real, n, size, until)
            took = time.monotonic() - start
            load_s += took
            row = {"vectors": n, "of": size, "load_s": round(load_s)}
            row["vectors_per_s"] = round((n - n_before) / took)
            all_of = np.concatenate([block(real, at) for at in range(0, n, N_A_BATCH)])
            if size == given.sizes[0]:
                print(json.dumps(in_fewer_bits(all_of, asked)), flush=True)
            row |= measured(collection, Path(name), pid, all_of, asked)
            print(json.dumps(row), flush=True)
            if n < size:
                break


if __name__ == "__main__":
    main()

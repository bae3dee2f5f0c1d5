"""Measure a large Chroma vector store: load rate, memory, disk size, latencies and recall.

    python benchmarks/vectors.py --shared ../shared --sizes 100000 1000000 --limit-s 3000

The first vectors are 384-dimensional MiniLM embeddings of 8,000 titles from the real data. Further
ones are generated with a fixed seed: one real vector plus half of another plus noise of length 0.3,
normalized. They are stored with the metadata and HNSW settings of `ragassay corpus embed`. Queries
are generated the same way. A size that exceeds the time limit is reported up to the loaded count.

For each size, prints the load rate, peak and resident memory of the server, disk size, p50 and p99
for the 1,000 nearest with 1 and with 64 clients, and recall of the true 1,000 and 10. Then prints
the recall of an exact search over vectors stored in fewer bits.
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
BATCH_SIZE = 2000
K = 1000
N_QUERIES = 640
N_CHECKED = 50
N_REAL = 8000

Vectors = NDArray[np.float32]


def titles(shared: Path) -> list[str]:
    with gzip.open(shared / "data" / "corpus" / "abstracts.jsonl.gz", "rt") as lines:
        return [json.loads(line)["title"] for line in itertools.islice(lines, N_REAL)]


def mixed(real: Vectors, n: int, seed: int) -> Vectors:
    """Generate unit vectors between and around the real ones."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(len(real), size=(2, n))
    noise = rng.standard_normal((n, real.shape[1]), dtype=np.float32)
    noise *= 0.3 / np.linalg.norm(noise, axis=1, keepdims=True)
    made = real[first] + 0.5 * real[second] + noise
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def block(real: Vectors, start: int) -> Vectors:
    """Return the vectors of one batch, starting with the real ones."""
    if start + BATCH_SIZE <= len(real):
        return real[start : start + BATCH_SIZE]
    return mixed(real, BATCH_SIZE, SEED + start)


def facts(number: int) -> dict[str, Any]:
    digest = hashlib.sha256(str(number).encode()).hexdigest()[:32]
    return {"digest": digest, "day": 20000101 + number % 28, "retracted": False}


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, int]]:
    """Start a Chroma server, and yield its address and process id."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    program = Path(sys.executable).parent / "chroma"
    command = [
        str(program),
        "run",
        "--path",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    environment = {**os.environ, "ANONYMIZED_TELEMETRY": "False"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    try:
        for _ in range(300):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait()


def gib(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return round(int(next(line for line in lines if line.startswith(name)).split()[1]) / 2**20, 2)


def load(collection: Any, real: Vectors, first: int, n: int, deadline: float) -> int:
    """Add vectors up to `n` or until the deadline, and return the total count."""
    for start in range(first, n, BATCH_SIZE):
        if time.monotonic() > deadline:
            return start
        numbers = range(start, start + BATCH_SIZE)
        collection.upsert(
            ids=[str(40_000_000 + number) for number in numbers],
            embeddings=block(real, start),
            metadatas=[facts(number) for number in numbers],
        )
    return n


def latencies(collection: Any, queries: Vectors, n_clients: int) -> tuple[float, float, float]:
    """Return p50 and p99 in ms, and queries per second."""

    def ask(query: Vectors) -> float:
        start = time.perf_counter()
        collection.query(query_embeddings=query[None], n_results=K, include=["distances"])
        return 1000 * (time.perf_counter() - start)

    start = time.perf_counter()
    with ThreadPoolExecutor(n_clients) as clients:
        times = sorted(clients.map(ask, queries))
    seconds = time.perf_counter() - start
    p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
    return round(p50, 1), round(p99, 1), round(len(times) / seconds, 1)


def nearest(vectors: Vectors, queries: Vectors, k: int) -> NDArray[np.int64]:
    """Return positions of the true nearest vectors, best first, shape (n_queries, k)."""
    scores = queries @ vectors.T
    best = np.argpartition(-scores, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def share(found: NDArray[np.int64], true: NDArray[np.int64], k: int) -> float:
    """Return the share of the true `k` nearest among the first `k` found."""
    n_common = [
        len(set(map(int, a[:k])) & set(map(int, b[:k]))) for a, b in zip(found, true, strict=True)
    ]
    return round(sum(n_common) / (k * len(n_common)), 4)


def measured(collection: Any, folder: Path, pid: int, all_of: Vectors, queries: Vectors) -> dict:
    collection.query(query_embeddings=queries[:1], n_results=K, include=[])
    row: dict[str, Any] = {"server_peak_gib": gib(pid, "VmHWM"), "server_gib": gib(pid, "VmRSS")}
    files = (path for path in folder.rglob("*") if path.is_file())
    row["disk_gib"] = round(sum(path.stat().st_size for path in files) / 2**30, 2)
    for n_clients, sample in ((1, queries[:200]), (64, queries)):
        p50, p99, per_s = latencies(collection, sample, n_clients)
        names = (f"p50_ms_{n_clients}", f"p99_ms_{n_clients}", f"queries_per_s_{n_clients}")
        row |= dict(zip(names, (p50, p99, per_s), strict=True))
    true = nearest(all_of, queries[:N_CHECKED], K)
    reply = collection.query(query_embeddings=queries[:N_CHECKED], n_results=K, include=[])
    found = np.array([[int(name) - 40_000_000 for name in names] for names in reply["ids"]])
    return row | {"found_of_1000": share(found, true, K), "found_of_10": share(found, true, 10)}


def in_fewer_bits(vectors: Vectors, queries: Vectors) -> dict[str, object]:
    """Return the recall of an exact search over vectors stored in fewer bits."""
    queries = queries[:N_CHECKED]
    true = nearest(vectors, queries, K)
    low, high = vectors.min(), vectors.max()
    step = (high - low) / 255
    forms = {
        "16 bits": vectors.astype(np.float16).astype(np.float32),
        "8 bits": np.round((vectors - low) / step) * step + low,
        "1 bit": np.sign(vectors),
    }
    row: dict[str, object] = {"what": "exact search in fewer bits", "vectors": len(vectors)}
    for name, stored in forms.items():
        found = nearest(stored.astype(np.float32), queries, 3 * K)
        again = np.take_along_axis(
            found, np.argsort(-np.einsum("qd,qkd->qk", queries, vectors[found]), axis=1), axis=1
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
    parser.add_argument(
        "--limit-s", type=float, default=3600, help="time limit for loading all sizes, in seconds"
    )
    args = parser.parse_args()
    from ragassay.models.embeddings import Embedder

    real = np.asarray(Embedder().encode(titles(args.shared)), dtype=np.float32)
    queries = mixed(real, N_QUERIES, SEED - 1)
    with tempfile.TemporaryDirectory() as name, server(Path(name)) as (url, pid):
        client = connect(Path(name), url)
        hnsw = {**HNSW, "sync_threshold": max(1000, max(args.sizes) // 20)}
        collection = client.create_collection(
            "vectors", configuration=cast(Any, {"hnsw": hnsw}), embedding_function=None
        )
        deadline, n, load_s = time.monotonic() + args.limit_s, 0, 0.0
        for size in args.sizes:
            start, n_before = time.monotonic(), n
            n = load(collection, real, n, size, deadline)
            seconds = time.monotonic() - start
            load_s += seconds
            row = {"vectors": n, "of": size, "load_s": round(load_s)}
            row["vectors_per_s"] = round((n - n_before) / seconds)
            all_of = np.concatenate([block(real, at) for at in range(0, n, BATCH_SIZE)])
            if size == args.sizes[0]:
                print(json.dumps(in_fewer_bits(all_of, queries)), flush=True)
            row |= measured(collection, Path(name), pid, all_of, queries)
            print(json.dumps(row), flush=True)
            if n < size:
                break


if __name__ == "__main__":
    main()

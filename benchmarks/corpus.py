"""Measure build speed, search speed, size and memory of the corpus on disk.

    python benchmarks/corpus.py --shared ../shared                    # against rank-bm25
    python benchmarks/corpus.py --shared ../shared --sizes 10000 100000 1000000

The first part compares queries/s with rank-bm25 on the 31,932 abstracts of the real data, in one
run: for the 10 best articles, which is the default, and for the 100 best. Our search returns
articles, while rank-bm25 returns positions.

For each size, the second part builds a corpus of abstracts with sentences sampled from the
real ones. It prints the build rate, the index size, the latency of the SciFact train claims at
k = 100, and the peak memory of separate build and search processes. Search memory is reported with
and without mapped index pages. The last line extrapolates the two largest sizes to the 38 million
articles of PubMed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

PUBMED = 38_000_000
SEED = 20250714

# ru_maxrss would not work here, because a child inherits its parent's value.
MEMORY = """
def gib(name):
    lines = open('/proc/self/status').read().splitlines()
    return round(int(next(l for l in lines if l.startswith(name)).split()[1]) / 2**20, 2)
"""

BUILD = (
    MEMORY
    + """
import json, sys, time
from pathlib import Path
from ragassay.retrievers.disk.build import build_corpus
start = time.perf_counter()
build_corpus([Path(sys.argv[1])], Path(sys.argv[2]))
took = time.perf_counter() - start
print(json.dumps({"build_s": round(took, 1), "build_peak_gib": gib('VmHWM')}))
"""
)

SEARCH = (
    MEMORY
    + """
import json, sys, time
from pathlib import Path
from ragassay.retrievers.disk.corpus import DiskCorpus
queries = json.loads(Path(sys.argv[2]).read_text())
corpus = DiskCorpus(Path(sys.argv[1]))
for query in queries[:20]:
    corpus.search(query, 100)
times = []
for query in queries:
    start = time.perf_counter()
    corpus.search(query, 100)
    times.append(1000 * (time.perf_counter() - start))
times.sort()
print(json.dumps({
    "p50_ms": round(times[len(times) // 2], 2),
    "p99_ms": round(times[int(len(times) * 0.99)], 2),
    "search_peak_gib": gib('VmHWM'),
    "search_without_mapped_files_gib": gib('RssAnon'),
}))
"""
)


def abstracts(shared: Path) -> list[dict[str, str]]:
    with gzip.open(shared / "data" / "corpus" / "abstracts.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def claims(shared: Path) -> list[str]:
    with (shared / "data" / "scifact" / "claims_train.jsonl").open() as lines:
        return [json.loads(line)["claim"] for line in lines]


def sampled(rows: Sequence[dict[str, str]], n: int) -> Iterator[dict[str, str]]:
    """Yield abstracts of realistic length with sentences and titles sampled from the real ones."""
    rng = random.Random(SEED)
    split = [row["abstract"].split(". ") for row in rows]
    pool = [sentence for sentences in split for sentence in sentences]
    for number in range(n):
        sentences = rng.choices(pool, k=len(rng.choice(split)))
        title = rng.choice(rows)["title"]
        yield {"id": str(40_000_000 + number), "title": title, "abstract": ". ".join(sentences)}


def rate(search: Callable[[str, int], object], queries: Sequence[str], k: int) -> float:
    """Return the number of queries per second."""
    start = time.perf_counter()
    for query in queries:
        search(query, k)
    return len(queries) / (time.perf_counter() - start)


def against_rank_bm25(shared: Path, folder: Path, runs: int = 3) -> Iterator[dict[str, object]]:
    from ragassay.retrievers.disk.build import build_corpus
    from ragassay.retrievers.disk.corpus import DiskCorpus
    from ragassay.text.search import Bm25Index

    rows, queries = abstracts(shared), claims(shared)
    build_corpus([shared / "data" / "corpus" / "abstracts.jsonl.gz"], folder / "real")
    disk = DiskCorpus(folder / "real")
    memory = Bm25Index([f"{row['title']} {row['abstract']}" for row in rows])
    for k in (10, 100):
        pairs = [
            (rate(disk.search, queries, k), rate(memory.search, queries[20 * n : 20 * n + 20], k))
            for n in range(runs)
        ]
        yield {
            "what": f"queries/s against rank-bm25, k={k}",
            "documents": len(rows),
            "tantivy": round(statistics.median(fast for fast, _ in pairs), 1),
            "rank_bm25": round(statistics.median(slow for _, slow in pairs), 2),
            "ratio_median": round(statistics.median(fast / slow for fast, slow in pairs)),
            "ratio_min": round(min(fast / slow for fast, slow in pairs)),
        }


def measured(shared: Path, folder: Path, n: int) -> dict[str, float]:
    file, out, asked = folder / f"{n}.jsonl", folder / f"corpus-{n}", folder / "queries.json"
    with file.open("w") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in sampled(abstracts(shared), n))
    asked.write_text(json.dumps(claims(shared)))
    built = _child(BUILD, file, out)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    found = _child(SEARCH, out, asked)
    text = file.stat().st_size
    file.unlink()
    return {
        "documents": n,
        "documents_per_s": round(n / built["build_s"]),
        "text_gib": round(text / 2**30, 3),
        "index_gib": round(size / 2**30, 3),
        **built,
        **found,
    }


def _child(code: str, *arguments: Path) -> dict[str, float]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def extrapolated(rows: Sequence[dict[str, float]]) -> dict[str, object]:
    """Extrapolate linearly from the two largest sizes to the size of PubMed."""
    small, large = sorted(rows, key=lambda row: row["documents"])[-2:]
    step = (PUBMED - large["documents"]) / (large["documents"] - small["documents"])

    def at_pubmed(name: str) -> float:
        return round(large[name] + step * (large[name] - small[name]), 1)

    return {
        "what": "38 million, by a straight line through the two largest sizes",
        "build_h": round(at_pubmed("build_s") / 3600, 2),
        **{name: at_pubmed(name) for name in ("index_gib", "p50_ms", "p99_ms")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="*", default=[])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for row in against_rank_bm25(args.shared, folder):
            print(json.dumps(row), flush=True)
        rows = []
        for n in args.sizes:
            rows.append(measured(args.shared, folder, n))
            print(json.dumps(rows[-1]), flush=True)
        if len(rows) > 1:
            print(json.dumps(extrapolated(rows)), flush=True)


if __name__ == "__main__":
    main()

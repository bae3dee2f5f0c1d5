"""Loading into a cluster: how much of the time is the loader's own, article by article.

    python benchmarks/cluster_load.py --articles 20000

A file of PubMed XML, made of the sample's articles again and again with PMIDs of their own, is
loaded into the shipped double of OpenSearch, which runs in a process of its own and only stores
what it is sent. The loader's processor time is what reading, writing the requests and reading the
replies cost; how fast a real cluster indexes is its own affair. Then the bytes sent, an article;
with --vectors also with vectors, by an embedder that takes no time, for embedding is measured
elsewhere.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragassay.retrievers.cluster.build import build_in_cluster
from ragassay.retrievers.cluster.client import connect
from ragassay.testing.opensearch import ScriptedOpenSearch

SAMPLE = Path(__file__).parent.parent / "examples" / "pubmed" / "pubmed99n0001.xml"
PUBMED = 39_000_000


class Instant:
    """Random unit vectors of 384 dimensions."""

    name, digest = "instant", ""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((len(texts), 384), dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def serve(pipe: Connection) -> None:
    with ScriptedOpenSearch() as server:
        pipe.send(server.url)
        while pipe.recv() == "bytes":
            bodies = [body for _, path, body in server.requests if path.endswith("_bulk")]
            pipe.send(sum(len(body.encode()) for body in bodies))
            server.requests.clear()


def written(path: Path, n: int) -> Path:
    text = SAMPLE.read_text(encoding="utf-8")
    articles = re.findall(r"<PubmedArticle>.*?</PubmedArticle>", text, flags=re.DOTALL)
    with_id = [article for article in articles if "<PMID" in article.partition("<Article")[0]]
    with path.open("w", encoding="utf-8") as out:
        out.write("<PubmedArticleSet>\n")
        for k in range(n):
            article = with_id[k % len(with_id)]
            out.write(re.sub(r"(<PMID[^>]*>)\d+", rf"\g<1>{50_000_000 + k}", article, count=1))
        out.write("</PubmedArticleSet>\n")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--articles", type=int, default=20_000)
    parser.add_argument("--vectors", action="store_true")
    given = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("fork").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url = ours.recv()
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "pubmed99n0001.xml", given.articles)
        for embedder in (None, Instant()) if given.vectors else (None,):
            cluster = connect(url, "vectors" if embedder else "words")
            start, own = time.perf_counter(), time.process_time()
            build_in_cluster([path], cluster, embedder=embedder)
            took, used = time.perf_counter() - start, time.process_time() - own
            ours.send("bytes")
            row = {
                "articles": given.articles,
                "vectors": embedder is not None,
                "xml_bytes_an_article": round(path.stat().st_size / given.articles),
                "sent_bytes_an_article": round(ours.recv() / given.articles),
                "articles_per_s": round(given.articles / took),
                "articles_per_processor_s": round(given.articles / used),
                "processor_h_for_39_million": round(PUBMED * used / given.articles / 3600, 1),
            }
            print(json.dumps(row), flush=True)
    ours.send("end")
    server.join()


if __name__ == "__main__":
    main()

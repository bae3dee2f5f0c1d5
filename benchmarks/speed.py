"""Measure processor time of evaluation, verification and reranking, in one run.

    python benchmarks/speed.py --shared ../shared

- Evaluates the sample's answers except the first, which loads the models.
- Reranks the 50 best BM25 hits for SciFact claims with the embedded reranker, with and without
  stored token vectors.
- Verifies SciFact pairs of a claim and a full abstract, up to 512 tokens, in three ways: one pair
  per core (as ragassay does), one pair split among the cores, and padded batches of 8 pairs of
  similar length, also split among the cores. The last two use unpacked weights.

Processor time counts all threads. On a busy machine this includes threads that wait for each other.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import ragassay
from ragassay.metrics.papers.retrieval import score_retrieval
from ragassay.model_names import MINILM
from ragassay.models import adapters
from ragassay.models.cross_encoder import CrossEncoder, PairEncoder, Row, merge
from ragassay.models.embeddings import Embedder, Encoded
from ragassay.models.entailment import load_pair_encoder
from ragassay.models.layers import pack
from ragassay.retrievers.reranked_literature import STORE, StoredEncoder, TokenStore
from ragassay.retrievers.rerankers import DEPTH, EmbeddedReranker
from ragassay.text.search import build_passage

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.claims import split_scifact
from training.reranking import Bm25Search, read_scifact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragassay.retrievers.dense.index import NamedEncoder

BATCH_SIZE = 8
K = 10


def timed(what: str, n: int, work: Callable[[], None]) -> float:
    """Run work on n items, and print and return its processor time per item."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    cpu, wall = (time.process_time() - cpu) / n, (time.perf_counter() - wall) / n
    print(json.dumps({"what": what, "n": n, "cpu_s": round(cpu, 4), "wall_s": round(wall, 4)}))
    return cpu


class RecordingEncoder:
    """Encoder that stores its computed token vectors."""

    def __init__(self, encoder: Embedder) -> None:
        self.name, self.digest, self.known = encoder.name, encoder.digest, dict[str, Encoded]()
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._encoder.encode(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[Encoded]:
        found = self._encoder.encode_tokens(texts)
        self.known.update(zip(texts, found, strict=True))
        return found


def rerank(shared: Path, n: int) -> None:
    """Rerank with computed and with stored vectors."""
    data = read_scifact(shared)
    search, embedder = Bm25Search(data.documents), RecordingEncoder(Embedder())
    embedder.encode_tokens(["Warm up."])
    queries = list(data.claims)[:n]
    hits_by_query = {query: search.search(data.claims[query], DEPTH) for query in queries}
    runs: dict[str, dict[str, dict[str, float]]] = {}

    def ranked(what: str, encoder: NamedEncoder | StoredEncoder) -> float:
        def work() -> None:
            reranker = EmbeddedReranker(encoder)
            runs[what] = {
                query: {h.document.id: h.score for h in reranker.rerank(claim, hits, K)}
                for query, hits in hits_by_query.items()
                for claim in [data.claims[query]]
            }

        return timed(f"rerank, {what}", n, work)

    computed = ranked("computed", embedder)
    with tempfile.TemporaryDirectory() as folder:
        store = TokenStore(Path(folder) / STORE, embedder)
        texts = [t for t in embedder.known if t not in data.claims.values()]
        store.add(texts, [embedder.known[text] for text in texts])
        fresh = Embedder()
        fresh.encode_tokens(["Warm up."])
        stored = ranked("stored", StoredEncoder(fresh, store))
        n_bytes = (Path(folder) / STORE).stat().st_size
        store.close()
    qrels = {query: data.qrels[query] for query in queries}
    ndcg = {what: score_retrieval(qrels, run)["nDCG@10"].value for what, run in runs.items()}
    n_documents = len({hit.document.id for hits in hits_by_query.values() for hit in hits})
    overlap = [len(runs["computed"][q].keys() & runs["stored"][q].keys()) / K for q in queries]
    row = {
        "ratio": round(computed / stored, 1),
        "nDCG@10": ndcg,
        f"share of the {K} best that are the same": round(float(np.mean(overlap)), 3),
        "bytes a document": round(n_bytes / n_documents),
    }
    print(json.dumps(row))


def verify(shared: Path, n: int) -> None:
    """Verify pairs one per core, split among cores, and in padded batches."""
    _, held = split_scifact(shared)
    pairs = [(c.claim, build_passage(c.claim, c.sentences, c.title)) for c in held[:n]]
    packed, encoder = (load_pair_encoder(MINILM, Path()).eval() for _ in range(2))
    shape = merge(adapters.WHOLE, packed)
    merge(adapters.WHOLE, encoder)
    pack(packed.base)
    model = CrossEncoder(packed, shape)
    model.predict_probabilities(pairs[:2])
    found: dict[str, np.ndarray] = {}

    def store_shares(name: str, shares: np.ndarray) -> None:
        found[name] = shares

    ours = timed(
        "verify, a pair to a core",
        n,
        lambda: store_shares("ours", model.predict_probabilities(pairs)),
    )
    rows = [encoder.encode_pair(*pair, shape.n_tokens) for pair in pairs]
    for name, size in (("split among cores", 1), (f"batches of {BATCH_SIZE}", BATCH_SIZE)):
        cpu = timed(
            f"verify, {name}",
            n,
            lambda size=size, name=name: store_shares(
                name, batched(encoder, rows, size, shape.temperature)
            ),
        )
        row = {
            "ratio": round(cpu / ours, 2),
            "same verdicts": round(
                float((found[name].argmax(1) == found["ours"].argmax(1)).mean()), 4
            ),
            "largest difference": float(np.abs(found[name] - found["ours"]).max()),
        }
        print(json.dumps(row))
    print(json.dumps({"tokens a pair": round(float(np.mean([len(r["input_ids"]) for r in rows])))}))


def batched(encoder: PairEncoder, rows: Sequence[Row], size: int, temperature: float) -> np.ndarray:
    """Return probabilities from padded batches of similar length, shape (n_pairs, 3)."""
    import torch

    shares = np.zeros((len(rows), 3))
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]["input_ids"]))
    with torch.inference_mode():
        for start in range(0, len(rows), size):
            positions = order[start : start + size]
            logits = encoder(encoder.build_batch([rows[i] for i in positions])) / temperature
            shares[positions] = logits.double().softmax(-1).numpy()
    return shares


def sample() -> None:
    """Evaluate the sample without a judge, using its first answer as warm-up."""
    folder = Path(__file__).parents[1] / "examples" / "sample"
    lines = (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    answers, corpus = [json.loads(line) for line in lines], folder / "abstracts.jsonl"
    ragassay.evaluate(answers[:1], corpus=corpus)
    rest = answers[1:]
    timed(
        "evaluate the sample's other answers",
        len(rest),
        lambda: ragassay.evaluate(rest, corpus=corpus),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=12)
    parser.add_argument("--pairs", type=int, default=100)
    arguments = parser.parse_args()
    sample()
    verify(arguments.shared, arguments.pairs)
    if arguments.queries:
        rerank(arguments.shared, arguments.queries)


if __name__ == "__main__":
    main()

"""Fit the weights of `EmbeddedReranker` to SciFact's training claims, and cross-validate them.

    python -m training.reranking --shared ../shared --out ragassay/retrievers/weights

Folds are split by query, and claims that share a relevant abstract are in the same fold. The first
run embeds about 25,000 texts, which takes half an hour on two cores. `--cache FOLDER` stores their
vectors.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragassay.metrics.papers.retrieval import score_retrieval
from ragassay.models.embeddings import Embedder
from ragassay.optimizers.finetuning.claims import link_names
from ragassay.records import Document
from ragassay.retrievers.disk.schema import (
    ANALYZER,
    build_analyzer,
    build_index_row,
    build_query,
    build_schema,
)
from ragassay.retrievers.literature import ANY, Hit
from ragassay.retrievers.rerankers import (
    DEPTH,
    FusionWeights,
    TextEncoder,
    compute_hit_features,
    standardise_columns,
)
from training.tokens import CachedTokenEncoder

if TYPE_CHECKING:
    import tantivy
    from numpy.typing import NDArray

N_FOLDS = 5
SEED = 20250714
L2 = 1e-3
"""Weight decay. With four weights and hundreds of queries it only ensures a unique solution."""


@dataclass(frozen=True)
class SciFact:
    """The corpus, and the claims with their relevant abstracts (grade 1)."""

    documents: dict[str, Document]
    claims: dict[str, str]
    qrels: dict[str, dict[str, int]]


def read_scifact(shared: Path) -> SciFact:
    """Read corpus, training claims and training qrels from `shared`/data/scifact."""
    folder = shared / "data" / "scifact"
    documents: dict[str, Document] = {}
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            name = str(row["doc_id"])
            documents[name] = Document(id=name, title=row["title"], text=" ".join(row["abstract"]))
    text = (folder / "claims_train.jsonl").read_text(encoding="utf-8")
    claims = {str(row["id"]): row["claim"] for row in map(json.loads, text.splitlines())}
    qrels: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels_train.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        qrels.setdefault(query, {})[document] = int(grade)
    return SciFact(documents, {q: claims[q] for q in qrels}, qrels)


class Bm25Search:
    """In-memory version of the index of `ragassay corpus build`."""

    def __init__(self, documents: dict[str, Document]) -> None:
        import tantivy

        self._documents = documents
        self._index: tantivy.Index = tantivy.Index(build_schema())
        self._index.register_tokenizer(ANALYZER, build_analyzer())
        writer = self._index.writer(num_threads=1)
        for document in documents.values():
            writer.add_document(build_index_row(document))
        writer.commit()
        self._index.reload()
        self._ids = list(documents)

    def search(self, query: str, k: int) -> list[Hit]:
        """Return the `k` best documents."""
        found = build_query(self._index.schema, query, ANY)
        if found is None:
            return []
        searcher = self._index.searcher()
        # A single thread writes one segment, so addresses are positions in insertion order.
        hits = searcher.search(found, k).hits
        return [Hit(self._documents[self._ids[address.doc]], score) for score, address in hits]


def group_folds(qrels: dict[str, dict[str, int]], n_folds: int, seed: int) -> dict[str, int]:
    """Assign queries to folds, with queries that share a relevant document in the same fold.

    Args:
        qrels: Document grades by query.
        n_folds: Number of folds, at least 1. Each group goes to the smallest fold.
        seed: Seed of the order of the groups.

    Returns:
        Fold numbers in [0, n_folds), by query.

    Example:
        >>> folds = assign_folds({"p": {"a": 1}, "q": {"b": 1}, "r": {"a": 1, "c": 1}}, 2, 0)
        >>> folds["p"] == folds["r"] != folds["q"]
        True
    """
    relevant = ((q, d) for q, grades in qrels.items() for d, grade in grades.items() if grade > 0)
    names = link_names((f"query {query}", f"document {document}") for query, document in relevant)
    groups: dict[str, list[str]] = {}
    for query in qrels:
        groups.setdefault(names.get(f"query {query}", query), []).append(query)
    members_of = list(groups.values())
    sizes = [0] * n_folds
    folds: dict[str, int] = {}
    for place in np.random.default_rng(seed).permutation(len(members_of)):
        smallest = sizes.index(min(sizes))
        members = members_of[place]
        sizes[smallest] += len(members)
        folds.update(dict.fromkeys(members, smallest))
    return folds


@dataclass(frozen=True)
class Candidates:
    """The hits of one query.

    Attributes:
        ids: Ids of the hits, in search order.
        table: Standardized features, shape (n_hits, n_features).
        relevant: 1 for relevant hits, shape (n_hits,).
    """

    ids: tuple[str, ...]
    table: NDArray[np.float64]
    relevant: NDArray[np.float64]


def collect(
    data: SciFact, search: Bm25Search, encoder: TextEncoder, depth: int = DEPTH
) -> dict[str, Candidates]:
    """Search for each claim and compute the features of its hits, with a progress bar."""
    from rich.progress import track

    found: dict[str, Candidates] = {}
    for query, claim in track(data.claims.items(), "Embedding", total=len(data.claims)):
        hits = search.search(claim, depth)
        ids = tuple(hit.document.id for hit in hits)
        relevant = [float(data.qrels[query].get(i, 0) > 0) for i in ids]
        table = standardise_columns(compute_hit_features(claim, hits, encoder))
        found[query] = Candidates(ids, table, np.array(relevant))
    return found


def fit(candidates: Sequence[Candidates], l2: float = L2) -> NDArray[np.float64]:
    """Fit weights with the top-one loss of ListNet.

    loss(w) = mean over queries of -sum_d y_d / |y| log softmax(X w)_d, plus l2 |w|^2
    (Cao et al. 2007, ICML, equation 8 with P_y from binary grades). The loss is convex.

    Args:
        candidates: Hits by query. Queries without a relevant hit are ignored.
        l2: Weight decay.

    Returns:
        Shape (n_features,).

    Raises:
        ValueError: No query has a relevant hit.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    useful = [c for c in candidates if c.relevant.any()]
    if not useful:
        raise ValueError("no query has a relevant hit: nothing to fit to; search deeper")

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = l2 * float(weights @ weights), 2 * l2 * weights
        for c in useful:
            target = c.relevant / c.relevant.sum()
            logs = log_softmax(c.table @ weights)
            value -= float(target @ logs) / len(useful)
            gradient = gradient + c.table.T @ (np.exp(logs) - target) / len(useful)
        return value, gradient

    start = np.zeros(useful[0].table.shape[1])
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def cross_validated(
    candidates: dict[str, Candidates], folds: dict[str, int]
) -> dict[str, dict[str, float]]:
    """Score each query's hits with weights fitted without its fold."""
    run: dict[str, dict[str, float]] = {}
    for fold in sorted(set(folds.values())):
        weights = fit([c for query, c in candidates.items() if folds[query] != fold])
        for query, c in candidates.items():
            if folds[query] == fold:
                run[query] = dict(zip(c.ids, (c.table @ weights).tolist(), strict=True))
    return run


def main() -> None:
    """Fit, cross-validate, write `reranker.json`, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--depth", type=int, default=DEPTH)
    arguments = parser.parse_args()
    data = read_scifact(arguments.shared)
    with CachedTokenEncoder(Embedder(), arguments.cache) as encoder:
        candidates = collect(data, Bm25Search(data.documents), encoder, arguments.depth)
    folds = group_folds(data.qrels, N_FOLDS, SEED)
    score = score_retrieval(data.qrels, cross_validated(candidates, folds))["nDCG@10"]
    fitted = [round(float(w), 4) for w in fit(list(candidates.values()))]
    weights = FusionWeights(**dict(zip(FusionWeights.model_fields, fitted, strict=True)))
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = weights.model_dump_json(indent=2) + "\n"
    (arguments.out / "reranker.json").write_text(text, encoding="utf-8")
    print(json.dumps({"cross-validated nDCG@10": score.model_dump(), **weights.model_dump()}))


if __name__ == "__main__":
    main()

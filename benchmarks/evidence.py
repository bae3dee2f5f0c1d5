"""Measure the parts of evidence search, printing lines of JSON.

python benchmarks/evidence.py --shared ../shared [--claims 200] [--questions 300]

"query": searches for BioASQ's snippets among 31,932 abstracts, using the sentences of its ideal
answers, the same sentences with their question, and the question alone. The snippets were selected
for these answers, so use the figures only to compare queries.

"passage": takes SciFact's training claims, the ten best abstracts of each by BM25, and the passage
that the evidence graph would select. It measures how often the passage is in an abstract that the
annotators listed, with document reranking and with the closest passage overall.

"closeness": uses the same passages. For each cosine threshold, precision is the share of passages
above it that are in a listed abstract, and share is the share of claims above it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragassay.metrics.papers.retrieval import score_retrieval
from ragassay.metrics.stats.intervals import compute_share_interval
from ragassay.models.embeddings import Embedder
from ragassay.records import Document, EvidenceSpan
from ragassay.retrievers.evidence import N_CANDIDATES, Wanted, find_best_passages, find_passages
from ragassay.retrievers.rerankers import EmbeddedReranker
from ragassay.text.sentences import split_sentences

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.reranking import Bm25Search, read_scifact

SEED = 0
N_FOUND = 100
THRESHOLDS = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)


def show(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def measure_queries(shared: Path, n_questions: int) -> None:
    data = shared / "data"
    gold = {
        row["pmid"]: Document(id=row["pmid"], text=row["text"])
        for row in lines(data / "bioasq" / "snippet_documents.jsonl.gz")
    }
    others = (
        Document(id=f"other {n}", title=row.get("title") or "", text=row.get("text") or "")
        for n, row in enumerate(lines(data / "corpus" / "abstracts.jsonl.gz"))
    )
    search = Bm25Search(gold | {d.id: d for d in others})
    questions = [q for q in lines(data / "bioasq" / "questions.jsonl.gz") if q["ideal_answer"]]
    random.Random(SEED).shuffle(questions)
    asked: dict[str, tuple[str, str]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for question in questions[:n_questions]:
        answer = question["ideal_answer"][0]
        for n, (start, end) in enumerate(split_sentences(answer)):
            name = f"{question['id']} {n}"
            asked[name] = answer[start:end], question["question"]
            qrels[name] = {pmid: 1 for pmid in question["pmids"] if pmid in gold}
    qrels = {name: grades for name, grades in qrels.items() if grades}
    ways = {
        "sentence": lambda s, q: s,
        "question": lambda s, q: q,
        "sentence and question": lambda s, q: f"{s} {q}",
        "sentence twice and question": lambda s, q: f"{s} {s} {q}",
    }
    for name, way in ways.items():
        run = {
            key: {hit.document.id: hit.score for hit in search.search(way(*asked[key]), N_FOUND)}
            for key in qrels
        }
        figures = {
            measure: [round(x, 4) for x in (s.value, s.low, s.high) if x is not None]
            for measure, s in score_retrieval(qrels, run).items()
        }
        show(what="query", way=name, n=len(qrels), **figures)


def measure_passages(shared: Path, n_claims: int) -> None:
    from rich.progress import track

    data = read_scifact(shared)
    search, embedder = Bm25Search(data.documents), Embedder()
    names = sorted(data.claims)
    random.Random(SEED).shuffle(names)
    selected: dict[str, dict[str, EvidenceSpan | None]] = {"reranked": {}, "closest": {}}
    for name in track(names[:n_claims], "Choosing passages"):
        claim = data.claims[name]
        documents = [hit.document for hit in search.search(claim, N_CANDIDATES)]
        query = Wanted(claim, documents)
        (found,) = find_passages([query], EmbeddedReranker(embedder), embedder)
        selected["reranked"][name] = found[0] if found else None
        (selected["closest"][name],) = find_best_passages([claim], [documents], embedder)
    for way, passages in selected.items():
        hits = {n: bool(p and data.qrels[n].get(p.document, 0)) for n, p in passages.items()}
        n_hits = sum(hits.values())
        low, high = compute_share_interval(n_hits, len(hits)) or (None, None)
        show(
            what="passage",
            way=way,
            n=len(hits),
            in_a_named_abstract=round(n_hits / len(hits), 4),
            low=low,
            high=high,
        )
    passages = selected["reranked"]
    for threshold in THRESHOLDS:
        above = [n for n, p in passages.items() if p and (p.relevance_score or 0.0) >= threshold]
        n_hits = sum(bool(data.qrels[n].get(passages[n].document, 0)) for n in above)
        show(
            what="closeness",
            threshold=threshold,
            share=round(len(above) / len(passages), 4),
            precision=round(n_hits / len(above), 4) if above else None,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--claims", type=int, default=200)
    parser.add_argument("--questions", type=int, default=300)
    arguments = parser.parse_args()
    measure_queries(arguments.shared, arguments.questions)
    measure_passages(arguments.shared, arguments.claims)


if __name__ == "__main__":
    main()

"""Compare search methods on BioASQ's questions, printing lines of JSON.

python benchmarks/bioasq.py --shared ../shared [--cache FOLDER] [--limit 50]
python benchmarks/bioasq.py --shared ../shared --questions 300 --others 2500    # a smaller sample

Each measure is printed as a mean with a 95 % interval over the questions. Rankings contain 100
documents.

Article texts are the joined snippets that BioASQ's experts marked, so each text was chosen because
it answers a question in the set. Searching them alone ("snippets") is much easier than searching
PubMed. Searching them together with 31,932 full abstracts ("mixed") is still too easy, because gold
texts are shorter and other abstracts that would answer a question are not judged. Use the figures
only to compare search methods with each other.

Abstracts with the PMID or title of a gold article are excluded. Without a cache, the first run
embeds 45,000 texts, which takes most of an hour on one core.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ragassay.metrics.papers.retrieval import score_retrieval
from ragassay.models.computed import cache_results
from ragassay.models.embeddings import Embedder
from ragassay.retrievers.dense.chroma import build_embedded_text
from ragassay.retrievers.dense.embed import embed_corpus
from ragassay.retrievers.dense.index import DenseIndex
from ragassay.retrievers.disk.build import build_corpus
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.opening import DenseCorpus, HybridCorpus
from ragassay.retrievers.reranked_literature import RerankedLiterature
from ragassay.retrievers.rerankers import DEPTH, EmbeddedReranker

CACHE_MB = 4096
N_FOUND = 100
SEED = 0
CAUTION = "gold texts are joined gold snippets: too easy; compare the rows with each other only"

Row = dict[str, str]
Questions = dict[str, str]
Qrels = dict[str, dict[str, int]]


def lines(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def plain(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def read_gold(shared: Path) -> tuple[list[Row], Questions, Qrels]:
    folder = shared / "data" / "bioasq"
    documents = [
        {"id": str(row["pmid"]), "text": row["text"]}
        for row in lines(folder / "snippet_documents.jsonl.gz")
    ]
    known = {row["id"] for row in documents}
    questions: Questions = {}
    qrels: Qrels = {}
    for row in lines(folder / "questions.jsonl.gz"):
        if gold := [str(pmid) for pmid in row["pmids"] if str(pmid) in known]:
            questions[row["id"]] = row["question"]
            qrels[row["id"]] = dict.fromkeys(gold, 1)
    return documents, questions, qrels


def sampled(gold: list[Row], questions: Questions, qrels: Qrels, n: int) -> list[Row]:
    """Sample `n` questions in place, and return the documents that answer them."""
    if not 0 < n < len(questions):
        return gold
    kept = set(random.Random(SEED).sample(sorted(questions), n))
    for name in set(questions) - kept:
        del questions[name], qrels[name]
    wanted = {pmid for judged in qrels.values() for pmid in judged}
    return [row for row in gold if row["id"] in wanted]


def read_distractors(shared: Path, gold: Sequence[Row], n: int) -> list[Row]:
    pmids = {row["id"] for row in gold}
    titles = {plain(row["text"].split(". ")[0]) for row in gold}
    rows = [
        {"id": row["id"], "title": row["title"], "text": row["abstract"]}
        for row in lines(shared / "data" / "corpus" / "abstracts.jsonl.gz")
        if str(row["pmid"]) not in pmids and plain(row["title"]) not in titles
    ]
    return random.Random(SEED).sample(rows, n) if 0 < n < len(rows) else rows


def built(rows: Sequence[Row], folder: Path) -> DiskCorpus:
    folder.mkdir()
    file = folder / "documents.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    build_corpus([file], folder / "corpus")
    return DiskCorpus(folder / "corpus")


def show(place: str, way: str, literature: Literature, questions: Questions, qrels: Qrels) -> None:
    start = time.perf_counter()
    run = {
        name: {hit.document.id: hit.score for hit in literature.search(text, N_FOUND)}
        for name, text in questions.items()
    }
    seconds = (time.perf_counter() - start) / len(questions)
    scores = score_retrieval({name: qrels[name] for name in questions}, run)
    figures = {
        name: [round(x, 4) for x in (score.value, score.low, score.high) if x is not None]
        for name, score in scores.items()
    }
    about = {"documents": place, "way": way, "n_questions": len(questions)}
    print(json.dumps(about | figures | {"s_a_question": round(seconds, 4)}), flush=True)


def show_recall(
    place: str, corpus: DiskCorpus, index: DenseIndex, encoder: Embedder, questions: Questions
) -> None:
    """Print the share of true nearest neighbours that Chroma's graph finds."""
    articles = [article for page in corpus.iter_pages() for article in page]
    vectors = encoder.encode([build_embedded_text(article) for article in articles])
    n = min(N_FOUND, len(articles))
    found: list[float] = []
    for text in questions.values():
        cosines = vectors @ encoder.encode([text])[0]
        least = float(np.partition(cosines, -n)[-n]) - 1e-6
        found.append(sum(score >= least for _, score in index.find_nearest(text, n)) / n)
    about = {"documents": place, "what": f"true nearest {n} that the index finds"}
    print(json.dumps(about | {"value": round(float(np.mean(found)), 5)}), flush=True)


def measure(
    place: str,
    corpus: DiskCorpus,
    encoder: Embedder,
    questions: Questions,
    qrels: Qrels,
    n_reranked: int,
) -> None:
    embed_corpus(corpus, encoder)
    index = DenseIndex(corpus, encoder)
    hybrid = HybridCorpus(corpus, DenseCorpus(corpus, index))
    ways: dict[str, Literature] = {
        "BM25": corpus,
        f"dense, {encoder.name}": DenseCorpus(corpus, index),
        "hybrid": hybrid,
    }
    for way, literature in ways.items():
        show(place, way, literature, questions, qrels)
    names = random.Random(SEED).sample(sorted(questions), min(n_reranked, len(questions)))
    fewer = {name: questions[name] for name in names}
    show_recall(place, corpus, index, encoder, fewer)
    reranker = EmbeddedReranker(encoder)
    for way, literature in (("BM25", corpus), ("hybrid", hybrid)):
        show(place, way, literature, fewer, qrels)
        better = RerankedLiterature(literature, reranker, "embedded")
        show(place, f"{way}, best {DEPTH} reranked", better, fewer, qrels)
    index.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--limit", type=int, default=50, help="number of questions to rerank")
    parser.add_argument("--questions", type=int, default=0, help="sample size; 0 for all")
    parser.add_argument(
        "--others", type=int, default=0, help="number of other abstracts; 0 for all"
    )
    arguments = parser.parse_args()
    gold, questions, qrels = read_gold(arguments.shared)
    others = read_distractors(arguments.shared, gold, arguments.others)
    gold = sampled(gold, questions, qrels, arguments.questions)
    print(json.dumps({"caution": CAUTION, "n_gold": len(gold), "n_others": len(others)}))
    embedder = Embedder()
    with (
        cache_results(arguments.cache or Path(), CACHE_MB if arguments.cache else 0),
        tempfile.TemporaryDirectory() as folder,
    ):
        for place, rows in (("snippets", gold), ("mixed", [*gold, *others])):
            corpus = built(rows, Path(folder) / place)
            measure(place, corpus, embedder, questions, qrels, arguments.limit)


if __name__ == "__main__":
    main()

"""Measure SciQAG's published pairs without a judge, and compare with the figures of its paper.

    RAGASSAY_SHARED=... python benchmarks/qa_coverage.py [--model NAME] [--explain]

Prints the coverage of 35 papers by ten answers each, chunks per answer, question similarity, number
statistics, and the time without model loading. `--explain` shows how coverage changes with the
share of top sentences, number of answers, paper length, embedded text, sentence splitting, answers
of another paper, and random similarities.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ragassay.metrics.stats.intervals import compute_mean_interval
from ragassay.model_names import MINILM
from ragassay.models.embeddings import RoleEncoder
from ragassay.prompts.model_forms import TextRole
from ragassay.qa.measures import (
    TOP_SHARE,
    average_chunk_share,
    chance_coverage_score,
    count_top_sentences,
    coverage_score,
    measure_papers,
    pooled_coverage_score,
)
from ragassay.qa.scores import list_pair_similarities, question_diversity
from ragassay.records.inputs import QAPair
from ragassay.records.qa import Paper, PaperSection
from ragassay.text.sentences import extract_sentences

Matrix = Sequence[Sequence[float]]
Work = list[tuple[Paper, list[QAPair]]]

PUBLISHED_SPLIT = re.compile(r"(?<!\w\.\w.)(?<![A-Z][a-z]\.)(?<=[.?])\s")
"""Sentence boundary in the paper's published code."""

MEASURES: dict[str, tuple[Callable[[Matrix, float], float | None], float | None]] = {
    "coverage_equation_1": (coverage_score, None),
    "coverage_pooled": (pooled_coverage_score, 0.68),
    "chunks_per_answer": (average_chunk_share, 0.64),
}
"""Our function and the paper's figure. The paper's coverage is pooled."""


def read_work(folder: Path) -> Work:
    work: Work = []
    with gzip.open(folder / "data" / "sciqag" / "papers.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            pairs = [
                QAPair(id=f"{row['doi']}/{i}", question=one["Q"], answer=one["A"])
                for i, one in enumerate(row["Q&A"], start=1)
            ]
            work.append((Paper(id=row["doi"], sections=(PaperSection(text=row["txt"]),)), pairs))
    return work


def show(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


def show_coverage(by: str, matrices: Sequence[Matrix], share: float = TOP_SHARE) -> None:
    found: dict[str, float] = {}
    for name, (measure, _) in MEASURES.items():
        values = [value for m in matrices if (value := measure(m, share)) is not None]
        found[name] = round(sum(values) / len(values), 3)
    show(by=by, **found)


def explain(work: Work, matrices: list[Matrix], encode: RoleEncoder) -> None:
    """Print the three chunk measures for alternative computations."""
    for share in (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3):
        show_coverage(f"top {share:.0%} of sentences", matrices, share)
    for n_answers in (1, 2, 3, 5):
        show_coverage(f"the first {n_answers} answers", [matrix[:n_answers] for matrix in matrices])
    by_length = sorted(matrices, key=lambda matrix: len(matrix[0]))
    third = -(-len(by_length) // 3)
    for start in range(0, len(by_length), third):
        part = by_length[start : start + third]
        show_coverage(f"papers of {len(part[0][0])} to {len(part[-1][0])} sentences", part)
    our_sentences = [extract_sentences(paper.text) for paper, _ in work]
    their_sentences = [[s for s in PUBLISHED_SPLIT.split(p.text) if s.strip()] for p, _ in work]
    answers = [[pair.answer for pair in pairs] for _, pairs in work]
    both = [[f"{pair.question}\n{pair.answer}" for pair in pairs] for _, pairs in work]
    ways = {
        "answer alone": (answers, our_sentences),
        "question": ([[pair.question for pair in pairs] for _, pairs in work], our_sentences),
        "answer alone, sentences as in the published code": (answers, their_sentences),
        "as the published code does both": (both, their_sentences),
        "answers of the next paper": ([*answers[1:], answers[0]], our_sentences),
    }
    for name, (queries, sentences) in ways.items():
        rows, columns = (
            _embedded(queries, encode, "answer" if queries is answers else "pair"),
            _embedded(sentences, encode, "sentence"),
        )
        show_coverage(name, [(q @ s.T).tolist() for q, s in zip(rows, columns, strict=True)])
    show_coverage("tf-idf", [_tf_idf(*both) for both in zip(answers, our_sentences, strict=True)])
    show_coverage("BM25", [_bm25(*both) for both in zip(answers, our_sentences, strict=True)])
    rng = random.Random(0)
    drawn = [[[rng.random() for _ in row] for row in matrix] for matrix in matrices]
    show_coverage("random similarities", drawn)
    for n_answers in (1, 10):
        sizes = [len(matrix[0]) for matrix in matrices]
        expected = [
            chance_coverage_score(n_answers, n, count_top_sentences(n)) or 0.0 for n in sizes
        ]
        value = round(sum(expected) / len(expected), 3)
        show(by=f"{n_answers} answers at random, by formula", coverage_equation_1=value)


def _embedded(groups: list[list[str]], encode: RoleEncoder, role: TextRole):
    vectors = encode([text for group in groups for text in group], role)
    start = 0
    for group in groups:
        yield vectors[start : start + len(group)]
        start += len(group)


def _tf_idf(answers: list[str], sentences: list[str]) -> Matrix:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True)
    columns = vectorizer.fit_transform(sentences)
    return (vectorizer.transform(answers) @ columns.T).toarray().tolist()


def _bm25(answers: list[str], sentences: list[str]) -> Matrix:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([sentence.lower().split() for sentence in sentences])
    return [index.get_scores(answer.lower().split()).tolist() for answer in answers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=MINILM)
    parser.add_argument("--explain", action="store_true")
    args = parser.parse_args()
    work = read_work(Path(os.environ["RAGASSAY_SHARED"]))
    encode = RoleEncoder(args.model)
    encode(["Load the model."], "sentence")
    start, start_cpu = time.perf_counter(), time.process_time()
    found = measure_papers(work, encode)
    wall, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    show(
        papers=len(work),
        pairs=sum(len(pairs) for _, pairs in work),
        sentences=sum(one.n_sentences for one in found),
        model=args.model,
        seconds=round(wall, 1),
        processor_seconds=round(cpu, 1),
    )
    matrices: list[Matrix] = [[pair.similarity for pair in one.pairs] for one in found]
    for name, (measure, published) in MEASURES.items():
        values = [measure(matrix, TOP_SHARE) or 0.0 for matrix in matrices]
        ends = compute_mean_interval(values) or (0.0, 0.0)
        mean, low, high = (round(one, 3) for one in (sum(values) / len(values), *ends))
        show(measure=name, value=mean, low=low, high=high, paper=published)
    likeness = [list_pair_similarities(one.question_similarity) for one in found]
    diversity = question_diversity(
        [value for one in likeness for value in one],
        [one.paper for one, row in zip(found, likeness, strict=True) for _ in row],
        scale=(-1.0, 1.0),
    )
    score = diversity.similarity
    show(
        measure="question_similarity_by_cosine",
        **{name: getattr(score, name) for name in ("value", "low", "high", "n")},
        paper_by_intent=0.31,
        bins={one.name: (one.count, round(one.share or 0.0, 4)) for one in diversity.bins},
        paper_bins_by_intent={
            "< 0.3": 0.6904,
            "0.3-0.5": 0.0938,
            "0.5-0.7": 0.1316,
            "> 0.7": 0.0842,
        },
    )
    numbers = [pair.numbers for one in found for pair in one.pairs]
    is_found = [one.is_found for our_sentences in numbers for one in our_sentences]
    show(measure="numbers_found", value=round(sum(is_found) / len(is_found), 4), paper=0.967)
    stated = sum(map(bool, numbers)) / len(numbers)
    show(measure="answers_with_numbers", value=round(stated, 4), paper=0.54)
    asked = [any(m.part == "question" for m in p.context) for one in found for p in one.pairs]
    show(measure="context_free_questions", value=round(1 - sum(asked) / len(asked), 3))
    if args.explain:
        explain(work, matrices, encode)


if __name__ == "__main__":
    main()

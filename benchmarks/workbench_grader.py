"""Evaluate the embedded test bank grader on grades and answers that it was not fitted to.

    python benchmarks/workbench_grader.py --shared ../shared --work exam.json

- FLAN-T5-large's released grades of the Rubric Workbench, cross-validated over queries. Prints
  AUROC for each minimum rating, over all grades and over decided grades, compared with single
  similarities and with boosted trees on all signals. Intervals resample queries.
- The shipped weights on nuggets of TREC RAG 2024 in an answer (assigned by GPT-4o), and on PubMedQA
  and BioASQ questions with their own abstract or snippets and with a similar other one.
- Processor time for ten items and a passage.

`--work` is the file of signals written by `training.exam`. A missing file is created, which takes
ten minutes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from ragassay.instruments.exam_grader import EmbeddedExamGrader, measure
from ragassay.metrics.stats.agreement import measure_discrimination
from ragassay.metrics.stats.calibration import bound_of
from ragassay.models.embeddings import Embedder
from ragassay.models.fitted_raters import ExamWeights, load_exam_model
from ragassay.models.verifiers import load_minilm_verifier
from ragassay.records import MOST_EXAM_RATING, ExamItem, ItemKind, Score
from ragassay.text.search import Bm25Index

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.exam import KINDS, N_FOLDS, SIGNALS, Row, fold_of, held_out, kept_rows

N_TOPICS, N_QUESTIONS = 40, 100
NEAR = (1, 5)
"""BM25 ranks from which negative passages are selected."""

Case = tuple[str, list[ExamItem], str, list[bool | None]]
"""Group, items, passage, and whether it covers each item. None is ignored."""

SINGLE_SIGNALS = ("least", "sentence", "settles")


def auroc(rows: Sequence[Row], truth: Sequence[bool], scores: Sequence[float]) -> str:
    found = measure_discrimination(scores, truth, [row.query for row in rows])
    return f"{shown(found.auroc)}, within a query {shown(found.paired_auroc)}"


def shown(score: Score) -> str:
    if score.value is None or score.low is None or score.high is None:
        return "none"
    return f"{score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"


def released(rows: Sequence[Row], kind: ItemKind) -> None:
    graded = [row for row in rows if row.kind == kind]
    fitted = held_out(graded)
    # Use the weighted sum without the thresholds, which differ between fits.
    sums = [weighted(one, row) for one, row in zip(fitted, graded, strict=True)]
    n_items, n_queries = len({r.item for r in graded}), len({r.query for r in graded})
    print(f"\n{kind}s: {len(graded)} grades, {n_items} items, {n_queries} queries")
    for min_rating in range(1, MOST_EXAM_RATING + 1):
        truth = [row.rating >= min_rating for row in graded]
        share = sum(truth) / len(truth)
        print(f"  rating >= {min_rating} ({share:.3f} of all): AUROC {auroc(graded, truth, sums)}")
    truth = [row.rating >= 1 for row in graded]
    for name in SINGLE_SIGNALS:
        print(f"  {name} alone: {auroc(graded, truth, [row.signals[name] for row in graded])}")
    print(f"  boosted trees: {auroc(graded, truth, trees(graded))}")
    decided(graded, fitted, sums, kind)


def weighted(model: ExamWeights, row: Row) -> float:
    return sum(weight * row.signals[name] for name, weight in model.weights.items())


def trees(rows: Sequence[Row]) -> list[float]:
    """Return cross-validated probabilities of a rating of at least 1, by boosted trees."""
    table = np.array([list(row.signals.values()) for row in rows])
    truth, folds = np.array([row.rating >= 1 for row in rows]), [fold_of(row.query) for row in rows]
    found = np.zeros(len(rows))
    for fold in range(N_FOLDS):
        test = np.array([one == fold for one in folds])
        if not test.any():
            continue
        model = HistGradientBoostingClassifier(max_iter=80, max_leaf_nodes=8, learning_rate=0.06)
        found[test] = model.fit(table[~test], truth[~test]).predict_proba(table[test])[:, 1]
    return found.tolist()


def decided(
    rows: Sequence[Row], fitted: Sequence[ExamWeights], sums: Sequence[float], kind: ItemKind
) -> None:
    bounds = load_exam_model().kinds[kind].bounds
    shares = [
        one.reach_probabilities(row.signals)[0] for one, row in zip(fitted, rows, strict=True)
    ]
    for label in ("yes", "no"):
        bound = bound_of(bounds, label, "verdict")
        predicted = [i for i, p in enumerate(shares) if (p >= 0.5) == (label == "yes")]
        kept = [i for i in predicted if bound and bound.admits(max(shares[i], 1 - shares[i]))]
        right = [(rows[i].rating >= 1) == (label == "yes") for i in kept]
        found = f"{np.mean(right):.3f} right" if kept else "none"
        print(f"  {label}: {len(kept)} of {len(predicted)} decided, {found}")
    kept = [
        i
        for i, p in enumerate(shares)
        if (bound := bound_of(bounds, "yes" if p >= 0.5 else "no", "verdict"))
        and bound.admits(max(p, 1 - p))
    ]
    graded = [rows[i] for i in kept]
    if kept:
        found = auroc(graded, [row.rating >= 1 for row in graded], [sums[i] for i in kept])
        print(f"  decided: {len(kept) / len(rows):.3f} of all, AUROC {found}")


def read(path: Path) -> list[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def nuggets(shared: Path) -> Iterator[Case]:
    labels = {"support": True, "partial_support": None, "not_support": False}
    for topic in read(shared / "data" / "nuggetizer" / "assignments-gpt4o.jsonl.gz")[:N_TOPICS]:
        known = [n for n in topic["nuggets"] if n.get("assignment") in labels]
        items = [ExamItem(id=str(i), text=n["text"], kind="nugget") for i, n in enumerate(known)]
        if items and topic["answer_text"]:
            yield (
                topic["qid"],
                items,
                topic["answer_text"],
                [labels[n["assignment"]] for n in known],
            )


def pubmedqa(shared: Path) -> Iterator[Case]:
    rows = read(shared / "data" / "pubmedqa" / "train.jsonl.gz")
    texts = {row["pmid"]: " ".join(row["contexts"]) for row in rows}
    questions = [(row["question"], {row["pmid"]}) for row in rows]
    yield from with_negatives(questions, texts)


def bioasq(shared: Path) -> Iterator[Case]:
    folder = shared / "data" / "bioasq"
    texts = {row["pmid"]: row["text"] for row in read(folder / "snippet_documents.jsonl.gz")}
    questions = [
        (row["question"], {pmid for pmid in row["pmids"] if pmid in texts})
        for row in read(folder / "questions.jsonl.gz")
    ]
    yield from with_negatives([(question, own) for question, own in questions if own], texts)


def with_negatives(
    questions: Sequence[tuple[str, set[str]]], texts: dict[str, str]
) -> Iterator[Case]:
    """Yield each question with a passage of its own and with a BM25 hit for another question."""
    ids, index = list(texts), Bm25Index(list(texts.values()))
    for question, own in questions[:: max(1, len(questions) // N_QUESTIONS)]:
        item = ExamItem(id="1", text=question)
        yield question, [item], texts[min(own)], [True]
        found = [
            ids[position] for position, _ in index.search(question, 40) if ids[position] not in own
        ]
        for name in found[NEAR[0] : NEAR[1] : 4]:
            yield question, [item], texts[name], [False]


def report_other_data(name: str, cases: Iterator[Case]) -> None:
    embedder, verifier, model = Embedder(), load_minilm_verifier(), load_exam_model()
    grader = EmbeddedExamGrader(embedder, verifier)
    truth: list[bool] = []
    scores: list[float] = []
    groups: list[str] = []
    verdicts: list[bool | None] = []
    for group, items, passage, labels in cases:
        grades = grader.grade(items, passage)
        # Read the cached signals to get probabilities of undecided items, too.
        found = measure(items, passage, embedder, verifier)
        for item, one, grade, label in zip(items, found, grades, labels, strict=True):
            if label is not None:
                truth.append(label)
                scores.append(model.kinds[item.kind].reach_probabilities(one.signals)[0])
                groups.append(group)
                verdicts.append(grade.is_correct)
    correct = [t == v for t, v in zip(truth, verdicts, strict=True) if v is not None]
    right = f"{np.mean(correct):.3f} right" if correct else "none"
    print(
        f"{name}: {len(truth)} ({np.mean(truth):.3f} covered), AUROC "
        f"{shown(measure_discrimination(scores, truth, groups).auroc)}; "
        f"decided {len(correct) / len(truth):.3f}, {right}",
        flush=True,
    )


def speed(shared: Path) -> None:
    import torch

    from training.released_grades import read_released

    torch.set_num_threads(1)
    found = read_released(shared, 2)
    cases = [(found.banks[p.query], p.passage) for p in found.passages]
    cases = [(bank, text) for bank, text in cases if len(bank) == 10]
    grader = EmbeddedExamGrader(Embedder(), load_minilm_verifier())
    grader.grade(cases[0][0], cases[0][1])
    times: list[float] = []
    for bank, text in cases[1:]:
        start = time.process_time()
        grader.grade(bank, text)
        times.append(time.process_time() - start)
    words = [len(text.split()) for _, text in cases[1:]]
    print(
        f"\n10 items and a passage: {np.median(times):.3f} s of a core, median of {len(times)} "
        f"(of {np.median(words):.0f} words; slowest {max(times):.3f} s)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    args = parser.parse_args()
    rows = kept_rows(args.shared, args.work)
    print("signals:", ", ".join(SIGNALS))
    for kind in KINDS:
        released(rows, kind)
    print()
    report_other_data("nuggets in answers, GPT-4o", nuggets(args.shared))
    report_other_data("PubMedQA", pubmedqa(args.shared))
    report_other_data("BioASQ", bioasq(args.shared))
    speed(args.shared)


if __name__ == "__main__":
    main()

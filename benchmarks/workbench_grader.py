"""How the embedded grader of test banks does, on grades and answers that it was not fitted to.

    python benchmarks/workbench_grader.py --shared ../shared --work exam.json

- FLAN-T5-large's released grades of the Rubric Workbench, by parts of queries that each fit leaves
  out: AUROC for each minimum rating, of all grades and of those that are decided, beside single
  similarities and boosted trees over all that was measured. Intervals resample queries.
- With the shipped numbers: nuggets of TREC RAG 2024 in an answer, as GPT-4o assigned them;
  questions of PubMedQA and BioASQ beside their own abstract or snippets, and a similar other one.
- The processor time that ten items and a passage take.

`--work` is what `training.exam` measured; measured anew where it is missing, in ten minutes.
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
from ragassay.metrics.stats.agreement import discrimination
from ragassay.metrics.stats.calibration import bound_of
from ragassay.models.embeddings import Embedder
from ragassay.models.fitted_raters import ExamWeights, shipped_exam_model
from ragassay.models.verifiers import minilm_verifier
from ragassay.records import MOST_EXAM_RATING, ExamItem, ItemKind, Score
from ragassay.text.search import Bm25Index

sys.path.insert(0, str(Path(__file__).parents[1]))  # where training/ stands

from training.exam import KINDS, N_FOLDS, SIGNALS, Row, fold_of, held_out, kept_rows

N_TOPICS, N_QUESTIONS = 40, 100
NEAR = (1, 5)
"""Ranks by BM25 of the passages of other questions that stand beside a question."""

Case = tuple[str, list[ExamItem], str, list[bool | None]]
"""A group, items, a passage, and whether it covers each; None is left out."""

ALONE = ("least", "sentence", "settles")


def area(rows: Sequence[Row], truth: Sequence[bool], scores: Sequence[float]) -> str:
    """AUROC with its 95 % interval over resampled queries; and its mean within queries."""
    found = discrimination(scores, truth, [row.query for row in rows])
    return f"{shown(found.auroc)}, within a query {shown(found.paired_auroc)}"


def shown(score: Score) -> str:
    if score.value is None or score.low is None or score.high is None:
        return "none"
    return f"{score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"


def released(rows: Sequence[Row], kind: ItemKind) -> None:
    mine = [row for row in rows if row.kind == kind]
    fitted = held_out(mine)
    # The weighted sum, without the thresholds: these differ between fits, their order does not.
    sums = [weighted(one, row) for one, row in zip(fitted, mine, strict=True)]
    n_items, n_queries = len({r.item for r in mine}), len({r.query for r in mine})
    print(f"\n{kind}s: {len(mine)} grades, {n_items} items, {n_queries} queries")
    for least in range(1, MOST_EXAM_RATING + 1):
        truth = [row.rating >= least for row in mine]
        share = sum(truth) / len(truth)
        print(f"  rating >= {least} ({share:.3f} of all): AUROC {area(mine, truth, sums)}")
    truth = [row.rating >= 1 for row in mine]
    for name in ALONE:
        print(f"  {name} alone: {area(mine, truth, [row.signals[name] for row in mine])}")
    print(f"  boosted trees: {area(mine, truth, trees(mine))}")
    decided(mine, fitted, sums, kind)


def weighted(model: ExamWeights, row: Row) -> float:
    return sum(weight * row.signals[name] for name, weight in model.weights.items())


def trees(rows: Sequence[Row]) -> list[float]:
    """Probabilities of a rating of 1 or more by boosted trees, fitted on other queries."""
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
    bounds = shipped_exam_model().kinds[kind].bounds
    shares = [
        one.reach_probabilities(row.signals)[0] for one, row in zip(fitted, rows, strict=True)
    ]
    for label in ("yes", "no"):
        bound = bound_of(bounds, label, "verdict")
        said = [i for i, p in enumerate(shares) if (p >= 0.5) == (label == "yes")]
        kept = [i for i in said if bound and bound.admits(max(shares[i], 1 - shares[i]))]
        right = [(rows[i].rating >= 1) == (label == "yes") for i in kept]
        found = f"{np.mean(right):.3f} right" if kept else "none"
        print(f"  {label}: {len(kept)} of {len(said)} decided, {found}")
    kept = [
        i
        for i, p in enumerate(shares)
        if (bound := bound_of(bounds, "yes" if p >= 0.5 else "no", "verdict"))
        and bound.admits(max(p, 1 - p))
    ]
    mine = [rows[i] for i in kept]
    if kept:
        found = area(mine, [row.rating >= 1 for row in mine], [sums[i] for i in kept])
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
    asked = [(row["question"], {row["pmid"]}) for row in rows]
    yield from beside(asked, texts)


def bioasq(shared: Path) -> Iterator[Case]:
    folder = shared / "data" / "bioasq"
    texts = {row["pmid"]: row["text"] for row in read(folder / "snippet_documents.jsonl.gz")}
    asked = [
        (row["question"], {pmid for pmid in row["pmids"] if pmid in texts})
        for row in read(folder / "questions.jsonl.gz")
    ]
    yield from beside([(question, own) for question, own in asked if own], texts)


def beside(asked: Sequence[tuple[str, set[str]]], texts: dict[str, str]) -> Iterator[Case]:
    """Each question beside a passage of its own and one that BM25 finds and is not."""
    ids, index = list(texts), Bm25Index(list(texts.values()))
    for question, own in asked[:: max(1, len(asked) // N_QUESTIONS)]:
        item = ExamItem(id="1", text=question)
        yield question, [item], texts[min(own)], [True]
        found = [ids[place] for place, _ in index.search(question, 40) if ids[place] not in own]
        for name in found[NEAR[0] : NEAR[1] : 4]:
            yield question, [item], texts[name], [False]


def elsewhere(name: str, cases: Iterator[Case]) -> None:
    """How the shipped numbers do on other data."""
    embedder, verifier, model = Embedder(), minilm_verifier(), shipped_exam_model()
    grader = EmbeddedExamGrader(embedder, verifier)
    truth: list[bool] = []
    scores: list[float] = []
    groups: list[str] = []
    verdicts: list[bool | None] = []
    for group, items, passage, labels in cases:
        grades = grader.grade(items, passage)
        # From the caches: the probability itself, also of what is undecided.
        found = measure(items, passage, embedder, verifier)
        for item, one, grade, label in zip(items, found, grades, labels, strict=True):
            if label is not None:
                truth.append(label)
                scores.append(model.kinds[item.kind].reach_probabilities(one.signals)[0])
                groups.append(group)
                verdicts.append(grade.is_correct)
    told = [t == v for t, v in zip(truth, verdicts, strict=True) if v is not None]
    right = f"{np.mean(told):.3f} right" if told else "none"
    print(
        f"{name}: {len(truth)} ({np.mean(truth):.3f} covered), AUROC "
        f"{shown(discrimination(scores, truth, groups).auroc)}; "
        f"decided {len(told) / len(truth):.3f}, {right}",
        flush=True,
    )


def speed(shared: Path) -> None:
    """Processor time of ten items and a passage; one core works."""
    import torch

    from training.released_grades import read_released

    torch.set_num_threads(1)
    found = read_released(shared, 2)
    cases = [(found.banks[p.query], p.passage) for p in found.passages]
    cases = [(bank, text) for bank, text in cases if len(bank) == 10]
    grader = EmbeddedExamGrader(Embedder(), minilm_verifier())
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
    print("weighed:", ", ".join(SIGNALS))
    for kind in KINDS:
        released(rows, kind)
    print()
    elsewhere("nuggets in answers, GPT-4o", nuggets(args.shared))
    elsewhere("PubMedQA", pubmedqa(args.shared))
    elsewhere("BioASQ", bioasq(args.shared))
    speed(args.shared)


if __name__ == "__main__":
    main()

"""Measure whether the embedded pair rater detects which paper a question is about.

    python benchmarks/qa_rater.py --shared ../shared

Each of SciQAG's 350 published questions is paired with its own paper, with each of the 34 other
papers, and with the other paper that the rater finds closest. All papers are about analytical
chemistry. Nothing was fitted on them, and the bounds come from PubMedQA. No model is called.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from ragassay.formats.papers.pairs import read_pairs
from ragassay.instruments.pair_rater import PaperSignals
from ragassay.metrics.stats.calibration import bound_of
from ragassay.metrics.stats.intervals import compute_share_interval
from ragassay.models.embeddings import Embedder
from ragassay.models.fitted_raters import load_relevance_model


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=os.environ.get("RAGASSAY_SHARED"))
    args = parser.parse_args()
    found = read_pairs(args.shared / "data" / "sciqag" / "papers.jsonl.gz")
    signals, model = PaperSignals(Embedder()), load_relevance_model()
    questions = [pair.question for pair in found.pairs]
    probabilities = np.array(
        [
            [
                model.predict_probability(*both)
                for both in signals.measure(questions, paper.evidence_text)
            ]
            for paper in found.papers
        ]
    )
    positions = {paper.id: position for position, paper in enumerate(found.papers)}
    own = np.array([positions[pair.paper] for pair in found.pairs])
    each = np.arange(len(questions))
    is_other = np.ones(probabilities.shape, dtype=bool)
    is_other[own, each] = False
    groups = {
        "its own paper": probabilities[own, each],
        "another paper": probabilities[is_other],
        "the closest other paper": np.where(is_other, probabilities, -1.0).max(axis=0),
    }
    bounds = {label: bound_of(model.bounds, label, "verdict") for label in ("3", "1")}
    print("asked of                  decided 3              decided 1        undecided       n")
    for name, group in groups.items():
        about = sum(bool(b.admits(p)) for p in group if (b := bounds["3"]) and p >= 0.5)
        unrelated = sum(bool(b.admits(1 - p)) for p in group if (b := bounds["1"]) and p < 0.5)
        n = len(group)
        undecided = (n - about - unrelated) / n
        print(f"{name:24}  {_share(about, n)}  {_share(unrelated, n)}  {undecided:9.1%}  {n:6}")
    print("AUROC of the probability: own against others", round(_auroc(groups, "another paper"), 3))
    print("own against the closest other", round(_auroc(groups, "the closest other paper"), 3))


def _share(hits: int, n: int) -> str:
    low, high = compute_share_interval(hits, n) or (0.0, 1.0)
    return f"{hits / n:6.1%} ({low:.3f}-{high:.3f})"


def _auroc(groups: dict[str, np.ndarray], other: str) -> float:
    from sklearn.metrics import roc_auc_score

    own, others = groups["its own paper"], groups[other]
    return float(roc_auc_score([1] * len(own) + [0] * len(others), np.concatenate([own, others])))


if __name__ == "__main__":
    main()

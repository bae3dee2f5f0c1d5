"""Fit a model of whether a question is about a paper, using PubMedQA's questions.

    python -m training.pairs --shared ../shared --work w.npz --out ragassay/models/raters/pairs.json

Full texts may not be used for training, so a paper consists of twelve abstracts: the question's own
and those of the eleven most similar questions. Each paper gets three questions: its own, a random
one, and the most similar one that it does not answer. Bounds are cross-validated by question. The
shipped model is fitted on all data. Wrongly rejecting a question is worse, so the bound of "1" has
a lower risk. Computing the signals takes several minutes, and they are stored in `--work`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from ragassay.instruments.pair_rater import PaperSignals
from ragassay.metrics.stats.calibration import find_risk_bound
from ragassay.models.embeddings import Embedder
from ragassay.models.fitted_raters import RelevanceModel
from ragassay.records import Bound

N_ABSTRACTS = 12
N_FOLDS = 5
RISK = {"3": 0.02, "1": 0.01}
DELTA, SEED = 0.1, 0
DATA = "PubMedQA's 500 training questions, twelve abstracts for a paper"


def main() -> None:
    """Fit the model and write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if not given.work.exists():
        signals, is_own, groups = measured(given.shared)
        np.savez(given.work, signals=signals, is_own=is_own, groups=groups)
    kept = np.load(given.work)
    signals, is_own, groups = kept["signals"], kept["is_own"], kept["groups"].tolist()
    bounds = held_out_bounds(signals, is_own, groups)
    fit = LogisticRegression(C=100).fit(signals, is_own)
    closest, covered = (round(float(w), 4) for w in fit.coef_[0])
    model = RelevanceModel(
        data=DATA,
        bias=round(float(fit.intercept_[0]), 4),
        closest=closest,
        covered=covered,
        bounds=bounds,
    )
    given.out.write_text(model.model_dump_json(indent=2) + "\n", encoding="utf-8")
    print(model.model_dump_json(indent=2))


def measured(shared: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return signals, whether the question is the paper's own, and groups.

    Signals have shape (n_questions, 2).
    """
    path = shared / "data" / "pubmedqa" / "train.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    embedder, rng = Embedder(), random.Random(SEED)
    signals = PaperSignals(embedder)
    questions = [row["question"] for row in rows]
    vectors = embedder.encode_many(questions)
    order = np.argsort(-(vectors @ vectors.T), axis=1)
    found, is_own, groups = [], [], []
    for place, row in enumerate(rows):
        # Exclude the question itself, which may not be first because of rounding.
        others = [int(one) for one in order[place] if one != place]
        near, rest = others[: N_ABSTRACTS - 1], others[N_ABSTRACTS - 1 :]
        text = " ".join(part for n in (place, *near) for part in rows[n]["contexts"])
        asked = [row["question"], questions[rest[0]], questions[rng.choice(rest)]]
        found += signals.measure(asked, text)
        is_own += [True, False, False]
        groups += [row["pmid"]] * 3
    return np.array(found), np.array(is_own), groups


def held_out_bounds(
    signals: np.ndarray, is_own: np.ndarray, groups: list[str]
) -> tuple[Bound, ...]:
    """Return the cross-validated bounds of "3" and "1"."""
    folds = np.array(
        [int(hashlib.sha256(str(g).encode()).hexdigest(), 16) % N_FOLDS for g in groups]
    )
    sure = np.zeros(len(is_own))
    for fold in range(N_FOLDS):
        rest = folds != fold
        fit = LogisticRegression(C=100).fit(signals[rest], is_own[rest])
        sure[~rest] = fit.predict_proba(signals[~rest])[:, 1]
    found = []
    for label, confidence, is_right in (("3", sure, is_own), ("1", 1 - sure, ~is_own)):
        leans = confidence >= 0.5
        found.append(
            find_risk_bound(
                label,
                confidence[leans].tolist(),
                is_right[leans].tolist(),
                risk=RISK[label],
                delta=DELTA,
                clusters=[g for g, one in zip(groups, leans, strict=True) if one],
                data=DATA,
            )
        )
    return tuple(found)


if __name__ == "__main__":
    main()

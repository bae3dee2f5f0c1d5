"""Compare classifiers of support with a cosine baseline on expert-labeled claims.

    python -m training.natural --shared ../shared --work natural --sets expertqa medaesqa
    python -m training.support --shared ../shared --work natural

Each method assigns a value to the claims of ExpertQA (dev), cross-validated over ten folds of
questions. Prints the AUC, and the precision of the claims decided by two rules: the highest third
of the values (which uses no labels), and the most claims for which .85 are right. Thresholds come
from an inner cross-validation on the other questions. The methods are the baselines, two
scikit-learn classifiers, and a logistic regression also trained on MedAESQA's sentences. None of
them is shipped. `docs/lab/tried.md` lists the figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ragassay.metrics.stats.agreement import measure_discrimination
from ragassay.models.embeddings import Embedder
from ragassay.text.quantities import extract_numbers
from ragassay.text.search import rank_texts, tokenize
from ragassay.text.sentences import extract_sentences
from training.claims import SEED
from training.natural import NaturalClaim, PairRow, read_rows, read_set

N_OUTER, N_INNER = 10, 5
LEAST_DECIDED, RIGHT, SHARE = 50, 0.85, 1 / 3
WEIGHT = 0.3
"""Weight of a MedAESQA sentence, which has the label of its answer."""

N_COSINES, N_NEAR = 3, 12
SUPPORTS, WORDS, COSINE = 0, 1, 2
"""Columns of the features that are also baselines."""

Values = NDArray[np.float64]


def features_of(claim: NaturalClaim, rows: Sequence[PairRow], embedder: Embedder) -> list[float]:
    """Return the features of a claim and its source with the highest cosine."""
    row, source = max(zip(rows, claim.sources, strict=True), key=lambda pair: pair[0].cosine)
    sentences = extract_sentences(source.text)
    near = [sentences[n] for n, _ in rank_texts(claim.text, sentences)[:N_NEAR]] or sentences[:1]
    vectors = embedder.encode([claim.text, *near, source.text])
    cosines = sorted((vectors[1:-1] @ vectors[0]).tolist(), reverse=True)
    mine, theirs = tokenize(claim.text), tokenize(source.text)
    pairs, known = set(pairwise(mine)), set(pairwise(theirs))
    longest = SequenceMatcher(None, mine, theirs, autojunk=False).find_longest_match().size
    numbers, stated = set(extract_numbers(claim.text)), set(extract_numbers(source.text))
    return [
        *(row.supports, row.words, row.cosine),
        *[*cosines, 0.0, 0.0][1:N_COSINES],
        float(vectors[-1] @ vectors[0]),
        len(set(mine) & set(theirs)) / max(1, len(set(mine))),
        len(pairs & known) / max(1, len(pairs)),
        longest / max(1, len(mine)),
        len(numbers & stated) / len(numbers) if numbers else 1.0,
        *(len(numbers), len(mine), float(np.log1p(len(theirs))), len(sentences), len(rows)),
        *(float(row.turned), float(bool(row.difference))),
    ]


def read_features(
    shared: Path, work: Path, name: str, embedder: Embedder
) -> tuple[Values, NDArray[np.bool_], list[NaturalClaim]]:
    """Return the features of a set's claims, whether each is supported, and the claims."""
    claims, rows = read_set(shared, name), read_rows(work, name)
    found = [features_of(*pair, embedder) for pair in zip(claims, rows, strict=True)]
    labels = [claim.label in ("supports", "accurate") for claim in claims]
    return np.array(found), np.array(labels), claims


class Column:
    """A baseline that returns one feature and fits nothing."""

    def __init__(self, place: int) -> None:
        self.place = place

    def fit(self, _x: Values, _y: NDArray[np.bool_]) -> Column:
        """Return self."""
        return self

    def predict_proba(self, x: Values) -> Values:
        """Return the feature as the second column."""
        return np.c_[-x[:, self.place], x[:, self.place]]


def logistic() -> Any:
    """Return a logistic regression on standardized features."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.03, max_iter=3000))


class WithMore:
    """A logistic regression that also trains on a second set of claims."""

    def __init__(self, x: Values, y: NDArray[np.bool_]) -> None:
        self.x, self.y, self.model = x, y, logistic()

    def fit(self, x: Values, y: NDArray[np.bool_]) -> WithMore:
        """Fit to both sets."""
        weights = np.r_[np.ones(len(y)), np.full(len(self.y), WEIGHT)]
        both = np.vstack([x, self.x]), np.r_[y, self.y]
        self.model.fit(*both, logisticregression__sample_weight=weights)
        return self

    def predict_proba(self, x: Values) -> Values:
        """Return the probabilities of both classes."""
        return self.model.predict_proba(x)


def folds(groups: Sequence[str], n: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each claim, with the claims of a question in the same fold."""
    names = sorted(set(groups))
    order = np.random.default_rng(seed).permutation(len(names)) % n
    place = dict(zip(names, order, strict=True))
    return np.array([place[group] for group in groups])


def held_out(
    make: Callable[[], Any], x: Values, y: NDArray[np.bool_], groups: Sequence[str]
) -> tuple[Values, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return each claim's value and whether each rule decides it, cross-validated by question."""
    values = np.zeros(len(y))
    third, right = np.zeros(len(y), bool), np.zeros(len(y), bool)
    parts = folds(groups, N_OUTER, SEED)
    for part in range(N_OUTER):
        rest, own = parts != part, parts == part
        inner = folds([g for g, kept in zip(groups, rest, strict=True) if kept], N_INNER, part)
        known = np.zeros(int(rest.sum()))
        for one in range(N_INNER):
            model = make().fit(x[rest][inner != one], y[rest][inner != one])
            known[inner == one] = model.predict_proba(x[rest][inner == one])[:, 1]
        values[own] = make().fit(x[rest], y[rest]).predict_proba(x[own])[:, 1]
        third[own] = values[own] >= np.quantile(known, 1 - SHARE)
        order = np.argsort(-known)
        precision = np.cumsum(y[rest][order]) / np.arange(1, len(order) + 1)
        enough = np.flatnonzero(precision[LEAST_DECIDED - 1 :] >= RIGHT) + LEAST_DECIDED - 1
        right[own] = values[own] >= (known[order[enough[-1]]] if len(enough) else np.inf)
    return values, third, right


def auc_of_answers(values: Values, claims: Sequence[NaturalClaim]) -> str:
    """Format the AUC of the mean over an answer's sentences."""
    answers = {claim.id: claim for claim in claims}
    ids = np.array([claim.id for claim in claims])
    means = [float(values[ids == name].mean()) for name in answers]
    labels = [one.label == "accurate" for one in answers.values()]
    return auc_text(means, labels, [one.group for one in answers.values()])


def auc_text(values: Sequence[float], labels: Sequence[bool], groups: Sequence[str]) -> str:
    """Format an AUC with its interval."""
    auc = measure_discrimination(values, labels, groups).auroc
    return f"AUC {auc.value:.3f} ({auc.low:.2f} to {auc.high:.2f})"


def main() -> None:
    """Print one line per method."""
    parser = argparse.ArgumentParser(description="Compare classifiers of support with a cosine.")
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    parser.add_argument(
        "--work", type=Path, required=True, help="folder written by training.natural"
    )
    given = parser.parse_args()
    embedder = Embedder()
    x, y, claims = read_features(given.shared, given.work, "expertqa", embedder)
    more, accurate, others = read_features(given.shared, given.work, "medaesqa", embedder)
    groups = [claim.group for claim in claims]
    boosting = {"max_depth": 3, "max_iter": 80, "learning_rate": 0.05, "min_samples_leaf": 20}
    ways: dict[str, Callable[[], Any]] = {
        "verifier": lambda: Column(SUPPORTS),
        "share of words": lambda: Column(WORDS),
        "cosine": lambda: Column(COSINE),
        "logistic": logistic,
        "logistic, MedAESQA too": lambda: WithMore(more, accurate),
        "boosting": lambda: HistGradientBoostingClassifier(**boosting, random_state=SEED),
    }
    print(f"{len(y)} claims, {y.mean():.3f} supported")
    for name, make in ways.items():
        values, *rules = held_out(make, x, y, groups)
        line = f"{name:<24}{auc_text(values.tolist(), y.tolist(), groups)}"
        for title, decided in zip(("a third", ".85 inside"), rules, strict=True):
            share = f"{y[decided].mean():.3f}" if decided.any() else "none"
            line += f"; {title}: {share} right on {decided.mean():.3f}"
        whole = make().fit(x, y).predict_proba(more)[:, 1]
        print(f"{line}; MedAESQA: {auc_of_answers(whole, others)}", flush=True)


if __name__ == "__main__":
    main()

"""Fit the classical baselines of correctness to pairs of sentence and passage.

    python -m training.correctness --shared ../shared --family svm --out correctness.json

Pairs follow BioACE (section 4.1.3): an answer sentence with its marked evidence span is correct;
with the fragment of three sentences that BM25 ranks first for the question, outside that span, it
is incorrect.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragassay.models.entailment import SUPPORTS
from ragassay.models.pair_classifier import (
    Family,
    PairClassifier,
    PairWeights,
    new_vectorizer,
    pair_features,
)
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.retrievers.passages import WINDOW, windows
from ragassay.text.bm25 import Bm25Index
from training.bioasq import BioasqAnswer, FragmentSearch, read_bioasq
from training.claims import read_scifact_claims

SEED = 20250714


@dataclass(frozen=True)
class CorrectnessPair:
    """A sentence and a passage.

    Attributes:
        sentence: A sentence of an answer.
        passage: A passage of a document.
        correct: Whether the passage is the sentence's marked evidence.
        group: The question's name; no split divides a group.
    """

    sentence: str
    passage: str
    correct: bool
    group: str


def scifact_pairs(claims: Iterable[LabelledClaim]) -> list[CorrectnessPair]:
    """Pair claims with their rationale, and with the abstract's best other fragment.

    The claim is its own question. An abstract that is nothing but rationale has no other fragment,
    and so gives no incorrect pair.
    """
    found: list[CorrectnessPair] = []
    for claim in claims:
        if claim.label != SUPPORTS or not claim.rationale:
            continue
        marked = " ".join(claim.sentences[i] for i in claim.rationale)
        found.append(CorrectnessPair(claim.claim, marked, True, claim.group))
        beside = _best_fragment(claim)
        if beside:
            found.append(CorrectnessPair(claim.claim, beside, False, claim.group))
    return found


def _best_fragment(claim: LabelledClaim) -> str:
    """Return the fragment that BM25 ranks first among those without a sentence of the rationale."""
    runs = [
        range(start, start + WINDOW) for start in range(max(1, len(claim.sentences) - WINDOW + 1))
    ]
    free = [run for run in runs if not set(run) & set(claim.rationale)]
    texts = [" ".join(claim.sentences[run.start : run.stop]) for run in free]
    hits = Bm25Index(texts).search(claim.claim, 1)
    return texts[hits[0][0]] if hits else ""


def bioasq_pairs(
    answers: Iterable[BioasqAnswer], fragments: FragmentSearch
) -> list[CorrectnessPair]:
    """Pair sentences of ideal answers with their gold snippets, and with the best other fragment.

    Of a question's snippets, the fragment that BM25 ranks first for the sentence is its evidence.
    Nobody labelled the rest of the abstracts, so the incorrect fragment is searched with the
    question in the documents of other questions.
    """
    found: list[CorrectnessPair] = []
    for answer in answers:
        own = [span.text for document in answer.documents for span in windows(document)]
        index = Bm25Index(own)
        beside = fragments.best(answer.question, {d.id for d in answer.documents})
        for sentence in answer.sentences:
            hits = index.search(sentence, 1)
            if hits:
                found.append(CorrectnessPair(sentence, own[hits[0][0]], True, answer.group))
                if beside:
                    found.append(CorrectnessPair(sentence, beside, False, answer.group))
    return found


def fit_classifier(pairs: Sequence[CorrectnessPair], family: Family) -> PairClassifier:
    """Fit a classical baseline.

    Args:
        pairs: With both labels among them.
        family: A linear support vector machine, whose decisions become probabilities by Platt's
            method over five folds of questions, or logistic regression.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.svm import LinearSVC

    texts = [text for pair in pairs for text in (pair.sentence, pair.passage)]
    vectorizer = new_vectorizer().fit(texts)
    features = pair_features(vectorizer, [(p.sentence, p.passage) for p in pairs])
    labels = np.array([pair.correct for pair in pairs])
    slope, offset = 1.0, 0.0
    if family == "svm":
        model = LinearSVC(random_state=SEED)
        folds = GroupKFold(5).split(features, labels, [pair.group for pair in pairs])
        held: Any = cross_val_predict(
            model, features, labels, cv=list(folds), method="decision_function"
        )
        curve = LogisticRegression().fit(held[:, None], labels)
        slope, offset = float(curve.coef_[0, 0]), float(curve.intercept_[0])
    else:
        model = LogisticRegression(max_iter=1000)
    model.fit(features, labels)
    words = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
    coefficients, n = model.coef_[0], len(words)
    weights = PairWeights(
        family=family,
        words=tuple(words),
        idf=_rounded(vectorizer.idf_),
        shared=_rounded(coefficients[:n]),
        missing=_rounded(coefficients[n : 2 * n]),
        cosine=float(coefficients[-1]),
        intercept=float(np.ravel(model.intercept_)[0]),
        slope=slope,
        offset=offset,
        n_pairs=len(pairs),
        data_sha256=pairs_sha256(pairs),
    )
    return PairClassifier(weights)


def pairs_sha256(pairs: Sequence[CorrectnessPair]) -> str:
    """Return the hash of pairs, in their order."""
    rows = [(pair.sentence, pair.passage, pair.correct) for pair in pairs]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _rounded(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in values)


def read_pairs(shared: Path) -> list[CorrectnessPair]:
    """Read all pairs: from SciFact's rationales and from BioASQ's snippets."""
    answers = read_bioasq(shared)
    fragments = FragmentSearch(d for answer in answers for d in answer.documents)
    return [*scifact_pairs(read_scifact_claims(shared)), *bioasq_pairs(answers, fragments)]


def main() -> None:
    """Fit a baseline and write it as JSON."""
    parser = argparse.ArgumentParser(description="Fit a classical baseline of correctness.")
    parser.add_argument("--shared", type=Path, required=True, help="holds data/scifact, bioasq")
    parser.add_argument("--family", choices=("svm", "logistic"), default="svm")
    parser.add_argument("--out", type=Path, required=True, help="a .json file")
    arguments = parser.parse_args()
    fitted = fit_classifier(read_pairs(arguments.shared), arguments.family)
    arguments.out.write_text(fitted.weights.model_dump_json(), encoding="utf-8")
    print(f"{arguments.out}: {fitted.name}")


if __name__ == "__main__":
    main()

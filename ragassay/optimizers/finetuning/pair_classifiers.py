"""Fit the classical classifiers of correctness (BioACE, section 4.1.3, table 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ragassay.errors import InputError
from ragassay.models.pair_classifier import (
    Family,
    PairClassifier,
    PairWeights,
    new_vectorizer,
    pair_features,
)
from ragassay.optimizers.finetuning.cross_validation import group_folds
from ragassay.optimizers.finetuning.labelled_pairs import LabelledPair, pairs_sha256
from ragassay.records import Bound

N_PLATT_FOLDS = 5
FEW_TEXTS = 200
"""With fewer texts a word counts that is in one of them; with more it must be in three."""


def fit_classifier(
    pairs: Sequence[LabelledPair], family: Family, *, seed: int = 0, bounds: Sequence[Bound] = ()
) -> PairClassifier:
    """Fit a classifier over the words of pairs.

    Args:
        pairs: With both labels among them; 0 is "correct".
        family: A linear support vector machine, whose decisions become probabilities by Platt's
            method over folds of questions, or logistic regression.
        seed: The seed of all draws.
        bounds: What its labels need to count.

    Raises:
        InputError: There are too few pairs, or their texts have no word.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    texts = [text for pair in pairs for text in (pair.sentence, pair.passage)]
    try:
        vectorizer = new_vectorizer(1 if len(texts) < FEW_TEXTS else 3).fit(texts)
    except ValueError as error:
        raise InputError("the texts of the pairs have no word to learn from") from error
    features = pair_features(vectorizer, [(p.sentence, p.passage) for p in pairs])
    labels = np.array([pair.label == 0 for pair in pairs])
    slope, offset = 1.0, 0.0
    if family == "svm":
        model: Any = LinearSVC(random_state=seed)
        slope, offset = _platt(model, features, labels, pairs, seed)
    else:
        model = LogisticRegression(max_iter=1000, random_state=seed)
    model.fit(features, labels)
    words = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
    coefficients, n = model.coef_[0], len(words)
    return PairClassifier(
        PairWeights(
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
            bounds=tuple(bounds),
        )
    )


def _platt(
    model: Any, features: Any, labels: Any, pairs: Sequence[LabelledPair], seed: int
) -> tuple[float, float]:
    """Return slope and offset of the curve from held-out decisions to probabilities."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_predict

    folds = PredefinedSplit(group_folds(pairs, N_PLATT_FOLDS, seed))
    try:
        held: Any = cross_val_predict(model, features, labels, cv=folds, method="decision_function")
    except ValueError as error:
        raise InputError(
            f"{len(pairs)} pairs are too few for a support vector machine: give more questions"
        ) from error
    curve = LogisticRegression().fit(held[:, None], labels)
    return float(curve.coef_[0, 0]), float(curve.intercept_[0])


def _rounded(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in values)

"""Fit classical correctness classifiers, and cross-validate classifiers (BioACE, 4.1.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.errors import InputError
from ragassay.metrics.stats.agreement import Agreement, measure_agreement, measure_discrimination
from ragassay.metrics.stats.calibration import find_risk_bound
from ragassay.models.fitted_models import (
    Family,
    PairClassifier,
    PairWeights,
    compute_pair_features,
    create_vectorizer,
)
from ragassay.optimizers.finetuning.labelled_pairs import LabelledPair, hash_pairs
from ragassay.optimizers.finetuning.tunings import build_card_figures
from ragassay.records import Bound, CardFigure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


RISK = 0.2
"""Maximum share of wrong labels among those whose confidence reaches the bound."""

Fit = Callable[[Sequence[LabelledPair], str], "Callable[[Sequence[LabelledPair]], Shares]"]
"""Function that fits a classifier to pairs, given the name of the fold, and returns a function for
prediction."""

if TYPE_CHECKING:
    Shares = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOut:
    """Predictions for pairs from cross-validation.

    Attributes:
        folds: Fold of each pair, shape (n_pairs,).
        shares: Predicted probabilities, shape (n_pairs, n_labels).
    """

    pairs: tuple[LabelledPair, ...]
    labels: tuple[str, ...]
    folds: NDArray[np.int64]
    shares: NDArray[np.float64]

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max()) + 1

    def measure_fold(self, fold: int | None = None) -> Agreement:
        """Return the agreement of predictions and labels in one fold, or in all folds if None."""
        rows = [i for i in range(len(self.pairs)) if fold is None or self.folds[i] == fold]
        best = self.shares.argmax(axis=1)
        return measure_agreement(
            [self.labels[self.pairs[i].label] for i in rows],
            [self.labels[best[i]] for i in rows],
            self.labels,
            [self.pairs[i].group for i in rows],
        )

    def find_bounds(self, data: str) -> tuple[Bound, ...]:
        """Return each label's minimum confidence at which at most 20 % of predictions are wrong."""
        best, bounds = self.shares.argmax(axis=1), list[Bound]()
        for index, label in enumerate(self.labels):
            rows = [i for i in range(len(self.pairs)) if best[i] == index]
            bounds.append(
                find_risk_bound(
                    label,
                    [float(self.shares[i, index]) for i in rows],
                    [self.pairs[i].label == index for i in rows],
                    risk=RISK,
                    clusters=[self.pairs[i].group for i in rows],
                    data=f"{data}, {self.n_folds} held-out folds",
                )
            )
        return tuple(bounds)

    def build_figures(self, task: str, data: str, command: str) -> tuple[CardFigure, ...]:
        """Return BioACE's metrics (tables 2 and 3) over all folds, and macro-F1 for each fold."""
        measured = self.measure_fold()
        scores = {"accuracy": measured.accuracy}
        for way in ("macro", "weighted"):
            average = measured.averages[way]
            scores |= {f"{way} precision": average.precision, f"{way} recall": average.recall}
            scores[f"{way}-F1"] = average.f1
        if len(self.labels) == 2:
            is_first = [pair.label == 0 for pair in self.pairs]
            groups = [pair.group for pair in self.pairs]
            scores["AUC"] = measure_discrimination(
                self.shares[:, 0].tolist(), is_first, groups
            ).auroc
        all_folds = f"{data}, {self.n_folds} held-out folds"
        rows = [(all_folds, name, score) for name, score in scores.items()]
        for fold in range(self.n_folds):
            f1 = self.measure_fold(fold).averages["macro"].f1
            rows.append((f"{data}, fold {fold + 1} of {self.n_folds}", "macro-F1", f1))
        return build_card_figures(task, rows, command)


def cross_validate(
    pairs: Sequence[LabelledPair],
    labels: Sequence[str],
    fit: Fit,
    *,
    n_folds: int,
    seed: int,
    say: Callable[[str], None] = lambda text: None,
) -> HeldOut:
    """Cross-validate a classifier, with all pairs of a question in the same fold.

    Args:
        pairs: Labelled pairs for at least two questions.
        n_folds: Maximum number of folds. There are fewer folds if few questions have the second
            most frequent label.

    Raises:
        InputError: There are too few questions or labels.
    """
    import numpy as np

    folds = assign_folds(pairs, n_folds, seed)
    shares = np.zeros((len(pairs), len(labels)))
    for fold in range(int(folds.max()) + 1):
        say(f"fold {fold + 1} of {int(folds.max()) + 1}")
        train = [pair for pair, own in zip(pairs, folds, strict=True) if own != fold]
        rows = [i for i, own in enumerate(folds.tolist()) if own == fold]
        shares[rows] = fit(train, f"fold-{fold + 1}")([pairs[i] for i in rows])
    return HeldOut(tuple(pairs), tuple(labels), folds, shares)


def assign_folds(pairs: Sequence[LabelledPair], n_folds: int, seed: int) -> NDArray[np.int64]:
    """Assign pairs to folds by question, with a similar label distribution in each fold.

    Raises:
        InputError: Fewer than two labels occur in at least two questions.
    """
    import warnings

    import numpy as np
    from sklearn.model_selection import StratifiedGroupKFold

    by_label = [{p.group for p in pairs if p.label == one} for one in {p.label for p in pairs}]
    sizes = sorted((len(groups) for groups in by_label), reverse=True)
    if len(sizes) < 2 or sizes[1] < 2:
        raise InputError(
            "cross-validation requires two labels with at least two questions each; found "
            f"{len(pairs)} pairs with these question counts per label: "
            f"{', '.join(map(str, sizes)) or 'none'}"
        )
    splitter = StratifiedGroupKFold(min(n_folds, sizes[1]), shuffle=True, random_state=seed)
    labels, groups = [p.label for p in pairs], [p.group for p in pairs]
    folds = np.zeros(len(pairs), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Rare labels do not occur in every fold.
        for fold, (_, held) in enumerate(splitter.split(np.zeros(len(pairs)), labels, groups)):
            folds[held] = fold
    return folds


N_PLATT_FOLDS = 5
FEW_TEXTS = 200
"""Number of texts from which words that occur in fewer than three texts are dropped."""


def fit_classifier(
    pairs: Sequence[LabelledPair], family: Family, *, seed: int = 0, bounds: Sequence[Bound] = ()
) -> PairClassifier:
    """Fit a bag-of-words classifier to pairs.

    Args:
        pairs: Pairs, of which some have label 0 ("correct") and some have label 1.
        family: Logistic regression, or a linear support vector machine with probabilities from
            Platt scaling over folds of questions.
        bounds: Minimum confidence of each label, which is stored with the classifier.

    Raises:
        InputError: There are too few pairs, or their texts contain no words.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    texts = [text for pair in pairs for text in (pair.sentence, pair.passage)]
    try:
        vectorizer = create_vectorizer(1 if len(texts) < FEW_TEXTS else 3).fit(texts)
    except ValueError as error:
        raise InputError("the texts of the pairs contain no usable words") from error
    features = compute_pair_features(vectorizer, [(p.sentence, p.passage) for p in pairs])
    labels = np.array([pair.label == 0 for pair in pairs])
    slope, offset = 1.0, 0.0
    if family == "svm":
        model: Any = LinearSVC(random_state=seed)
        slope, offset = _fit_platt(model, features, labels, pairs, seed)
    else:
        model = LogisticRegression(max_iter=1000, random_state=seed)
    model.fit(features, labels)
    words = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
    coefficients, n = model.coef_[0], len(words)
    return PairClassifier(
        PairWeights(
            family=family,
            words=tuple(words),
            idf=_round_values(vectorizer.idf_),
            shared=_round_values(coefficients[:n]),
            missing=_round_values(coefficients[n : 2 * n]),
            cosine=float(coefficients[-1]),
            intercept=float(np.ravel(model.intercept_)[0]),
            slope=slope,
            offset=offset,
            n_pairs=len(pairs),
            data_sha256=hash_pairs(pairs),
            bounds=tuple(bounds),
        )
    )


def _fit_platt(
    model: Any, features: Any, labels: Any, pairs: Sequence[LabelledPair], seed: int
) -> tuple[float, float]:
    """Return the slope and the offset of Platt scaling, fitted to held-out decision values."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_predict

    folds = PredefinedSplit(assign_folds(pairs, N_PLATT_FOLDS, seed))
    try:
        held: Any = cross_val_predict(model, features, labels, cv=folds, method="decision_function")
    except ValueError as error:
        raise InputError(
            f"{len(pairs)} pairs are too few for a support vector machine; add more questions"
        ) from error
    curve = LogisticRegression().fit(held[:, None], labels)
    return float(curve.coef_[0, 0]), float(curve.intercept_[0])


def _round_values(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in values)

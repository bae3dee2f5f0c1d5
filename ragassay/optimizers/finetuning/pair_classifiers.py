"""Fit the classical classifiers of correctness, cross-validated (BioACE, 4.1.3, table 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.errors import InputError
from ragassay.metrics.stats.agreement import Agreement, agreement, discrimination
from ragassay.metrics.stats.calibration import risk_bound
from ragassay.models.fitted_models import (
    Family,
    PairClassifier,
    PairWeights,
    new_vectorizer,
    pair_features,
)
from ragassay.optimizers.finetuning.labelled_pairs import LabelledPair, pairs_sha256
from ragassay.records import Bound, CardFigure, Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


RISK = 0.2
"""Largest share of wrong labels above a bound."""

Fit = Callable[[Sequence[LabelledPair], str], "Callable[[Sequence[LabelledPair]], Shares]"]
"""Fits to pairs, under the name of a fold; what it returns gives probabilities of the labels."""

if TYPE_CHECKING:
    Shares = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOut:
    """Predictions of each pair by a classifier that did not see its question.

    Attributes:
        folds: shape (n_pairs,), the fold of each.
        shares: shape (n_pairs, n_labels), probabilities.
    """

    pairs: tuple[LabelledPair, ...]
    labels: tuple[str, ...]
    folds: NDArray[np.int64]
    shares: NDArray[np.float64]

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return int(self.folds.max()) + 1

    def measure_fold(self, fold: int | None = None) -> Agreement:
        """Return the agreement with people over one fold, or over all."""
        rows = [i for i in range(len(self.pairs)) if fold is None or self.folds[i] == fold]
        best = self.shares.argmax(axis=1)
        return agreement(
            [self.labels[self.pairs[i].label] for i in rows],
            [self.labels[best[i]] for i in rows],
            self.labels,
            [self.pairs[i].group for i in rows],
        )

    def bounds(self, data: str) -> tuple[Bound, ...]:
        """Return for each label the confidence from which it is right in four of five cases."""
        best, found = self.shares.argmax(axis=1), list[Bound]()
        for place, label in enumerate(self.labels):
            rows = [i for i in range(len(self.pairs)) if best[i] == place]
            found.append(
                risk_bound(
                    label,
                    [float(self.shares[i, place]) for i in rows],
                    [self.pairs[i].label == place for i in rows],
                    risk=RISK,
                    clusters=[self.pairs[i].group for i in rows],
                    data=f"{data}, {self.n_folds} held-out folds",
                )
            )
        return tuple(found)

    def figures(self, task: str, data: str, command: str) -> tuple[CardFigure, ...]:
        """Return the figures of BioACE's tables 2 and 3 over all folds, and F1 of each fold."""
        scores = _scores(self.measure_fold())
        if len(self.labels) == 2:
            is_first = [pair.label == 0 for pair in self.pairs]
            groups = [pair.group for pair in self.pairs]
            scores["AUC"] = discrimination(self.shares[:, 0].tolist(), is_first, groups).auroc
        rows = [(data, name, score) for name, score in scores.items()]
        for fold in range(self.n_folds):
            one = self.measure_fold(fold).averages["macro"].f1
            rows.append((f"{data}, fold {fold + 1} of {self.n_folds}", "macro-F1", one))
        return tuple(
            CardFigure(
                task=task,
                data=where if where != data else f"{data}, {self.n_folds} held-out folds",
                metric=metric,
                value=score.value,
                low=score.low,
                high=score.high,
                n=score.n,
                command=command,
            )
            for where, metric, score in rows
            if score.value is not None
        )


def _scores(measured: Agreement) -> dict[str, Score]:
    found = {"accuracy": measured.accuracy}
    for way in ("macro", "weighted"):
        average = measured.averages[way]
        found[f"{way} precision"] = average.precision
        found[f"{way} recall"] = average.recall
        found[f"{way}-F1"] = average.f1
    return found


def cross_validate(
    pairs: Sequence[LabelledPair],
    labels: Sequence[str],
    fit: Fit,
    *,
    n_folds: int,
    seed: int,
    say: Callable[[str], None] = lambda text: None,
) -> HeldOut:
    """Fit without each fold of questions in turn, and predict it.

    Args:
        pairs: Labelled pairs of at least two different questions.
        labels: The task's labels.
        n_folds: Most folds; fewer where a label comes in fewer questions.
        say: Receives progress messages.

    Raises:
        InputError: A fold would leave nothing, or one label only, to learn from.
    """
    import numpy as np

    folds = group_folds(pairs, n_folds, seed)
    shares = np.zeros((len(pairs), len(labels)))
    for fold in range(int(folds.max()) + 1):
        say(f"fold {fold + 1} of {int(folds.max()) + 1}")
        learnt = [pair for pair, own in zip(pairs, folds, strict=True) if own != fold]
        rows = [i for i, own in enumerate(folds.tolist()) if own == fold]
        shares[rows] = fit(learnt, f"fold-{fold + 1}")([pairs[i] for i in rows])
    return HeldOut(tuple(pairs), tuple(labels), folds, shares)


def group_folds(pairs: Sequence[LabelledPair], n_folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each pair, from 0: a question in one fold, the labels spread evenly.

    Raises:
        InputError: There are fewer than two labels, or the commonest label but one comes in fewer
            than two questions.
    """
    import warnings

    import numpy as np
    from sklearn.model_selection import StratifiedGroupKFold

    by_label = [{p.group for p in pairs if p.label == one} for one in {p.label for p in pairs}]
    sizes = sorted((len(groups) for groups in by_label), reverse=True)
    if len(sizes) < 2 or sizes[1] < 2:
        raise InputError(
            "cross-validation needs two labels, each of them in two questions: "
            f"the labels of {len(pairs)} pairs come in {', '.join(map(str, sizes)) or 0}"
        )
    splitter = StratifiedGroupKFold(min(n_folds, sizes[1]), shuffle=True, random_state=seed)
    labels, groups = [p.label for p in pairs], [p.group for p in pairs]
    found = np.zeros(len(pairs), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a rare label is in fewer folds
        for fold, (_, held) in enumerate(splitter.split(np.zeros(len(pairs)), labels, groups)):
            found[held] = fold
    return found


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
            idf=_round_values(vectorizer.idf_),
            shared=_round_values(coefficients[:n]),
            missing=_round_values(coefficients[n : 2 * n]),
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


def _round_values(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in values)

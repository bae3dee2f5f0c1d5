"""Cross-validate a classifier of pairs: figures of each fold and of all, and bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.metrics.agreement import Agreement, agreement
from ragassay.metrics.discrimination import discrimination
from ragassay.metrics.risk import risk_bound
from ragassay.optimizers.finetuning.labelled_pairs import LabelledPair
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
        pairs: The pairs.
        labels: The task's labels.
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

    def measured(self, fold: int | None = None) -> Agreement:
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
        scores = _scores(self.measured())
        if len(self.labels) == 2:
            is_first = [pair.label == 0 for pair in self.pairs]
            groups = [pair.group for pair in self.pairs]
            scores["AUC"] = discrimination(self.shares[:, 0].tolist(), is_first, groups).auroc
        rows = [(data, name, score) for name, score in scores.items()]
        for fold in range(self.n_folds):
            one = self.measured(fold).averages["macro"].f1
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
        pairs: At least two questions.
        labels: The task's labels.
        fit: Fits a classifier.
        n_folds: Most folds; fewer where a label comes in fewer questions.
        seed: The seed of the folds.
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

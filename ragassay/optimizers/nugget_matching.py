"""Fit the rule for when two nuggets state the same fact (BioACE, section 4.1.1).

First a Bayesian Gaussian mixture of two components over the cosine similarities of all pairs; then
a threshold on the probability of the same fact, searched by Optuna over three objectives.

The objectives need no labels. Average F1 and the number of alignments measure how much is aligned,
not how much of it is right: a lower threshold never reduces either, and only the similarity of the
aligned pairs counters it. If matching pairs are known, the agreement with them selects the
threshold.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.metrics.papers.nuggets import same_probability
from ragassay.optimizers.nugget_thresholds import (
    MatchData,
    choose_trial,
    search_thresholds,
)
from ragassay.records import MixtureComponent, NuggetMatcher

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST_PAIRS = 20
"""With fewer similarities the two groups cannot be told apart."""

EVEN = 0.5
"""Probability above which a pair is more likely one fact than two."""

N_FOLDS = 5
N_STARTS = 5
SAME_STEPS = 60


def fit_matcher(
    data: MatchData,
    *,
    n_trials: int = 200,
    seed: int = 0,
    on_trial: Callable[[], None] = lambda: None,
) -> NuggetMatcher:
    """Fit the mixture, then choose the threshold.

    Thresholds are scored on held-out folds: each answer by a mixture that was fitted without it and
    without the other answers to its gold nuggets. With too little data for that, by the mixture of
    all.

    Args:
        data: At least 20 pairs.
        n_trials: Number of thresholds to try.
        seed: The same data and seed give the same matcher.
        on_trial: Called after each trial.

    Raises:
        InputError: There are too few pairs, or their similarities show no two groups.
    """
    import numpy as np

    pairs = np.concatenate([similarity.ravel() for similarity in data.similarities] or [[]])
    if len(pairs) < FEWEST_PAIRS:
        raise InputError(
            f"there are {len(pairs)} pairs of a gold and a system nugget: a fit needs at least "
            f"{FEWEST_PAIRS}"
        )
    components = fit_mixture(pairs, seed)
    reach = _similarity_at(EVEN, components)
    if reach is None or pairs.max() < reach:
        raise InputError(
            "the similarities show no two groups: no pair is more likely one fact than two"
        )
    held_out = _mixtures_by_fold(data, seed)
    by_case = held_out or [components] * len(data.cases)
    chosen = choose_trial(search_thresholds(data, by_case, n_trials, seed, on_trial))
    reached = _similarity_at(chosen.probability, components)
    return NuggetMatcher(
        components=components,
        probability_threshold=chosen.probability,
        similarity_threshold=1.0 if reached is None else round(reached, 6),
        embedder=data.embedder,
        embedder_digest=data.embedder_digest,
        n_questions=len(data.cases),
        n_pairs=len(pairs),
        data_sha256=data.sha256,
        seed=seed,
        n_trials=n_trials,
        library=f"scikit-learn {importlib.metadata.version('scikit-learn')}",
        n_folds=len(set(map(id, held_out))),
        plateau=chosen.plateau,
        objectives=chosen.objectives,
        agreement=chosen.agreement,
    )


def _mixtures_by_fold(
    data: MatchData, seed: int
) -> list[tuple[MixtureComponent, MixtureComponent]]:
    """Return for each case a mixture fitted without its fold; none where a fit lacks data."""
    import numpy as np

    # Answers to the same question have the same gold nuggets, and stay together.
    gold = [repr(case.gold) for case in data.cases]
    groups = gold if len(set(gold)) > 1 else [str(i) for i in range(len(gold))]
    order = list(dict.fromkeys(groups))
    n_folds = min(N_FOLDS, len(order))
    if n_folds < 2:
        return []
    drawn = np.random.default_rng(seed).permutation(len(order))
    fold_of = {group: int(drawn[i]) % n_folds for i, group in enumerate(order)}
    folds = [fold_of[group] for group in groups]
    fitted: list[tuple[MixtureComponent, MixtureComponent]] = []
    for fold in range(n_folds):
        rest = [s.ravel() for s, own in zip(data.similarities, folds, strict=True) if own != fold]
        pairs = np.concatenate(rest)
        if len(pairs) < FEWEST_PAIRS:
            return []
        fitted.append(fit_mixture(pairs, seed))
        if _similarity_at(EVEN, fitted[-1]) is None:
            return []
    return [fitted[fold] for fold in folds]


def fit_mixture(
    pairs: NDArray[np.floating], seed: int
) -> tuple[MixtureComponent, MixtureComponent]:
    """Return the mixture of two components, by variational inference.

    Args:
        pairs: shape (n_pairs,), cosine similarities.
        seed: The seed of its starting points.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import BayesianGaussianMixture

    mixture = BayesianGaussianMixture(
        n_components=2,
        covariance_type="spherical",
        max_iter=1000,
        n_init=N_STARTS,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(pairs.reshape(-1, 1).astype("float64"))
    taken, rest = mixture.weight_concentration_
    first, second = (
        MixtureComponent(
            weight=float(mixture.weights_[i]),
            mean=float(mixture.means_[i, 0]),
            variance=float(mixture.covariances_[i]),
            weight_concentration=(float(taken[i]), float(rest[i])),
            mean_precision=float(mixture.mean_precision_[i]),
            degrees_of_freedom=float(mixture.degrees_of_freedom_[i]),
        )
        for i in range(2)
    )
    return first, second


def _similarity_at(
    probability: float, components: tuple[MixtureComponent, MixtureComponent]
) -> float | None:
    """Return the least similarity in [-1, 1] with that probability; None if there is none."""
    import numpy as np

    def is_reached(similarity: float) -> bool:
        return bool(same_probability(np.array(similarity), components) >= probability)

    low, high = -1.0, 1.0
    if not is_reached(high):
        return None
    for _ in range(SAME_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high

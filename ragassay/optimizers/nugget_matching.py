"""Fit a model that decides whether two nuggets state the same fact (BioACE, section 4.1.1).

A Bayesian Gaussian mixture with two components is fitted to the cosine similarities of all pairs of
nuggets. The mixture yields the probability that two nuggets state the same fact. Optuna then
searches for a threshold on this probability, with three objectives.

The objectives need no labels. Two objectives, mean F1 and the number of alignments, measure how
many nuggets are aligned, not whether the alignments are correct. A lower threshold never reduces
mean F1 or the number of alignments, but it reduces the third objective, the similarity of the
aligned pairs. If the correct matches are known, the threshold that agrees best with them is
selected.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.metrics.papers.nuggets import align_greedily, compute_same_probability, mask_repeats
from ragassay.metrics.stats.intervals import f1_score
from ragassay.records import (
    MatchAgreement,
    MatchObjectives,
    MixtureComponent,
    NuggetMatch,
    NuggetMatcher,
)

if TYPE_CHECKING:
    import numpy as np
    import optuna
    from numpy.typing import NDArray

FEWEST_PAIRS = 20
"""Minimum number of similarities for fitting the mixture."""

EVEN = 0.5
"""Probability above which two nuggets are more likely than not to state the same fact."""

N_FOLDS = 5
N_STARTS = 5
SAME_STEPS = 60
POPULATION = 20

Mixture = tuple[MixtureComponent, MixtureComponent]


@dataclass(frozen=True)
class MatchCase:
    """Nuggets of an answer and its gold nuggets.

    Attributes:
        matches: Correct matches as pairs of indices in `gold` and `nuggets`, or None if unknown.
    """

    gold: tuple[str, ...]
    nuggets: tuple[str, ...]
    matches: frozenset[tuple[int, int]] | None = None


@dataclass(frozen=True)
class MatchData:
    """Training data for a nugget matcher.

    Attributes:
        similarities: Cosine similarities of each case, shape (n_gold, n_nuggets).
        embedder_digest: SHA-256 of the embedding model's weights, or empty if unknown.
    """

    cases: tuple[MatchCase, ...]
    similarities: tuple[NDArray[np.floating], ...]
    sha256: str
    embedder: str
    embedder_digest: str = ""


@dataclass(frozen=True)
class Trial:
    """A threshold on the Pareto front of the three objectives.

    Attributes:
        agreement: Agreement with the correct matches, if they are known.
        plateau: Lowest and highest threshold with the same result, for the chosen trial only.
    """

    probability: float
    objectives: MatchObjectives
    agreement: MatchAgreement | None = None
    plateau: tuple[float, float] | None = None


def fit_matcher(
    data: MatchData,
    *,
    n_trials: int = 200,
    seed: int = 0,
    on_trial: Callable[[], None] = lambda: None,
) -> NuggetMatcher:
    """Fit a nugget matcher: a mixture and a threshold.

    Thresholds are scored by cross-validation: the mixture for an answer is fitted without the
    answers in its fold, which include all answers with the same gold nuggets. If there is too
    little data for folds, one mixture is fitted to all data.

    Raises:
        InputError: There are too few pairs, or the similarities do not form two groups.
    """
    import numpy as np

    pairs = np.concatenate([similarity.ravel() for similarity in data.similarities] or [[]])
    components = _fit_two_groups(pairs, seed)
    held_out = _fit_mixtures(data, seed)
    by_case = held_out or [components] * len(data.cases)
    chosen = choose_trial(search_thresholds(data, by_case, n_trials, seed, on_trial))
    similarity = _find_similarity(chosen.probability, components)
    return NuggetMatcher(
        components=components,
        probability_threshold=chosen.probability,
        similarity_threshold=1.0 if similarity is None else round(similarity, 6),
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


def _fit_two_groups(pairs: NDArray[np.floating], seed: int) -> Mixture:
    if len(pairs) < FEWEST_PAIRS:
        raise InputError(
            f"found only {len(pairs)} pairs of gold and system nuggets; at least {FEWEST_PAIRS} "
            "are required"
        )
    components = fit_mixture(pairs, seed)
    threshold = _find_similarity(EVEN, components)
    if threshold is None or pairs.max() < threshold:
        raise InputError(
            "the similarities do not form two groups: probably no two nuggets state the same fact"
        )
    return components


def _fit_mixtures(data: MatchData, seed: int) -> list[Mixture]:
    """Return a mixture for each case, fitted to the cases in the other folds.

    Answers with the same gold nuggets are in the same fold. If there is too little data, the list
    is empty.
    """
    import numpy as np

    gold = [repr(case.gold) for case in data.cases]
    groups = gold if len(set(gold)) > 1 else [str(i) for i in range(len(gold))]
    order = list(dict.fromkeys(groups))
    n_folds = min(N_FOLDS, len(order))
    if n_folds < 2:
        return []
    drawn = np.random.default_rng(seed).permutation(len(order))
    fold_of = {group: int(drawn[i]) % n_folds for i, group in enumerate(order)}
    folds = [fold_of[group] for group in groups]
    fitted: list[Mixture] = []
    for fold in range(n_folds):
        rest = [s.ravel() for s, own in zip(data.similarities, folds, strict=True) if own != fold]
        pairs = np.concatenate(rest)
        if len(pairs) < FEWEST_PAIRS:
            return []
        fitted.append(fit_mixture(pairs, seed))
        if _find_similarity(EVEN, fitted[-1]) is None:
            return []
    return [fitted[fold] for fold in folds]


def fit_mixture(pairs: NDArray[np.floating], seed: int) -> Mixture:
    """Fit a mixture of two components by variational inference.

    Args:
        pairs: Cosine similarities, shape (n_pairs,).
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
    concentrations = zip(*mixture.weight_concentration_, strict=True)
    first, second = (
        MixtureComponent(
            weight=float(mixture.weights_[i]),
            mean=float(mixture.means_[i, 0]),
            variance=float(mixture.covariances_[i]),
            weight_concentration=(float(first_part), float(second_part)),
            mean_precision=float(mixture.mean_precision_[i]),
            degrees_of_freedom=float(mixture.degrees_of_freedom_[i]),
        )
        for i, (first_part, second_part) in enumerate(concentrations)
    )
    return first, second


def _find_similarity(probability: float, components: Mixture) -> float | None:
    """Return the lowest similarity in [-1, 1] that has at least this probability, if any."""
    import numpy as np

    def is_reached(similarity: float) -> bool:
        return bool(compute_same_probability(np.array(similarity), components) >= probability)

    low, high = -1.0, 1.0
    if not is_reached(high):
        return None
    for _ in range(SAME_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high


def choose_trial(front: Sequence[Trial]) -> Trial:
    """Choose a threshold from the Pareto front.

    If the correct matches are known, the trial whose alignments have the highest F1 is chosen.
    Among equal trials, the one closest to the best values of the three objectives, each scaled to
    [0, 1] over the front, is chosen, and then the one with the highest mean F1, similarity or
    number of alignments. Mean F1 comes later, because it would always select the lowest threshold.
    If adjacent thresholds are equally good, their middle is chosen, because the outer ones are more
    sensitive to new data.
    """
    columns = [_list_values(trial.objectives) for trial in front]
    lows = [min(column) for column in zip(*columns, strict=True)]
    highs = [max(column) for column in zip(*columns, strict=True)]

    def measure_distance(values: tuple[float, float, float]) -> float:
        gaps = (
            (high - value) / (high - low) if high > low else 0.0
            for value, low, high in zip(values, lows, highs, strict=True)
        )
        return round(math.hypot(*gaps), 9)

    def rank_trial(trial: Trial) -> tuple[float, ...]:
        values, known = _list_values(trial.objectives), trial.agreement
        known_f1 = f1_score(known.precision, known.recall) if known else None
        return (known_f1 or 0.0, -measure_distance(values), *values)

    best = max(map(rank_trial, front))
    upwards = sorted(front, key=lambda trial: trial.probability)
    runs = itertools.groupby(upwards, key=lambda trial: rank_trial(trial) == best)
    plateaus = [list(trials) for is_best, trials in runs if is_best]
    widest = max(plateaus, key=lambda trials: trials[-1].probability - trials[0].probability)
    ends = (widest[0].probability, widest[-1].probability)
    return replace(widest[0], probability=statistics.fmean(ends), plateau=ends)


def search_thresholds(
    data: MatchData,
    components: Sequence[Mixture],
    n_trials: int,
    seed: int,
    on_trial: Callable[[], None],
) -> list[Trial]:
    """Return the Pareto front of thresholds found by NSGA-II, in ascending order.

    Nuggets are aligned greedily, most similar pair first, as in BioACE.

    Args:
        components: For each case, the mixture with which its nuggets are matched, fitted to the
            other folds.
    """
    import optuna

    parts = [
        (similarity, compute_same_probability(similarity, mixture), mask_repeats(case.nuggets))
        for case, similarity, mixture in zip(data.cases, data.similarities, components, strict=True)
    ]

    def match_above(probability: float) -> list[tuple[NuggetMatch, ...]]:
        return [
            align_greedily(similarity, (same >= probability) & first)
            for similarity, same, first in parts
        ]

    def evaluate_trial(trial: optuna.Trial) -> tuple[float, float, float]:
        probability = trial.suggest_float("probability", 0.0, 1.0)
        return _list_values(_compute_objectives(data.cases, match_above(probability)))

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        sampler = optuna.samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
        study = optuna.create_study(
            directions=("maximize", "maximize", "maximize"), sampler=sampler
        )
        study.optimize(evaluate_trial, n_trials, callbacks=[lambda study, trial: on_trial()])
    finally:
        optuna.logging.set_verbosity(verbosity)
    probabilities = sorted({float(trial.params["probability"]) for trial in study.best_trials})
    aligned = [(p, match_above(p)) for p in probabilities]
    return [
        Trial(p, _compute_objectives(data.cases, a), _measure_agreement(data.cases, a))
        for p, a in aligned
    ]


def _compute_objectives(
    cases: Sequence[MatchCase], aligned: Sequence[tuple[NuggetMatch, ...]]
) -> MatchObjectives:
    scores = [
        f1_score(len(pairs) / len(case.nuggets), len(pairs) / len(case.gold)) or 0.0
        for case, pairs in zip(cases, aligned, strict=True)
    ]
    similar = [match.similarity_score for pairs in aligned for match in pairs]
    return MatchObjectives(
        f1=statistics.fmean(scores),
        similarity=statistics.fmean(similar) if similar else -1.0,
        n_alignments=len(similar) / len(cases),
    )


def _measure_agreement(
    cases: Sequence[MatchCase], aligned: Sequence[tuple[NuggetMatch, ...]]
) -> MatchAgreement | None:
    n_pairs = n_known = n_aligned = n_both = 0
    for case, pairs in zip(cases, aligned, strict=True):
        if case.matches is None:
            continue
        found = {(match.gold, match.nugget) for match in pairs}
        n_pairs += len(case.gold) * len(case.nuggets)
        n_known += len(case.matches)
        n_aligned += len(found)
        n_both += len(found & case.matches)
    if not n_pairs:
        return None
    return MatchAgreement(
        accuracy=1 - (n_known + n_aligned - 2 * n_both) / n_pairs,
        precision=n_both / n_aligned if n_aligned else None,
        recall=n_both / n_known if n_known else None,
        n_pairs=n_pairs,
        n_known=n_known,
    )


def _list_values(objectives: MatchObjectives) -> tuple[float, float, float]:
    return objectives.f1, objectives.similarity, objectives.n_alignments

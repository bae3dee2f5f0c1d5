"""Search the probability at which two nuggets state the same fact (BioACE, 4.1.1)."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragassay.metrics.papers.nuggets import (
    align_greedily,
    f1_score,
    first_of_each,
    same_probability,
)
from ragassay.records import MatchAgreement, MatchObjectives, MixtureComponent, NuggetMatch

if TYPE_CHECKING:
    import numpy as np
    import optuna
    from numpy.typing import NDArray

LEAST_PROBABILITY = 0.0
"""Lowest probability searched."""

POPULATION = 20


@dataclass(frozen=True)
class MatchCase:
    """The nuggets of one answer and its gold nuggets.

    Attributes:
        gold: Texts of the gold nuggets.
        nuggets: Texts of the system's nuggets.
        matches: Pairs (position in `gold`, position in `nuggets`) that are known to state the same
            fact; None if unknown.
    """

    gold: tuple[str, ...]
    nuggets: tuple[str, ...]
    matches: frozenset[tuple[int, int]] | None = None


@dataclass(frozen=True)
class MatchData:
    """The data that a matcher is fitted to.

    Attributes:
        cases: The nuggets, answer by answer.
        similarities: For each case, shape (n_gold, n_nuggets), cosine similarities.
        sha256: Hash of the file.
        embedder: Name of the embedding model.
        embedder_digest: SHA-256 of its weights where known.
    """

    cases: tuple[MatchCase, ...]
    similarities: tuple[NDArray[np.floating], ...]
    sha256: str
    embedder: str
    embedder_digest: str = ""


@dataclass(frozen=True)
class Trial:
    """A threshold that no other one beats in all three objectives.

    Attributes:
        probability: The threshold.
        objectives: At the threshold.
        agreement: With the pairs that are known; None without any.
        plateau: Lowest and highest threshold tried with the same result; of a chosen trial alone.
    """

    probability: float
    objectives: MatchObjectives
    agreement: MatchAgreement | None = None
    plateau: tuple[float, float] | None = None


def choose_trial(front: Sequence[Trial]) -> Trial:
    """Choose one threshold from the Pareto front.

    With known pairs: the highest F1 against them. Otherwise, and among equals: the trial nearest to
    the best of all three objectives, each scaled to [0, 1] over the front; then the highest F1,
    similarity and number of alignments. The highest F1 alone would always choose the lowest
    threshold, which aligns most. Of neighbouring trials that are equal in all of this, the middle:
    a threshold at an edge of such a plateau would align other pairs of new data first.

    Args:
        front: From `search_thresholds`.

    Returns:
        A trial at the middle of its plateau, which none of the front need be.
    """
    columns = [_values(trial.objectives) for trial in front]
    lows = [min(column) for column in zip(*columns, strict=True)]
    highs = [max(column) for column in zip(*columns, strict=True)]

    def distance(values: tuple[float, float, float]) -> float:
        gaps = (
            (high - value) / (high - low) if high > low else 0.0
            for value, low, high in zip(values, lows, highs, strict=True)
        )
        return round(math.hypot(*gaps), 9)

    def rank(trial: Trial) -> tuple[float, ...]:
        values = _values(trial.objectives)
        return (_known_f1(trial), -distance(values), *values)

    best = max(map(rank, front))
    runs = itertools.groupby(sorted(front, key=_probability), key=lambda trial: rank(trial) == best)
    plateaus = [list(trials) for is_best, trials in runs if is_best]
    widest = max(plateaus, key=lambda trials: trials[-1].probability - trials[0].probability)
    ends = (widest[0].probability, widest[-1].probability)
    return replace(widest[0], probability=statistics.fmean(ends), plateau=ends)


def search_thresholds(
    data: MatchData,
    components: Sequence[tuple[MixtureComponent, MixtureComponent]],
    n_trials: int,
    seed: int,
    on_trial: Callable[[], None],
) -> list[Trial]:
    """Return the Pareto front of thresholds by NSGA-II, from the lowest.

    Nuggets are aligned as in BioACE, the most similar pair first.

    Args:
        data: The nuggets to align.
        components: For each case the mixture that scores it, fitted without its fold.
        n_trials: Number of thresholds to try.
        seed: The search's seed.
        on_trial: Called after each trial.
    """
    import optuna

    parts = [
        (similarity, same_probability(similarity, mixture), first_of_each(case.nuggets))
        for case, similarity, mixture in zip(data.cases, data.similarities, components, strict=True)
    ]

    def tried(probability: float) -> list[tuple[NuggetMatch, ...]]:
        return [
            align_greedily(similarity, (same >= probability) & first)
            for similarity, same, first in parts
        ]

    def objective(trial: optuna.Trial) -> tuple[float, float, float]:
        probability = trial.suggest_float("probability", LEAST_PROBABILITY, 1.0)
        return _values(_objectives(data.cases, tried(probability)))

    def told(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        on_trial()

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        sampler = optuna.samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
        study = optuna.create_study(
            directions=("maximize", "maximize", "maximize"), sampler=sampler
        )
        study.optimize(objective, n_trials=n_trials, callbacks=[told])
    finally:
        optuna.logging.set_verbosity(verbosity)
    found = sorted({float(trial.params["probability"]) for trial in study.best_trials})
    return [
        Trial(p, _objectives(data.cases, tried(p)), _agreement(data.cases, tried(p))) for p in found
    ]


def _objectives(
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


def _agreement(
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


def _values(objectives: MatchObjectives) -> tuple[float, float, float]:
    return objectives.f1, objectives.similarity, objectives.n_alignments


def _probability(trial: Trial) -> float:
    return trial.probability


def _known_f1(trial: Trial) -> float:
    agreement = trial.agreement
    return (f1_score(agreement.precision, agreement.recall) or 0.0) if agreement else 0.0

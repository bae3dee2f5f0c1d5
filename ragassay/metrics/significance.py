"""Test whether two systems differ: paired permutation tests over questions, corrected by Holm."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.metrics.intervals import SEED, mean_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALPHA = 0.05
"""Level below which a corrected p-value counts as significant."""

N_PERMUTATIONS = 9999
"""Random permutations of a test; up to 13 questions all 2^n are taken and the test is exact."""

BATCH_CELLS = 4_000_000
"""Values permuted at a time; bounds the memory of a test, not its result."""


@dataclass(frozen=True)
class PairTest:
    """Two systems on the questions that both have.

    Attributes:
        first: A system's name.
        second: Another's.
        n_questions: Questions for which both have the score.
        difference: Mean of first minus second over them; None without a question.
        low: Lower end of its 95 % interval (bootstrap over questions); None where undefined.
        high: Upper end.
        p_value: Two-sided; None without a question.
        p_holm: Corrected for all pairs that were tested.
        is_exact: Whether all permutations were taken.
    """

    first: str
    second: str
    n_questions: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_holm: float | None
    is_exact: bool

    @property
    def is_significant(self) -> bool:
        """Return whether the two differ at `ALPHA`, after the correction."""
        return self.p_holm is not None and self.p_holm < ALPHA


def paired_tests(systems: Mapping[str, Mapping[str, float]]) -> tuple[PairTest, ...]:
    """Test every pair of systems.

    Under the null hypothesis a question's two values could have come from either system, so the
    sign of each difference is permuted (scipy's `permutation_test`, "samples"). The statistic is
    the mean difference, two-sided.

    Args:
        systems: Name to question to value.

    Returns:
        One test a pair, in the order of the systems.
    """
    pairs = list(itertools.combinations(systems, 2))
    shared = {(a, b): tuple(sorted(systems[a].keys() & systems[b].keys())) for a, b in pairs}
    differences = {
        (a, b): [systems[a][q] - systems[b][q] for q in questions]
        for (a, b), questions in shared.items()
    }
    p_values = _p_values(shared, differences)
    corrected = holm([p_values.get(pair) for pair in pairs])
    return tuple(
        _test(pair, shared[pair], differences[pair], p_values.get(pair), p_holm)
        for pair, p_holm in zip(pairs, corrected, strict=True)
    )


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Apply Holm's step-down correction (Holm 1979), which bounds the family-wise error.

    The k-th smallest of m p-values is multiplied by m - k + 1; none may be below the one before.

    Args:
        p_values: None for a test that was not possible; it does not count in m.

    Returns:
        In the order given, each at most 1.

    Example:
        >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        corrected[place] = largest
    return tuple(corrected)


def _p_values(
    shared: Mapping[tuple[str, str], tuple[str, ...]],
    differences: Mapping[tuple[str, str], Sequence[float]],
) -> dict[tuple[str, str], float]:
    """Return p-values; pairs with the same questions go through the same permutations at once."""
    import numpy as np

    by_questions: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for pair, questions in shared.items():
        if questions:
            by_questions.setdefault(questions, []).append(pair)
    found: dict[tuple[str, str], float] = {}
    for pairs in by_questions.values():
        p_values = _permuted(np.array([differences[pair] for pair in pairs]))
        found |= {pair: float(p) for pair, p in zip(pairs, p_values, strict=True)}
    return found


def _permuted(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values of rows of differences, shape (n_pairs, n_questions)."""
    import numpy as np
    from scipy.stats import permutation_test

    def mean(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        return values.mean(axis=axis)

    if differences.shape[1] == 1:
        # With one question, both signs are as far from zero; scipy needs two.
        return np.ones(len(differences))
    found = permutation_test(
        (differences,),
        mean,
        permutation_type="samples",
        n_resamples=N_PERMUTATIONS,
        batch=max(1, BATCH_CELLS // differences.size),
        vectorized=True,
        axis=-1,
        rng=np.random.default_rng(SEED),
    )
    return np.asarray(found.pvalue)


def _test(
    pair: tuple[str, str],
    questions: Sequence[str],
    differences: Sequence[float],
    p_value: float | None,
    p_holm: float | None,
) -> PairTest:
    n = len(questions)
    low, high = mean_interval(differences, questions) or (None, None)
    return PairTest(
        *pair,
        n_questions=n,
        difference=math.fsum(differences) / n if n else None,
        low=low,
        high=high,
        p_value=p_value,
        p_holm=p_holm,
        is_exact=n > 0 and 2**n <= N_PERMUTATIONS,
    )

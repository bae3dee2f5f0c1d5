"""Fit the models that turn an answer's signals into ratings.

All models are fitted on deliberately perturbed answers. A sentence is labelled by whether an attack
added it, and an answer's target rating follows YESciEval (section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragassay.models.fitted_raters import MOST_DEVIATIONS, LinearScorer, RubricRater

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Pairs = list[tuple[int, int, float]]
"""Sentence pairs in which the second should score higher, with their weight."""

ORDER_FEATURES = ("question_relevance", "belonging", "length", "digits", "defines", "uses_defined")
FOREIGN_FEATURES = (
    "source_support",
    "question_relevance",
    "redundancy",
    "source_support_contrast",
    "belonging_contrast",
    "unknown_names",
    "unplaced_words",
    "entailment",
)
MOST_OPENERS = 600
"""Maximum number of openers in an order model."""

LEAST_OPENER = 3
"""Minimum number of sentences that begin with an opener."""

PAIR_MARGIN = 0.1
"""Logit difference between an original and a perturbed answer that counts as certain. A change of
one or two words must be detected but may have a small effect."""

PAIR_SHARE = 0.5
"""Weight of an attack's pairs relative to all ratings."""

LEAST_WEIGHT = 0.02
"""Minimum weight of each rubric signal, so that none is ignored."""


def each_later(n: int) -> Pairs:
    """Pair each sentence with each later one."""
    return [(i, j, 1.0) for i in range(n) for j in range(i + 1, n)]


def last_of_all(n: int) -> Pairs:
    """Pair each sentence with the last. The next-to-last counts most, as the most similar."""
    return [(i, n - 1, 2.0 if i == n - 2 else 1 / (n - 1)) for i in range(n - 1)]


def first_of_all(n: int) -> Pairs:
    """Pair each sentence with the first."""
    return [(i, 0, 1 / (n - 1)) for i in range(1, n)]


def fit_order(
    answers: Sequence[Sequence[Mapping[str, float]]],
    vectors: Sequence[NDArray[np.float32]],
    openings: Sequence[Sequence[Sequence[str]]],
    pairs: Callable[[int], Pairs] = each_later,
    inverse_penalty: float = 0.1,
) -> LinearScorer:
    """Fit a scorer of sentence positions by logistic regression on sentence pairs.

    Args:
        answers: Sentence measures of each answer, in order.
        vectors: Sentence vectors of each answer, shape (n_sentences, n_dimensions).
        openings: Openings of the sentences of each answer.
        pairs: Function that returns the pairs for a number of sentences.
        inverse_penalty: C of scikit-learn's LogisticRegression.
    """
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    rows = [row for answer in answers for row in answer]
    flat = [words for answer in openings for words in answer]
    known = _common(flat)
    means, scales, table = _standardised(rows, ORDER_FEATURES)
    starts = sparse.lil_matrix((len(flat), len(known)))
    for i, words in enumerate(flat):
        for word in words:
            if word in known:
                starts[i, known[word]] = 1.0
    table = sparse.hstack([np.vstack(vectors), table, starts.tocsr()]).tocsr()
    low, high, weight = _all_pairs(pairs, [len(answer) for answer in answers])
    # Reverse half of the pairs. Without a bias, both classes contain the same information.
    sign = np.where(np.arange(len(low)) % 2, 1.0, -1.0)
    model = LogisticRegression(C=inverse_penalty, fit_intercept=False, max_iter=2000)
    model.fit(sparse.diags(sign) @ (table[high] - table[low]), sign > 0, weight)
    weights = model.coef_[0]
    n, m = vectors[0].shape[1], len(ORDER_FEATURES)
    return LinearScorer(
        features=ORDER_FEATURES,
        means=means,
        scales=scales,
        weights=_rounded(weights[n : n + m]),
        vector_weights=_rounded(weights[:n]),
        openers=dict(zip(known, _rounded(weights[n + m :]), strict=True)),
    )


def fit_sentences(
    rows: Sequence[Mapping[str, float]],
    labels: Sequence[bool],
    features: Sequence[str],
    vectors: NDArray[np.float32] | None = None,
    inverse_penalty: float = 1.0,
) -> LinearScorer:
    """Fit a classifier of sentences by logistic regression with balanced classes.

    Args:
        rows: Sentence measures.
        labels: Shape (n_sentences,).
        features: Names of the measures to use.
        vectors: Optional sentence vectors, shape (n_sentences, n_dimensions).
        inverse_penalty: C of scikit-learn's LogisticRegression.
    """
    from sklearn.linear_model import LogisticRegression

    means, scales, table = _standardised(rows, features)
    n = 0
    if vectors is not None:
        n = vectors.shape[1]
        table = np.hstack([vectors, table])
    model = LogisticRegression(C=inverse_penalty, max_iter=2000, class_weight="balanced")
    model.fit(table, np.asarray(labels))
    weights = np.asarray(model.coef_)[0]
    intercept = float(np.asarray(model.intercept_)[0])
    return LinearScorer(
        features=tuple(features),
        means=means,
        scales=scales,
        weights=_rounded(weights[n:]),
        bias=round(intercept, 6),
        vector_weights=_rounded(weights[:n]),
    )


def fit_rubric(
    rows: Sequence[Mapping[str, float]],
    ratings: Sequence[int],
    shares: Sequence[float],
    better: Mapping[str, bool],
    pairs: Sequence[tuple[int, int, float]] = (),
    penalty: float = 0.0003,
) -> RubricRater:
    """Fit proportional odds with fixed signs of the weights (L-BFGS-B).

    The loss is the negative log-likelihood of the target ratings, plus that of each original answer
    being better than its perturbed version (Bradley and Terry 1952).

    Args:
        rows: Signals of each answer.
        ratings: Target ratings, 1 to 5.
        shares: Weight of each answer.
        better: Names of the signals to use, and whether higher values are better.
        pairs: Indices in `rows` of an original and a perturbed answer, and the pair's weight.
        penalty: Penalty on the squared weights.
    """
    from scipy.optimize import minimize

    names = tuple(better)
    means, scales, table = _standardised(rows, names)
    sign = np.array([1.0 if better[name] else -1.0 for name in names])
    table = table * sign
    weight = np.asarray(shares, dtype=np.float64) / np.sum(shares)
    observed = np.asarray(ratings) - 1
    whole, perturbed = (np.array([pair[side] for pair in pairs], dtype=np.intp) for side in (0, 1))
    pair_weight = PAIR_SHARE * np.array([share for _, _, share in pairs], dtype=np.float64)

    def loss(parameters: Floats) -> float:
        z = table @ parameters[: len(names)]
        likely = _likelihoods(z, _thresholds(parameters[len(names) :]), observed)
        above = np.logaddexp(0, (z[perturbed] - z[whole]) / PAIR_MARGIN)
        return float(
            -(weight * np.log(np.maximum(likely, 1e-12))).sum()
            + (pair_weight * above).sum()
            + penalty * (parameters[: len(names)] ** 2).sum()
        )

    start = np.concatenate([np.full(len(names), 0.5), [-3.0, 0.7, 0.7, 0.7]])
    limits = [(LEAST_WEIGHT, None)] * len(names) + [(None, None)] + [(-3.0, 3.0)] * 3
    found = minimize(loss, start, method="L-BFGS-B", bounds=limits, options={"maxiter": 500})
    a, b, c, d = _rounded(_thresholds(found.x[len(names) :]))
    return RubricRater(
        features=names,
        means=means,
        scales=scales,
        weights=_rounded(found.x[: len(names)] * sign),
        thresholds=(a, b, c, d),
    )


def _likelihoods(z: Floats, thresholds: Floats, observed: NDArray[np.intp]) -> Floats:
    """Return the probability of each observed rating (0-based) under proportional odds."""
    below = 1 / (1 + np.exp(-(thresholds[None, :] - z[:, None])))
    edges = np.hstack([np.zeros((len(z), 1)), below, np.ones((len(z), 1))])
    rows = np.arange(len(z))
    return edges[rows, observed + 1] - edges[rows, observed]


def _thresholds(parameters: Floats) -> Floats:
    """Return ascending thresholds from the first one and the logarithms of the steps."""
    return parameters[0] + np.concatenate([[0.0], np.cumsum(np.exp(parameters[1:]))])


def _standardised(
    rows: Sequence[Mapping[str, float]], names: Sequence[str]
) -> tuple[tuple[float, ...], tuple[float, ...], Floats]:
    """Return means, deviations and standardized features, with 0 for missing values."""
    raw = np.array([[row.get(name, np.nan) for name in names] for row in rows], dtype=np.float64)
    known = np.ma.masked_invalid(raw)
    means = known.mean(axis=0).filled(0.0)
    scales = np.maximum(known.std(axis=0).filled(1.0), 1e-6)
    table = np.clip(np.nan_to_num((raw - means) / scales), -MOST_DEVIATIONS, MOST_DEVIATIONS)
    return _rounded(means), _rounded(scales), table


def _common(openings: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the columns of common openers."""
    from collections import Counter

    counts = Counter(word for words in openings for word in dict.fromkeys(words))
    common = [word for word, n in counts.most_common(MOST_OPENERS) if n >= LEAST_OPENER]
    return {word: column for column, word in enumerate(sorted(common))}


def _all_pairs(
    pairs: Callable[[int], Pairs], lengths: Sequence[int]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Return the lower and higher sentence of each pair, indexed over all answers, and weights."""
    found: Pairs = []
    start = 0
    for n in lengths:
        found += [(start + low, start + high, weight) for low, high, weight in pairs(n)]
        start += n
    low, high, weight = zip(*found, strict=True)
    weights = np.array(weight, dtype=np.float64)
    return np.array(low, np.intp), np.array(high, np.intp), weights / weights.mean()


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(round(float(value), 6) for value in values)

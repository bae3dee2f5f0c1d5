"""Measure the distance between the words of two texts by optimal transport (POT)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ragassay.extras import need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_STEPS = 1_000_000
"""Steps of the network simplex; texts of 500 words take a few thousand."""


def inverse_document_frequencies(documents: Sequence[Iterable[int]]) -> dict[int, float]:
    """Return how rare each token is: log((N + 1) / (n + 1)) for a token of n among N documents.

    Args:
        documents: The ids of each document's tokens.

    Returns:
        At least 0; 0 for a token of every document.
    """
    counts = Counter(token for document in documents for token in set(document))
    return {token: math.log((len(documents) + 1) / (n + 1)) for token, n in counts.items()}


def rarity_weights(ids: Sequence[int], frequencies: Mapping[int, float]) -> NDArray[np.float64]:
    """Return weights of a text's tokens, shape (n_tokens,), that sum to 1.

    Args:
        ids: The tokens.
        frequencies: From `inverse_document_frequencies`, over the compared texts.

    Returns:
        Equal weights where every token is in every document.
    """
    import numpy as np

    weights = np.array([frequencies[token] for token in ids], dtype=float)
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / max(1, len(weights)))


def transport_distance(
    first: NDArray[np.floating],
    second: NDArray[np.floating],
    first_weights: NDArray[np.float64] | None = None,
    second_weights: NDArray[np.float64] | None = None,
) -> float | None:
    """Return the least mean distance over which one cloud of vectors can be moved onto another.

    min over T of sum T_ij |x_i - y_j|, where T's rows and columns sum to the weights: word mover's
    distance (Kusner et al. 2015).

    Args:
        first: shape (n, n_dimensions).
        second: shape (m, n_dimensions).
        first_weights: shape (n,), summing to 1; None for equal ones.
        second_weights: shape (m,), summing to 1; None for equal ones.

    Returns:
        At least 0, for vectors of length 1 at most 2; 0 for equal clouds, None where either is
        empty.
    """
    if not (len(first) and len(second)):
        return None
    import numpy as np
    from scipy.spatial.distance import cdist

    need("ot")
    from ot import emd2

    one, two = (
        np.full(len(cloud), 1 / len(cloud)) if given is None else given
        for cloud, given in ((first, first_weights), (second, second_weights))
    )
    distances = cdist(first.astype(float), second.astype(float))
    return float(cast("float", emd2(one, two, distances, numItermax=MOST_STEPS)))


def mover_score(distance: float | None) -> float | None:
    """Turn a transport distance into MoverScore's similarity: 1 / (1 + distance).

    The paper on MoverScore (Zhao et al. 2019) gives the distance; its authors' second release
    converts it this way, which YESciEval's values of about .62 suggest it used.

    Args:
        distance: Between words weighted by rarity, in [0, 2].

    Returns:
        In [1/3, 1], higher is more alike.

    Example:
        >>> mover_score(1.0)
        0.5
    """
    return None if distance is None else 1 / (1 + distance)

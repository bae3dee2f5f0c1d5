"""Compare claims with passages: pairs of texts in, probabilities out.

The models and their names in settings are in `ragassay.models.verifiers`.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol

from ragassay.metrics.risk import bound_of, undecided
from ragassay.records import VERDICT_SETS, Bound, Failure, UnsupportedSpan, Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUPPORTS, CONTRADICTS, NEUTRAL = 0, 1, 2
"""Columns of the probabilities."""

COLUMNS: tuple[Verdict, ...] = VERDICT_SETS[3]
"""What the columns are called in bounds."""

Pair = tuple[str, str]
"""A claim and the passage to compare it with, as `ragassay.text.reading` makes it."""


class EntailmentModel(Protocol):
    """Compares a claim with a passage."""

    name: str
    """Its name in reports."""

    digest: str
    """SHA-256 of its weights where known; else empty."""

    bounds: tuple[Bound, ...] = ()
    """What it needs to be believed, by its labels; without any, all that it says counts."""

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return probabilities that the passage supports, contradicts or leaves open the claim.

        Returns:
            shape (n_pairs, 3), rows summing to 1; a row of nan where the model gave no label.
        """
        ...


class Remembered:
    """A model that caches each pair: damaged or rewritten answers share most sentences.

    Args:
        model: The model.
        n_kept: How many of the latest pairs are cached.
    """

    def __init__(self, model: EntailmentModel, n_kept: int = 4096) -> None:
        self.name, self.digest, self.bounds = model.name, model.digest, bounds_of(model)
        self.n_labels, self.reads_whole = labels_known(model), reads_whole(model)
        self._model, self._n_kept = model, n_kept
        self._known: OrderedDict[Pair, NDArray[np.float64]] = OrderedDict()
        self._lock = threading.Lock()

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the model's probabilities, shape (n_pairs, 3)."""
        import numpy as np

        with self._lock:
            found = {pair: self._known.get(pair) for pair in pairs}
        new = [pair for pair, shares in found.items() if shares is None]
        if new:
            found.update(zip(new, self._model.probabilities(new), strict=True))
        with self._lock:
            for pair, shares in found.items():
                if shares is not None:
                    self._known[pair] = shares
                    self._known.move_to_end(pair)
            while len(self._known) > self._n_kept:
                self._known.popitem(last=False)
        return np.array([found[pair] for pair in pairs]).reshape(len(pairs), 3)


NO_LABEL = Failure(reason="unparsable", detail="the likeliest replies are no labels")
"""Why there is no verdict where a model's probabilities are nan."""


def labels_known(model: EntailmentModel) -> int:
    """Return how many labels a model tells apart: 3, or 2 for one that knows no contradiction."""
    return getattr(model, "n_labels", 3)


def reads_whole(model: EntailmentModel) -> bool:
    """Return whether a model reads whole documents, and not what fits into 512 word pieces."""
    return getattr(model, "reads_whole", False)


def bounds_of(model: EntailmentModel) -> tuple[Bound, ...]:
    """Return a model's bounds; a model from elsewhere need not have the attribute."""
    return getattr(model, "bounds", ())


def unsupported_spans(model: EntailmentModel, pair: Pair) -> tuple[UnsupportedSpan, ...]:
    """Return the parts of a claim that a verifier of tokens marks; none from any other model."""
    spans = getattr(model, "spans", None)
    return spans(*pair) if spans else ()


def speaking_against(shares: Sequence[float]) -> list[float]:
    """Return the probabilities of `COLUMNS` in which all support speaks against the claim."""
    return [0.0, shares[SUPPORTS] + shares[CONTRADICTS], shares[NEUTRAL]]


def doubt_about(
    bounds: Sequence[Bound],
    labels: Sequence[str],
    shares: Sequence[Sequence[float]],
    cosines: Sequence[float | None] = (),
) -> Failure | None:
    """Return why a sentence with its passages is undecided; None where it is not.

    Args:
        bounds: By label; a label without one always counts.
        labels: The first says that a passage supports the sentence.
        shares: shape (n_passages, n_labels), probabilities; nan where there was no label.
        cosines: shape (n_passages,), of the sentence with the closest one of each passage; may be
            empty where no bound has a least cosine.

    Returns:
        The first passage's doubt, unless another surely supports the sentence.

    Example:
        >>> bound = Bound(label="correct", threshold=0.9, risk=0.2, delta=0.1, n=90)
        >>> doubt_about([bound], ["correct", "incorrect"], [(0.7, 0.3), (0.95, 0.05)])
        >>> doubt_about([bound], ["correct", "incorrect"], [(0.7, 0.3)]).reason
        'undecided'
    """
    doubts: list[Failure | None] = []
    for row, cosine in zip_longest(shares, cosines):
        if any(map(math.isnan, row)):
            doubts.append(NO_LABEL)
            continue
        best = max(range(len(row)), key=row.__getitem__)
        # No rule looked for a number here.
        bound = bound_of(bounds, labels[best], "verdict", "words")
        doubts.append(undecided(bound, labels[best], float(row[best]), cosine) if bound else None)
        if best == 0 and doubts[-1] is None:
            return None
    return next((doubt for doubt in doubts if doubt), None)

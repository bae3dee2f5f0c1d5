"""Compute the signals of an answer: measurements, and small fitted models on top of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.instruments.signals.measuring import Measured, measure
from ragassay.models.signal_rater import SignalRater
from ragassay.records import Case, SentenceSignals, Signals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.embeddings import Embedder
    from ragassay.models.entailment import EntailmentModel

LEAST = (
    "source_support",
    "cited_support",
    "question_relevance",
    "belonging",
    "flow",
    "entailment",
    "register",
)
"""Measures of a sentence whose worst value in an answer is the least."""

MOST = (
    "redundancy",
    "foreign",
    "contradiction",
    "miscited",
    "unknown_numbers",
    "unknown_names",
    "unknown_words",
    "unplaced_numbers",
    "unplaced_names",
    "unplaced_words",
)
"""Measures of a sentence whose worst value in an answer is the greatest."""

REDUNDANT = 0.6
"""Cosine of two sentences of an answer beyond which they start to repeat each other."""

LEAST_CONNECTIVES = 0.1
"""Added before the logarithm: the last connectives to go are missed most."""

N_DIGITS = 6
"""Digits to which a signal is rounded."""


class SignalMeter:
    """Computes the signals of a case. The models are loaded at the first call.

    Args:
        embedder: Provides sentence vectors.
        verifier: Compares sentences with the sources.
        rater: Has the models of order, foreign sentences and register.
    """

    def __init__(self, embedder: Embedder, verifier: EntailmentModel, rater: SignalRater) -> None:
        self._embedder, self._verifier, self._rater = embedder, verifier, rater

    def signals(self, case: Case) -> Signals:
        """Measure a case; an answer without a sentence has no signals."""
        if not case.sentences:
            return Signals()
        return signals_of(measure(case, self._embedder, self._verifier), self._rater)


def signals_of(measured: Measured, rater: SignalRater) -> Signals:
    """Compute signals from measurements with the rater's models."""
    import numpy as np

    texts = (measured.sentences, measured.vectors, measured.openings)
    place = rater.order.logits(*texts)
    foreign = rater.foreign.logits(measured.sentences)
    register = rater.scholarly.logits(measured.register, measured.vectors)
    rows = [
        {**row, "place": float(p), "foreign": float(f), "register": float(r)}
        for row, p, f, r in zip(measured.sentences, place, foreign, register, strict=True)
    ]
    answer = dict(measured.answer)
    for name, worst in [*((n, min) for n in LEAST), *((n, max) for n in MOST)]:
        values = [row[name] for row in rows if name in row]
        if values:
            answer[f"{'least' if worst is min else 'most'}_{name}"] = worst(values)
            answer[f"mean_{name}"] = float(np.mean(values))
    answer["all_foreign"] = float(np.logaddexp.reduce(foreign))
    answer["log_connectives"] = math.log(LEAST_CONNECTIVES + answer["connectives"])
    answer["clearly_foreign"] = float(np.maximum(foreign, 0).sum())
    redundant = [row["redundancy"] - REDUNDANT for row in rows if "redundancy" in row]
    answer["all_redundancy"] = math.log1p(float(np.maximum(redundant, 0).sum()))
    if len(rows) > 1:
        answer["order"] = order_score(place)
        answer["opening"] = log_share(rater.opening.logits(*texts), 0)
        answer["closing"] = log_share(rater.closing.logits(*texts), -1)
    return Signals(
        values=_rounded(answer),
        sentences=tuple(
            SentenceSignals(sentence=number, twin=twin, values=_rounded(row))
            for number, (row, twin) in enumerate(zip(rows, measured.twins, strict=True), 1)
        ),
        gaps=measured.gaps,
    )


def order_score(place: NDArray[np.float64] | Sequence[float]) -> float:
    """Return how well sentences follow the order of their places: at most 0, the best.

    The mean log-likelihood of all pairs in their order, minus the highest that these sentences can
    have; a pair (i, j) is in order with probability sigmoid(place[j] - place[i]).

    Args:
        place: shape (n_sentences,), at least 2; higher comes later.
    """
    import numpy as np

    places = np.asarray(place, dtype=np.float64)
    return _concordance(places) - _concordance(np.sort(places))


def log_share(logits: NDArray[np.float64] | Sequence[float], number: int) -> float:
    """Return the log-probability that of all sentences this one is chosen (softmax)."""
    import numpy as np

    scores = np.asarray(logits, dtype=np.float64)
    return float(scores[number] - np.logaddexp.reduce(scores))


def _concordance(place: NDArray[np.float64]) -> float:
    import numpy as np

    later = place[None, :] - place[:, None]
    return float(-np.logaddexp(0, -later)[np.triu_indices(len(place), 1)].mean())


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, N_DIGITS) for name, value in values.items()}

"""From what was measured of an answer to its ratings: small linear models, kept as JSON.

Three of them look at sentences: where in an answer a sentence belongs, whether it is of another
text, whether it is written as scholars write. One for each rubric turns the answer's signals into
probabilities of the five ratings. A signal of an answer can only lower a rating as it gets worse,
never raise it, whatever the data said.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from ragassay.errors import SettingsError
from ragassay.records.base import Frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "ragassay/signals"
"""As reports and cards name the models that ship."""

MOST_DEVIATIONS = 4.0
"""A feature counts as at most so many standard deviations from its mean: no single one decides."""


class LinearScorer(Frozen):
    """A logistic model over named features of a sentence.

    Attributes:
        features: Their names.
        means: Of each, over the data that it was fitted on.
        scales: Their standard deviations.
        weights: Of the standardised features.
        bias: Added to their weighted sum.
        vector_weights: Of the sentence's vector, where it is looked at; empty where not.
        openers: Of the words and pairs of words that a sentence begins with, in small letters.
    """

    features: tuple[str, ...] = ()
    means: tuple[float, ...] = ()
    scales: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    bias: float = 0.0
    vector_weights: tuple[float, ...] = ()
    openers: dict[str, float] = Field(default_factory=dict)

    def logits(
        self,
        rows: Sequence[Mapping[str, float]],
        vectors: NDArray[np.float32] | None = None,
        openings: Sequence[Sequence[str]] = (),
    ) -> NDArray[np.float64]:
        """The score of each sentence, shape (n_sentences,); higher is likelier.

        Args:
            rows: Each sentence's features; one that is missing counts as its mean.
            vectors: shape (n_sentences, n_dimensions), where vectors are looked at.
            openings: What each sentence begins with, where that is looked at.
        """
        import numpy as np

        found = np.full(len(rows), self.bias)
        for i, row in enumerate(rows):
            found[i] += weighted_sum(self, row)
        if self.vector_weights and vectors is not None:
            found += vectors @ np.array(self.vector_weights)
        for i, opening in enumerate(openings):
            found[i] += sum(self.openers.get(words, 0.0) for words in opening)
        return found


class RubricRater(Frozen):
    """Proportional odds: cumulative logits of the five ratings from the signals of an answer.

    P(rating <= k) = sigmoid(thresholds[k - 1] - z), where z is the weighted sum of the standardised
    signals, each turned so that more is better (McCullagh 1980).

    Attributes:
        features: Names of signals.
        means, scales: Of each, over the data that it was fitted on.
        weights: Positive where more of the signal is better, negative where less is.
        thresholds: Four, ascending.
    """

    features: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    thresholds: tuple[float, float, float, float]

    def distribution(self, signals: Mapping[str, float]) -> tuple[float, ...]:
        """Probabilities of the ratings 1 to 5; a signal that is missing counts as its mean."""
        z = weighted_sum(self, signals)
        below = [_sigmoid(threshold - z) for threshold in self.thresholds]
        return tuple(
            max(0.0, high - low) for low, high in zip([0.0, *below], [*below, 1.0], strict=True)
        )

    def contributions(self, signals: Mapping[str, float]) -> dict[str, float]:
        """What each signal adds to the rating, in logits; below 0 it lowers it."""
        return {
            name: weight * _standardised(signals[name], mean, scale)
            for name, mean, scale, weight in zip(
                self.features, self.means, self.scales, self.weights, strict=True
            )
            if name in signals
        }


class SignalRater(Frozen):
    """All that turns measurements into ratings.

    Attributes:
        model: Its name.
        data: What it was fitted on.
        data_sha256: Hash of the answers that it was fitted on, as they were measured.
        seed: Of the damage and of the splits.
        order: How late in an answer a sentence comes.
        foreign: Whether a sentence is of another text.
        scholarly: Whether a sentence is written as scholars write.
        rubrics: By the rubric's name.
    """

    model: str = NAME
    data: str = ""
    data_sha256: str = ""
    seed: int = 0
    order: LinearScorer
    foreign: LinearScorer
    scholarly: LinearScorer
    rubrics: dict[str, RubricRater] = Field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 of all of it."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


@functools.cache
def shipped_rater() -> SignalRater:
    """The models that are installed with ragassay."""
    text = files("ragassay.models").joinpath("raters", "signals.json").read_text(encoding="utf-8")
    return rater_of(text)


def rater_of(text: str) -> SignalRater:
    """The models of a JSON text.

    Raises:
        SettingsError: It holds others.
    """
    try:
        return SignalRater.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"not the models of a signal rater: {place}: {first['msg']}") from error


def weighted_sum(model: LinearScorer | RubricRater, values: Mapping[str, float]) -> float:
    """The weighted sum of standardised features; one that is missing counts as its mean."""
    return math.fsum(
        weight * _standardised(values[name], mean, scale)
        for name, mean, scale, weight in zip(
            model.features, model.means, model.scales, model.weights, strict=True
        )
        if name in values
    )


def _standardised(value: float, mean: float, scale: float) -> float:
    return max(-MOST_DEVIATIONS, min(MOST_DEVIATIONS, (value - mean) / scale))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))

"""Rate answers, passages and pairs from measurements: small linear models, stored as JSON."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import Field, ValidationError

from ragassay.errors import SettingsError, first_problem
from ragassay.model_names import SIGNALS
from ragassay.records import MOST_EXAM_RATING, Bound, ItemKind
from ragassay.records.base import Frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SIGNAL_RATER = SIGNALS
"""Name of the shipped models in reports and cards."""

MOST_DEVIATIONS = 4.0
"""Most standard deviations from its mean that a feature counts with: no single one decides."""


_RATERS = Path(str(files("ragassay.models"))) / "raters"
SIGNALS_FILE, EXAM_FILE, PAIRS_FILE = (
    _RATERS / f"{name}.json" for name in ("signals", "exam", "pairs")
)
"""The shipped numbers."""


class FittedNumbers(Frozen):
    """Fitted numbers, kept as JSON."""

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of all numbers."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            SettingsError: It is missing or damaged.
        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
        except ValidationError as error:
            place, problem = first_problem(error)
            raise SettingsError(f"{path} is damaged, fit it again: {place}: {problem}") from error

    @classmethod
    def digest_in(cls, path: Path) -> str:
        """Return the digest of a file's numbers; see `read`."""
        return cls.read(path).digest


class LinearScorer(Frozen):
    """A logistic model over named features of a sentence.

    Attributes:
        bias: Added to their weighted sum.
        vector_weights: Weights of the sentence's vector, where it is used; else empty.
        openers: Weights of a sentence's first words and pairs of words, in lower case.
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
        """Return the score of each sentence, shape (n_sentences,); higher is likelier.

        Args:
            rows: Each sentence's features; one that is missing counts as its mean.
            vectors: shape (n_sentences, n_dimensions), where vectors are used.
            openings: The first words of each sentence, where they are used.
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
    signals, each oriented so that more is better (McCullagh 1980).

    Attributes:
        weights: Positive where more of the signal is better, negative where less is.
        thresholds: Four, ascending.
    """

    features: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    thresholds: tuple[float, float, float, float]

    def distribution(self, signals: Mapping[str, float]) -> tuple[float, ...]:
        """Return probabilities of the ratings 1 to 5; a missing signal counts as its mean."""
        z = weighted_sum(self, signals)
        below = [sigmoid(threshold - z) for threshold in self.thresholds]
        return tuple(
            max(0.0, high - low) for low, high in zip([0.0, *below], [*below, 1.0], strict=True)
        )

    def contributions(self, signals: Mapping[str, float]) -> dict[str, float]:
        """Return each signal's contribution to the rating, in logits; below 0 it lowers it."""
        return {
            name: weight * _standardise(signals[name], mean, scale)
            for name, mean, scale, weight in zip(
                self.features, self.means, self.scales, self.weights, strict=True
            )
            if name in signals
        }


class SignalRater(FittedNumbers):
    """All models that turn measurements into ratings.

    Attributes:
        order: Scores how late in an answer a sentence comes.
        opening: Scores whether a sentence is the first of its answer.
        closing: Scores whether it is the last.
        foreign: Scores whether a sentence is from another text.
        scholarly: Scores whether a sentence is scholarly prose.
    """

    model: str = SIGNAL_RATER
    data: str = ""
    data_sha256: str = ""
    seed: int = 0
    order: LinearScorer
    opening: LinearScorer = LinearScorer()
    closing: LinearScorer = LinearScorer()
    foreign: LinearScorer
    scholarly: LinearScorer
    rubrics: dict[str, RubricRater] = Field(default_factory=dict)


@functools.cache
def shipped_rater() -> SignalRater:
    """Load the models that ragassay ships."""
    return SignalRater.read(SIGNALS_FILE)


def weighted_sum(model: LinearScorer | RubricRater, values: Mapping[str, float]) -> float:
    """Return the weighted sum of standardised features; a missing one counts as its mean."""
    return math.fsum(
        weight * _standardise(values[name], mean, scale)
        for name, mean, scale, weight in zip(
            model.features, model.means, model.scales, model.weights, strict=True
        )
        if name in values
    )


def _standardise(value: float, mean: float, scale: float) -> float:
    return max(-MOST_DEVIATIONS, min(MOST_DEVIATIONS, (value - mean) / scale))


def sigmoid(x: float) -> float:
    """Return the logistic of x."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


EXAM_RATER = "ragassay/exam-grader"
"""Name of the shipped numbers in reports and cards."""


class ExamWeights(Frozen):
    """Proportional odds of the ratings (McCullagh 1980).

    P(rating >= r) = sigmoid(z - thresholds[r - 1]), z the weighted sum of signals.

    Attributes:
        weights: By a signal's name; none is negative, as more of each means better covered.
        thresholds: Ascending, for the ratings 1 to 5.
        bounds: The confidence that "yes", covered (a rating of 1 or more), and "no" need.
    """

    weights: dict[str, float]
    thresholds: tuple[float, ...] = Field(min_length=MOST_EXAM_RATING, max_length=MOST_EXAM_RATING)
    bounds: tuple[Bound, ...] = ()

    def reach_probabilities(self, signals: Mapping[str, float]) -> list[float]:
        """Return the probability of each minimum rating, from 1 to 5."""
        z = math.fsum(weight * signals[name] for name, weight in self.weights.items())
        return [sigmoid(z - threshold) for threshold in self.thresholds]


class ExamModel(FittedNumbers):
    """The fitted numbers, by kind of item."""

    data: str
    data_sha256: str
    kinds: dict[ItemKind, ExamWeights]


@functools.cache
def shipped_exam_model() -> ExamModel:
    """Load the numbers that ragassay ships."""
    return ExamModel.read(EXAM_FILE)


PAIR_RATER = "ragassay/pair-rater"
"""Name of the rater of question-answer pairs in reports and cards."""


class RelevanceModel(FittedNumbers):
    """A logistic regression on two measures of a question and a paper.

    Attributes:
        bias: The log-odds where both measures are 0.
        closest: Weight of the cosine of the question and the paper's closest sentence.
        covered: Weight of the share of the question's content words that the paper has.
        bounds: The confidence that "3", about the paper, and "1", about something else, need.
    """

    data: str
    bias: float
    closest: float
    covered: float
    bounds: tuple[Bound, ...] = ()

    def probability(self, closest: float, covered: float) -> float:
        """Return the probability that a question is about the paper."""
        return sigmoid(self.bias + self.closest * closest + self.covered * covered)


@functools.cache
def shipped_relevance() -> RelevanceModel:
    """Load the numbers that ragassay ships."""
    return RelevanceModel.read(PAIRS_FILE)

"""Linear models that rate answers, passages and question-answer pairs, stored as JSON."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import Field, ValidationError

from ragassay.errors import SettingsError, find_first_problem
from ragassay.model_names import SIGNALS
from ragassay.records import MOST_EXAM_RATING, Bound, ItemKind
from ragassay.records.base import Frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SIGNAL_RATER = SIGNALS
"""Name of the shipped rubric rater in reports and cards."""

MOST_DEVIATIONS = 4.0
"""Maximum absolute value of a standardized feature, so that no single feature dominates."""


_RATERS = Path(str(files("ragassay.models"))) / "raters"
SIGNALS_FILE, EXAM_FILE, PAIRS_FILE = (
    _RATERS / f"{name}.json" for name in ("signals", "exam", "pairs")
)


class FittedNumbers(Frozen):
    """Parameters of a fitted model, stored as JSON."""

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of all parameters."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a model file. Raises `SettingsError` if the file is missing or damaged."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise SettingsError(f"cannot read {path}: {error.strerror}") from error
        except ValidationError as error:
            field, problem = find_first_problem(error)
            raise SettingsError(f"{path} is damaged: {field}: {problem}; fit it again") from error

    @classmethod
    def read_digest(cls, path: Path) -> str:
        """Return the digest of the model that is stored in a file. See `read`."""
        return cls.read(path).digest


class LinearScorer(Frozen):
    """Logistic model over named features of a sentence.

    Attributes:
        bias: Intercept.
        vector_weights: Weights of the dimensions of the sentence embedding, if it is used.
        openers: Weights of the first words and word pairs of a sentence, in lower case.
    """

    features: tuple[str, ...] = ()
    means: tuple[float, ...] = ()
    scales: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    bias: float = 0.0
    vector_weights: tuple[float, ...] = ()
    openers: dict[str, float] = Field(default_factory=dict)

    def compute_logits(
        self,
        rows: Sequence[Mapping[str, float]],
        vectors: NDArray[np.float32] | None = None,
        openings: Sequence[Sequence[str]] = (),
    ) -> NDArray[np.float64]:
        """Return the logit of each sentence, shape (n_sentences,).

        Args:
            rows: Named features of each sentence. Missing features are replaced by their mean.
            vectors: Sentence embeddings, shape (n_sentences, n_dimensions), if needed.
            openings: First words and word pairs of each sentence, if needed.
        """
        import numpy as np

        found = self.bias + np.array([sum_contributions(self, row) for row in rows], dtype=float)
        if self.vector_weights and vectors is not None:
            found += vectors @ np.array(self.vector_weights)
        for i, opening in enumerate(openings):
            found[i] += sum(self.openers.get(words, 0.0) for words in opening)
        return found


class RubricRater(Frozen):
    """Proportional odds model that predicts ratings 1 to 5 from answer signals (McCullagh 1980).

    P(rating <= k) = sigmoid(thresholds[k - 1] - z), where z is the weighted sum of the standardized
    signals.

    Attributes:
        weights: Weight of each signal. A positive weight means that higher values are better.
        thresholds: Four thresholds in ascending order, between adjacent ratings.
    """

    features: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    thresholds: tuple[float, float, float, float]

    def predict_distribution(self, signals: Mapping[str, float]) -> tuple[float, ...]:
        """Return the probabilities of the ratings 1 to 5.

        Missing signals are replaced by their mean.
        """
        z = sum_contributions(self, signals)
        below = [sigmoid(threshold - z) for threshold in self.thresholds]
        return tuple(
            max(0.0, high - low) for low, high in zip([0.0, *below], [*below, 1.0], strict=True)
        )

    def compute_contributions(self, signals: Mapping[str, float]) -> dict[str, float]:
        """Return the contribution of each signal to the rating, in logits."""
        return dict(_iter_contributions(self, signals))


class SignalRater(FittedNumbers):
    """Models that compute rubric ratings from measured signals.

    Attributes:
        order: Predicts how late a sentence appears in an answer.
        opening: Predicts whether a sentence is the first of its answer.
        closing: Predicts whether a sentence is the last of its answer.
        foreign: Predicts whether a sentence comes from another text.
        scholarly: Predicts whether a sentence is scholarly prose.
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
def load_shipped_rater() -> SignalRater:
    """Load the shipped rubric rater."""
    return SignalRater.read(SIGNALS_FILE)


def sum_contributions(model: LinearScorer | RubricRater, values: Mapping[str, float]) -> float:
    """Return the weighted sum of standardized features.

    Missing features are replaced by their mean.
    """
    return math.fsum(value for _, value in _iter_contributions(model, values))


def _iter_contributions(
    model: LinearScorer | RubricRater, values: Mapping[str, float]
) -> Iterator[tuple[str, float]]:
    for name, mean, scale, weight in zip(
        model.features, model.means, model.scales, model.weights, strict=True
    ):
        if name in values:
            yield name, weight * _standardize(values[name], mean, scale)


def _standardize(value: float, mean: float, scale: float) -> float:
    return max(-MOST_DEVIATIONS, min(MOST_DEVIATIONS, (value - mean) / scale))


def sigmoid(x: float) -> float:
    """Return the logistic function of x."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


EXAM_RATER = "ragassay/exam-grader"
"""Name of the shipped passage grader in reports and cards."""


class ExamWeights(Frozen):
    """Proportional odds model of the ratings 0 to 5 (McCullagh 1980).

    P(rating >= r) = sigmoid(z - thresholds[r - 1]), where z is the weighted sum of the signals.

    Attributes:
        weights: Non-negative weights by signal name. Higher signal values mean better coverage.
        thresholds: Ascending thresholds of the ratings 1 to 5.
        bounds: Minimum probability of "yes" (a rating of 1 or more) and "no" to count as a verdict.
    """

    weights: dict[str, float]
    thresholds: tuple[float, ...] = Field(min_length=MOST_EXAM_RATING, max_length=MOST_EXAM_RATING)
    bounds: tuple[Bound, ...] = ()

    def reach_probabilities(self, signals: Mapping[str, float]) -> list[float]:
        """Return, for each rating from 1 to 5, the probability of this rating or a higher one."""
        z = math.fsum(weight * signals[name] for name, weight in self.weights.items())
        return [sigmoid(z - threshold) for threshold in self.thresholds]


class ExamModel(FittedNumbers):
    """Fitted passage grader, with weights for each kind of test bank item."""

    data: str
    data_sha256: str
    kinds: dict[ItemKind, ExamWeights]


@functools.cache
def load_exam_model() -> ExamModel:
    """Load the shipped passage grader."""
    return ExamModel.read(EXAM_FILE)


PAIR_RATER = "ragassay/pair-rater"
"""Name of the question-answer pair rater in reports and cards."""


class RelevanceModel(FittedNumbers):
    """Logistic regression that predicts from two measures whether a question is about a paper.

    Attributes:
        bias: Log-odds if both measures are 0.
        closest: Weight of the cosine between the question and the closest sentence in the paper.
        covered: Weight of the fraction of the question's content words that the paper contains.
        bounds: Minimum probability of the ratings "3" (about the paper) and "1" (off topic) to
            count.
    """

    data: str
    bias: float
    closest: float
    covered: float
    bounds: tuple[Bound, ...] = ()

    def predict_probability(self, closest: float, covered: float) -> float:
        """Return the probability that a question is about the paper."""
        return sigmoid(self.bias + self.closest * closest + self.covered * covered)


@functools.cache
def load_relevance_model() -> RelevanceModel:
    """Load the shipped pair rater."""
    return RelevanceModel.read(PAIRS_FILE)

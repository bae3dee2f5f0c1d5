"""Turn what was measured of a test bank's item and a passage into ratings: a few fitted numbers."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from pydantic import Field, ValidationError

from ragassay.errors import SettingsError
from ragassay.models.signal_rater import sigmoid
from ragassay.records import MOST_EXAM_RATING, Bound, ItemKind
from ragassay.records.base import Frozen

NAME = "ragassay/exam-grader"
"""Name of the shipped numbers in reports and cards."""

EXAM_FILE = Path(str(files("ragassay.models"))) / "raters" / "exam.json"
"""The shipped numbers."""


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

    def reached(self, signals: Mapping[str, float]) -> list[float]:
        """Return the probability of each minimum rating, from 1 to 5."""
        z = math.fsum(weight * signals[name] for name, weight in self.weights.items())
        return [sigmoid(z - threshold) for threshold in self.thresholds]


class ExamModel(Frozen):
    """The fitted numbers, by kind of item.

    Attributes:
        data: What they were fitted on.
        data_sha256: Hash of the measured data.
        kinds: By kind of item.
    """

    data: str
    data_sha256: str
    kinds: dict[ItemKind, ExamWeights]

    @property
    def digest(self) -> str:
        """SHA-256 of all numbers."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


@functools.cache
def shipped_exam_model() -> ExamModel:
    """Load the numbers that ragassay ships."""
    return exam_model_of(EXAM_FILE)


def exam_model_of(path: Path) -> ExamModel:
    """Read the numbers from a file.

    Raises:
        SettingsError: They are invalid.
    """
    try:
        return ExamModel.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise SettingsError(f"{path} cannot be read: fit the exam grader again") from error

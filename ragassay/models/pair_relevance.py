"""Tell whether a question is about a paper from two measures: a few fitted numbers."""

from __future__ import annotations

import functools
import hashlib
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from ragassay.errors import SettingsError
from ragassay.models.signal_rater import sigmoid
from ragassay.records import Bound
from ragassay.records.base import Frozen

NAME = "ragassay/pair-rater"
"""Name of the rater of question-answer pairs in reports and cards."""

FILE = Path(str(files("ragassay.models"))) / "raters" / "pairs.json"
"""The shipped numbers."""


class RelevanceModel(Frozen):
    """A logistic regression on two measures of a question and a paper.

    Attributes:
        data: What it was fitted on.
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

    @property
    def digest(self) -> str:
        """SHA-256 of all numbers."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


@functools.cache
def shipped_relevance() -> RelevanceModel:
    """Load the numbers that ragassay ships."""
    return relevance_of(FILE)


def relevance_of(path: Path) -> RelevanceModel:
    """Read the numbers from a file.

    Raises:
        SettingsError: They are invalid.
    """
    try:
        return RelevanceModel.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise SettingsError(f"{path} cannot be read: fit the pair rater again") from error

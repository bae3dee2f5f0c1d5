"""The words for an evaluator and its scores in reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["higher", "lower"]


@dataclass(frozen=True)
class ScoreDisplay:
    """The title of a score, and which way is better; None where neither is."""

    title: str
    direction: Direction | None = None


@dataclass(frozen=True)
class EvaluatorDisplay:
    """The words for an evaluator in reports.

    Attributes:
        verdict: One of its verdicts, e.g. "sentence label".
        verdicts: Several of them, where that is not the same with an s.
        question: Its questions as a title, e.g. "Sentence labels"; evaluators with the same title
            share their questions.
        kind: Name of its questions in the cascade's numbers.
        group: Prefix of its scores' names; "" where it has none.
        title: Title of that group of scores.
        direction: Which way its scores are better where `scores` does not say.
        scores: Titles of its scores, by full name.
    """

    verdict: str
    verdicts: str = ""
    question: str = ""
    kind: str = ""
    group: str = ""
    title: str = ""
    direction: Direction | None = None
    scores: Mapping[str, ScoreDisplay] = field(default_factory=dict)

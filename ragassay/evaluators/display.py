"""Titles of evaluators and scores in reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["higher", "lower"]


@dataclass(frozen=True)
class ScoreDisplay:
    """Title of a score. `direction` tells whether higher or lower values are better, if either."""

    title: str
    direction: Direction | None = None


@dataclass(frozen=True)
class EvaluatorDisplay:
    """Titles of an evaluator in reports.

    Attributes:
        verdict: Name of one verdict, such as "sentence label".
        verdicts: Plural of the name, if it is irregular.
        question: Heading for the evaluator's questions, such as "Sentence labels". Evaluators with
            the same heading are counted together.
        kind: Name of the evaluator's questions in the statistics of a cascade.
        group: Prefix of the score names, or "" for no prefix.
        title: Title of the group of scores.
        direction: Whether higher or lower is better, for scores that are not in `scores`.
        scores: Titles of the scores, keyed by full name.
    """

    verdict: str
    verdicts: str = ""
    question: str = ""
    kind: str = ""
    group: str = ""
    title: str = ""
    direction: Direction | None = None
    scores: Mapping[str, ScoreDisplay] = field(default_factory=dict)

"""Signals: what they are called, which bear on which rubric, how a judge is told of them."""

from __future__ import annotations

import functools
from typing import Literal

import yaml

from ragassay.prompts.texts import prompt_text
from ragassay.records.base import Frozen

SIGNALS_FILE = "signals.yaml"


class AnswerSignal(Frozen):
    """A measure of an answer as a whole.

    Attributes:
        about: What it is called.
        better: Whether a good answer has more or less of it.
        shown: The measure that a reader is shown in its place; empty for itself.
    """

    about: str
    better: Literal["high", "low"]
    shown: str = ""


class RubricSignals(Frozen):
    """The signals of a rubric.

    Attributes:
        shown: Measures of sentences that a judge is told of; the one that tells most comes first.
        rated: Measures of the answer that the embedded judge rates by.
        needs_sources: Whether the embedded judge can say nothing of an answer without sources.
    """

    shown: tuple[str, ...]
    rated: tuple[str, ...]
    needs_sources: bool = False


class ReasonWords(Frozen):
    """How the embedded judge gives its reasons."""

    none: str
    sentence: str
    twin: str
    answer: str


class SignalWords(Frozen):
    """All that is said of signals.

    Attributes:
        sentence: What the measures of a sentence are called.
        answer: The measures of an answer.
        gap: What a sentence of a source is called that the answer does not cover.
        rubrics: The signals of each rubric.
        reasons: How the embedded judge gives its reasons.
    """

    version: int
    sentence: dict[str, str]
    answer: dict[str, AnswerSignal]
    gap: str
    rubrics: dict[str, RubricSignals]
    reasons: ReasonWords


@functools.cache
def load_signals() -> SignalWords:
    """The signals that the package knows."""
    return SignalWords.model_validate(yaml.safe_load(prompt_text(SIGNALS_FILE)))
